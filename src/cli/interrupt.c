/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include "cli/command.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

gboolean
interrupt_catch(Interrupt *interrupt, GError **error)
{
    sigemptyset(&interrupt->signals);
    for (gsize i = 0; i < G_N_ELEMENTS(caught); i++)
        sigaddset(&interrupt->signals, caught[i]);
    sigprocmask(SIG_BLOCK, &interrupt->signals, NULL);
    interrupt->descriptor = signalfd(-1, &interrupt->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (interrupt->descriptor >= 0)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot watch for signals: %s", g_strerror(errno));
    sigprocmask(SIG_UNBLOCK, &interrupt->signals, NULL);
    return FALSE;
}

gboolean
interrupt_wait(const Interrupt *interrupt, guint64 ms)
{
    struct pollfd poll_fd = {.fd = interrupt->descriptor, .events = POLLIN};
    struct signalfd_siginfo info;
    return poll(&poll_fd, 1, (int)MIN(ms, (guint64)G_MAXINT)) > 0 &&
           read(interrupt->descriptor, &info, sizeof(info)) == sizeof(info);
}

gboolean
interrupt_is_pending(const Interrupt *interrupt)
{
    struct pollfd poll_fd = {.fd = interrupt->descriptor, .events = POLLIN};
    return poll(&poll_fd, 1, 0) > 0;
}

void
interrupt_release(Interrupt *interrupt)
{
    close(interrupt->descriptor);
    sigprocmask(SIG_UNBLOCK, &interrupt->signals, NULL);
}
