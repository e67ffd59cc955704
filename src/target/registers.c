/* SPDX-License-Identifier: Apache-2.0 */
#include "target/registers.h"

#include <sys/socket.h>
#include <sys/syscall.h>

/* The list of signal(7). read, write, accept and connect are on it for sockets with a timeout; otherwise the kernel
 * restarts them. */
static const gint64 ended[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
    SYS_io_uring_enter, SYS_read,         SYS_readv,   SYS_recvfrom,   SYS_recvmsg,         SYS_write,
    SYS_writev,         SYS_sendto,       SYS_sendmsg, SYS_accept,     SYS_accept4,         SYS_connect,
    SYS_recvmmsg,       SYS_sendmmsg,     SYS_splice,  SYS_sendfile,
};

static const gint64 transfers[] = {
    SYS_write,    SYS_writev,   SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_sendto, SYS_sendmsg,
    SYS_sendmmsg, SYS_sendfile, SYS_splice,   SYS_tee,     SYS_vmsplice, SYS_close,  SYS_copy_file_range,
};

static const gint64 of_programs[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
#endif
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_epoll_ctl,
    SYS_ppoll,
    SYS_pselect6,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_sched_yield,
    SYS_wait4,
    SYS_rt_sigtimedwait,
    SYS_io_getevents,
    SYS_io_uring_enter,
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_sendfile,
    SYS_accept,
    SYS_accept4,
};

static gboolean
is_among(const gint64 *numbers, gsize n, gint64 number)
{
    for (gsize i = 0; i < n; i++)
        if (numbers[i] == number)
            return TRUE;
    return FALSE;
}

gboolean
registers_stop_ends(gint64 number)
{
    return is_among(ended, G_N_ELEMENTS(ended), number);
}

/* The flags of a call that receives, by its arguments. */
static guint64
receives_with(gint64 number, const guint64 *arguments)
{
    return number == SYS_recvfrom || number == SYS_recvmmsg ? arguments[3] : number == SYS_recvmsg ? arguments[2] : 0;
}

gboolean
registers_stop_cuts_short(gint64 number, const guint64 arguments[REGISTERS_ARGUMENTS])
{
    const guint64 flags = receives_with(number, arguments);
    const gboolean for_several = number == SYS_recvmmsg && arguments[2] > 1 && (flags & MSG_WAITFORONE) == 0;
    return is_among(transfers, G_N_ELEMENTS(transfers), number) || for_several || (flags & MSG_WAITALL) != 0;
}

gboolean
registers_is_programs(gint64 number)
{
    return is_among(of_programs, G_N_ELEMENTS(of_programs), number);
}
