/* SPDX-License-Identifier: Apache-2.0 */
#include "target/harmless-calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static const gint64 harmless[] = {
    SYS_brk,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_close,
    SYS_fstat,
    SYS_futex,
    SYS_getcpu,
    SYS_getpid,
    SYS_getppid,
    SYS_getrandom,
    SYS_gettid,
    SYS_gettimeofday,
    SYS_lseek,
    SYS_madvise,
    SYS_mremap,
    SYS_munmap,
    SYS_nanosleep,
    SYS_pread64,
    SYS_read,
    SYS_restart_syscall,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_write,
    SYS_writev,
};

gboolean
harmless_call(const TraceeSystemCall *call)
{
    if (call->number == SYS_mmap || call->number == SYS_mprotect)
        return (call->arguments[2] & PROT_EXEC) == 0;
    for (gsize i = 0; i < G_N_ELEMENTS(harmless); i++)
        if (call->number == harmless[i])
            return TRUE;
    return FALSE;
}
