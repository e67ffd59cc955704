/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /*
     * Does not interfere with programs that rely on getting the lowest free number, nor with those that close 3 to 255.
     * Not higher: the kernel's table grows to the highest number in use, and with it the cost of every fork.
     */
    HIGH_NUMBER = 768,
};

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

bool
descriptors_isolate(DescriptorsKept kept)
{
#ifdef SYS_close_range
    /*
     * One call detaches the table and empties it. Two (unshare, then close) would hold copies of the host's descriptors
     * for a moment, and its peers would see connections outlive their close.
     */
    unsigned int last = kept == DESCRIPTORS_KEEP_STDERR ? STDERR_FILENO - 1 : ~0u;
    if (syscall(SYS_close_range, 0u, last, CLOSE_RANGE_UNSHARE) != 0)
        return false;
    return last == ~0u || syscall(SYS_close_range, STDERR_FILENO + 1u, ~0u, 0u) == 0;
#else
    return false;
#endif
}

/* The limit may be lower than HIGH_NUMBER; half of it is still far from the numbers allocated first. */
static int
high_number(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < HIGH_NUMBER)
        return (int)(limit.rlim_cur / 2);
    return HIGH_NUMBER;
}

bool
descriptor_adopt(Descriptor *descriptor, int raw)
{
    if (raw < 0)
        return false;
    struct stat status;
    int number = fcntl(raw, F_DUPFD_CLOEXEC, high_number());
    int error = errno;
    close(raw);
    if (number < 0 || fstat(number, &status) != 0) {
        errno = number < 0 ? error : errno;
        return false;
    }
    descriptor->device = status.st_dev;
    descriptor->inode = status.st_ino;
    atomic_signal_fence(memory_order_seq_cst);
    __atomic_store_n(&descriptor->number, number, __ATOMIC_RELEASE);
    return true;
}

bool
descriptor_borrow(Descriptor *descriptor, int raw)
{
    struct stat status;
    *descriptor = DESCRIPTOR_NONE;
    if (raw < 0 || fstat(raw, &status) != 0)
        return false;
    *descriptor = (Descriptor){.number = raw, .device = status.st_dev, .inode = status.st_ino};
    return true;
}

bool
descriptor_is_ours(const Descriptor *descriptor)
{
    struct stat status;
    return descriptor->number >= 0 && fstat(descriptor->number, &status) == 0 && status.st_dev == descriptor->device &&
           status.st_ino == descriptor->inode;
}

void
descriptor_close(Descriptor *descriptor)
{
    if (descriptor_is_ours(descriptor))
        close(descriptor->number);
    __atomic_store_n(&descriptor->number, -1, __ATOMIC_RELEASE);
}
