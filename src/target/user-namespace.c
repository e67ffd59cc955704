/* SPDX-License-Identifier: Apache-2.0 */
#include "target/user-namespace.h"

#include "confine/account.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_USER (G_GUINT64_CONSTANT(1) << 32) /* above all user ids */

enum { DEPTH_MAX = 33 }; /* of the kernel */

static gboolean
is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* The maker of the namespace FD, whose parent is ours. */
static guint64
maker_of(int fd)
{
    uid_t owner = 0;
    struct stat space = {0};
    if (ioctl(fd, NS_GET_OWNER_UID, &owner) == 0 && owner != 0)
        return account_of(owner);
    return fstat(fd, &space) == 0 ? NO_USER + space.st_ino : NO_USER;
}

/* Of a process whose namespace only root can see. The kernel shows those that must not be traced as root's. */
static guint64
owner_of(pid_t pid)
{
    struct stat facts;
    char path[64];
    g_snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &facts) == 0 && facts.st_uid != 0 ? account_of(facts.st_uid) : NO_USER;
}

guint64
user_namespace_maker(pid_t pid)
{
    struct stat ours, its;
    char path[64];
    guint64 maker = NO_USER;
    g_snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    if (stat("/proc/self/ns/user", &ours) != 0)
        return 0;
    if (stat(path, &its) != 0)
        return errno == EACCES ? owner_of(pid) : 0;
    if (is_same(&ours, &its))
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (guint depth = 0; fd >= 0 && depth < DEPTH_MAX; depth++) {
        int parent = ioctl(fd, NS_GET_PARENT);
        const gboolean found = parent >= 0 && fstat(parent, &its) == 0 && is_same(&ours, &its);
        if (found)
            maker = maker_of(fd);
        close(fd);
        fd = parent;
        if (found)
            break;
    }
    if (fd >= 0)
        close(fd);
    return maker;
}
