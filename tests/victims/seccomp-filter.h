/* SPDX-License-Identifier: Apache-2.0 */
/* A seccomp filter that kills the process for all system calls but those that are listed. */
#ifndef JESCOPE_VICTIMS_SECCOMP_FILTER_H
#define JESCOPE_VICTIMS_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FILTER_BEGIN  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ALLOW(NUMBER) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FILTER_END    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* Installs the LENGTH instructions CODE for the calling thread and the threads that it creates. */
static inline void
install_instructions(struct sock_filter *code, size_t length)
{
    struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(1);
}

#endif
