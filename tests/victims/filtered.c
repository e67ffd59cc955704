/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs under a seccomp filter that kills it for every system call except its own, jemalloc's locks included. Prints
 * "ready", then "alive" for each line of stdin; ends at the end of stdin.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(NUMBER) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int
main(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_futex),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_restart_syscall),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
    char byte;
    free(malloc(100));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        if (write(STDOUT_FILENO, "alive\n", 6) != 6)
            return 1;
    _exit(0);
}
