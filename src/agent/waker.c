/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/waker.h"

#include "agent/descriptor.h"

#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    WAKE_SIGNAL = 32, /* the kernel's first real-time signal: SIGCANCEL of glibc */
    KERNEL_SIGSET_SIZE = 8,
};

/* Changed in the agent thread under its turn, or in a child without threads. */
static struct {
    Descriptor descriptor;
    pid_t thread; /* 0: none */
} waker = {.descriptor = DESCRIPTOR_NONE};

/* In the kernel's form: the C library's functions exclude this signal, so the calls below are system calls. */
static const uint64_t wake_set = UINT64_C(1) << (WAKE_SIGNAL - 1);

void
waker_open(void)
{
    waker_forget();
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &wake_set, NULL, KERNEL_SIGSET_SIZE) != 0)
        return;
    int raw = (int)syscall(SYS_signalfd4, -1, &wake_set, KERNEL_SIGSET_SIZE, SFD_CLOEXEC);
    if (descriptor_adopt(&waker.descriptor, raw))
        waker.thread = (pid_t)syscall(SYS_gettid);
}

int
waker_descriptor(void)
{
    return waker.descriptor.number;
}

void
waker_clear(void)
{
    const struct timespec at_once = {0};
    while (waker.thread != 0 && syscall(SYS_rt_sigtimedwait, &wake_set, NULL, &at_once, KERNEL_SIGSET_SIZE) > 0) {
    }
}

/* Not closed: it is in the ended thread's own table, and cannot be distinguished from a signalfd of the host (all have
 * the same inode). */
void
waker_forget(void)
{
    waker.thread = 0;
    waker.descriptor = DESCRIPTOR_NONE;
}

void
waker_wake(void)
{
    if (waker.thread != 0)
        syscall(SYS_tgkill, getpid(), waker.thread, WAKE_SIGNAL);
}
