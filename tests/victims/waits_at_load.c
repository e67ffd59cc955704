/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor prints "ready" and waits for the end of stdin. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void
wait_at_load(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    while (poll(&in, 1, -1) < 0)
        ;
}
