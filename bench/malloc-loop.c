/* SPDX-License-Identifier: Apache-2.0 */
/* malloc-loop PAIRS: runs PAIRS pairs of malloc and free in a separate function, for callgrind to count. With -DEMBEDS,
 * libjescope is linked and started. */
#ifdef EMBEDS
#include <jescope.h>
#endif
#include <stdlib.h>

void loop(long pairs);

__attribute__((noinline)) void
loop(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
}

int
main(int argc, char **argv)
{
#ifdef EMBEDS
    if (jescope_start(NULL, NULL) != JESCOPE_OK)
        return 1;
#endif
    /* The first pair initializes the thread, which is not to be counted. */
    loop(1);
    if (argc == 2)
        loop(atol(argv[1]));
    return 0;
}
