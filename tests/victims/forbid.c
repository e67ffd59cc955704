/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid CALL... -- PROGRAM [ARGUMENT...]: runs PROGRAM under a filter that makes these system calls fail with EPERM,
 * as many containers do (seccomp(2)).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 8 };

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"close_range", SYS_close_range},
    {"memfd_create", SYS_memfd_create},
    {"prctl", SYS_prctl},
    {"unshare", SYS_unshare},
};

static struct sock_filter program[2 * CALLS_MAX + 2];
static unsigned short length;

static void
add(unsigned short code, unsigned char if_true, unsigned char if_false, unsigned value)
{
    program[length++] = (struct sock_filter){code, if_true, if_false, value};
}

static int
forbid(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(name, calls[i].name) == 0) {
            add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i].number);
            add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM);
            return 0;
        }
    }
    fprintf(stderr, "forbid: unknown system call '%s'\n", name);
    return -1;
}

int
main(int argc, char **argv)
{
    struct sock_fprog filter = {.filter = program};
    int at = 1;

    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (at > CALLS_MAX || forbid(argv[at]) < 0)
            return 2;
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    filter.len = length;
    if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror("forbid");
        return 2;
    }
    execv(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 127;
}
