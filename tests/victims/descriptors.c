/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FOREIGN = 3, DESCRIPTORS_SEEN = 65536 };

/* Closes one by one, since close_range() may be refused (see forbid.c). */
static void
close_all_from(int first)
{
    for (int number = first; number < DESCRIPTORS_SEEN; number++)
        close(number);
}

/* close-from N: closes every descriptor from N on, N > 1. */
static void
run_close_from(char *argument)
{
    int first = atoi(argument);

    close_all_from(first);
    answer("%d", first);
}

/* abandon: closes every descriptor including stdin, and continues without them. */
static void
run_abandon(char *argument)
{
    (void)argument;
    close_all_from(0);
    for (;;)
        pause();
}

/* Replaces every open descriptor from 3 on by a copy of MINE. */
static int
take_over(int mine)
{
    int taken = 0;

    for (int number = FIRST_FOREIGN; number < DESCRIPTORS_SEEN; number++)
        if (number != mine && fcntl(number, F_GETFD) >= 0 && dup2(mine, number) == number)
            taken++;
    return taken;
}

/* take-over FILE: replaces them by FILE, opened for reading and writing. */
static void
run_take_over(char *argument)
{
    int mine = open(argument, O_RDWR | O_CLOEXEC);

    if (mine < 0)
        fail(argument);
    else
        answer("%d", take_over(mine));
}

/* take-over-listening PATH: replaces them by a listening socket of the agent's type. */
static void
run_take_over_listening(char *argument)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int mine = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strncpy(address.sun_path, argument, sizeof(address.sun_path) - 1);
    if (mine < 0 || bind(mine, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(mine, 16) < 0)
        fail(argument);
    else
        answer("%d", take_over(mine));
}

const Command descriptor_commands[] = {
    {"abandon", run_abandon},
    {"close-from", run_close_from},
    {"take-over", run_take_over},
    {"take-over-listening", run_take_over_listening},
    {NULL, NULL},
};
