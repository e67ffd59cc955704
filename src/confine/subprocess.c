/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/subprocess.h"

#include "confine/child.h"
#include "confine/death-signal.h"
#include "confine/forking.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

static void G_GNUC_NORETURN
run_child(const Subprocess *subprocess, int socket, pid_t parent, ChannelMessage *answer)
{
    const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, socket};
    struct rlimit size;
    death_signal_bind(parent);
    child_keep_only(kept, G_N_ELEMENTS(kept));
    signal(SIGXFSZ, SIG_IGN); /* so that the library removes what it has begun */
    getrlimit(RLIMIT_FSIZE, &size);
    size.rlim_cur = MIN(size.rlim_max, subprocess->file_max);
    setrlimit(RLIMIT_FSIZE, &size);
    subprocess->work(subprocess->data, answer);
    _exit(channel_send(socket, answer) ? 0 : 1);
}

static gboolean
wait_for_answer(const Subprocess *subprocess, int socket)
{
    struct pollfd answer = {.fd = socket, .events = POLLIN};
    while (poll(&answer, 1, LOOK_MS) <= 0)
        if (!subprocess->may_go_on(subprocess->data))
            return FALSE;
    return TRUE;
}

gboolean
subprocess_run(const Subprocess *subprocess, ChannelMessage *answer)
{
    int ends[2];
    const pid_t self = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return FALSE;
    const pid_t child = forking_fork();
    if (child == 0)
        run_child(subprocess, ends[1], self, answer);
    close(ends[1]);
    const gboolean answered = child > 0 && wait_for_answer(subprocess, ends[0]) && channel_receive(ends[0], answer);
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        child_wait(child);
    }
    return answered;
}
