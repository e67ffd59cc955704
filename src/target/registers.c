/* SPDX-License-Identifier: Apache-2.0 */
#include "target/registers.h"

#include <sys/syscall.h>

/* signal(7). Of those that read, write and accept it is sockets with a timeout; without one the kernel takes them up.
 */
static const gint64 ended[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
    SYS_io_uring_enter, SYS_read,         SYS_readv,   SYS_recvfrom,   SYS_recvmsg,         SYS_write,
    SYS_writev,         SYS_sendto,       SYS_sendmsg, SYS_accept,     SYS_accept4,
};

gboolean
registers_stop_ends(gint64 number)
{
    for (gsize i = 0; i < G_N_ELEMENTS(ended); i++)
        if (ended[i] == number)
            return TRUE;
    return FALSE;
}
