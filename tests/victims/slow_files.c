/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_files DEVICE DIRECTORY PROGRAM...: a file system that does not answer when a name "never" is looked up
 * (fuse(4)), by DEVICE, and another one on top of it (overlayfs), where root waits for it as well; both in name spaces
 * of its own, in which any user may mount them. Executes PROGRAM with JESCOPE_SOCKET_DIR=DIRECTORY/top/never. Exits
 * with 77 where that is not possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMPOSSIBLE = 77 };

static void
give_up(const char *what)
{
    perror(what);
    exit(IMPOSSIBLE);
}

static void
reply(int device, uint64_t unique, int error, const void *body, size_t length)
{
    char bytes[256];
    struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + length), .error = error, .unique = unique};
    memcpy(bytes, &head, sizeof(head));
    if (length > 0)
        memcpy(bytes + sizeof(head), body, length);
    if (write(device, bytes, sizeof(head) + length) < 0)
        perror("answer");
}

static void
answer(int device, const struct fuse_in_header *asked, const char *body)
{
    struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
    struct fuse_attr_out attributes = {.attr_valid = 1000,
                                       .attr = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096}};
    struct fuse_open_out opened = {.fh = 1};
    struct fuse_statfs_out status = {.st = {.namelen = 255, .bsize = 4096}};
    if (asked->opcode == FUSE_INIT)
        reply(device, asked->unique, 0, &init, sizeof(init));
    else if (asked->opcode == FUSE_GETATTR)
        reply(device, asked->unique, 0, &attributes, sizeof(attributes));
    else if (asked->opcode == FUSE_OPENDIR)
        reply(device, asked->unique, 0, &opened, sizeof(opened));
    else if (asked->opcode == FUSE_STATFS)
        reply(device, asked->unique, 0, &status, sizeof(status));
    else if (asked->opcode == FUSE_LOOKUP && strcmp(body, "never") != 0)
        reply(device, asked->unique, -ENOENT, NULL, 0);
    else if (asked->opcode == FUSE_RELEASEDIR)
        reply(device, asked->unique, 0, NULL, 0);
    else if (asked->opcode != FUSE_LOOKUP && asked->opcode != FUSE_FORGET && asked->opcode != FUSE_BATCH_FORGET &&
             asked->opcode != FUSE_INTERRUPT)
        reply(device, asked->unique, -ENOSYS, NULL, 0);
}

static void
serve(int device)
{
    static _Alignas(8) char bytes[1 << 18];
    for (;;) {
        ssize_t got = read(device, bytes, sizeof(bytes) - 1);
        if (got < 0 && errno != EINTR && errno != ENOENT)
            _exit(0);
        if (got < (ssize_t)sizeof(struct fuse_in_header))
            continue;
        bytes[got] = '\0';
        answer(device, (const struct fuse_in_header *)bytes, bytes + sizeof(struct fuse_in_header));
    }
}

static void
put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        give_up(file);
    close(fd);
}

static void
enter_own_spaces(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof(users), "0 %u 1", getuid());
    snprintf(groups, sizeof(groups), "0 %u 1", getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        give_up("unshare");
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", users);
    put("/proc/self/gid_map", groups);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        give_up("private mounts");
}

int
main(int argc, char **argv)
{
    char options[4096], slow[1024], empty[1024], top[1024];
    if (argc < 4)
        return 2;
    snprintf(slow, sizeof(slow), "%s/slow", argv[2]);
    snprintf(empty, sizeof(empty), "%s/empty", argv[2]);
    snprintf(top, sizeof(top), "%s/top", argv[2]);
    if ((mkdir(slow, 0755) | mkdir(empty, 0755) | mkdir(top, 0755)) != 0)
        give_up(argv[2]);
    enter_own_spaces();
    int device = open(argv[1], O_RDWR);
    if (device < 0)
        give_up(argv[1]);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (mount("slow", slow, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
        give_up("fuse");
    pid_t own = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == own)
            serve(device);
        _exit(0);
    }
    snprintf(options, sizeof(options), "lowerdir=%s:%s,userxattr", slow, empty);
    if (mount("overlay", top, "overlay", 0, options) != 0)
        give_up("overlay");
    snprintf(options, sizeof(options), "%s/never", top);
    setenv("JESCOPE_SOCKET_DIR", options, 1);
    close(device);
    execvp(argv[3], argv + 3);
    give_up(argv[3]);
}
