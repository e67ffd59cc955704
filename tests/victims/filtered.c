/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs under a seccomp filter that kills it for every system call except its own, jemalloc's locks included. Prints
 * "ready", then for each byte of stdin "alive", or "lost" if a child that it forked then did not end as it should.
 * Exits at the end of stdin. With the argument "worker" only a second thread has the filter; with "late" the main
 * thread has it after the first byte.
 */
#include "seccomp-filter.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void
install_filter(void)
{
    struct sock_filter code[] = {
        FILTER_BEGIN,     ALLOW(SYS_read), ALLOW(SYS_write),           ALLOW(SYS_futex), ALLOW(SYS_exit_group),
        ALLOW(SYS_ppoll), ALLOW(SYS_poll), ALLOW(SYS_restart_syscall), ALLOW(SYS_clone), ALLOW(SYS_set_robust_list),
        ALLOW(SYS_wait4), FILTER_END,
    };
    install_instructions(code, sizeof(code) / sizeof(*code));
}

static void
say(const char *line)
{
    if (write(STDOUT_FILENO, line, strlen(line)) != (ssize_t)strlen(line))
        _exit(1);
}

static void *
work(void *unused)
{
    free(malloc(100));
    install_filter();
    say("ready\n");
    for (;;)
        poll(NULL, 0, -1);
    return unused;
}

static void
fork_child(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, &status, 0);
    say(status == 0 ? "alive\n" : "lost\n");
}

int
main(int argc, char **argv)
{
    char byte;
    pthread_t thread;
    const char *kind = argc > 1 ? argv[1] : "";
    free(malloc(100));
    if (strcmp(kind, "worker") == 0) {
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 1;
    } else {
        if (strcmp(kind, "late") != 0)
            install_filter();
        say("ready\n");
    }
    for (unsigned n = 0; read(STDIN_FILENO, &byte, 1) == 1; n++) {
        if (n == 0 && strcmp(kind, "late") == 0)
            install_filter();
        fork_child();
    }
    return 0;
}
