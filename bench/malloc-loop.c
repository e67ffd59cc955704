/* SPDX-License-Identifier: Apache-2.0 */
/* malloc-loop PAIRS: this number of pairs of malloc and free, in a separate function for callgrind to count. With
 * -DEMBEDS, libjescope is linked and started. */
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
    /* The first pair sets the thread up, which is not what the loop is about. */
    loop(1);
    if (argc == 2)
        loop(atol(argv[1]));
    return 0;
}
