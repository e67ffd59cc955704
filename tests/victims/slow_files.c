/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_files DEVICE DIRECTORY PROGRAM...: mounts a file system through DEVICE that does not answer lookups of the name
 * "never" (fuse(4)), and another one on top of it (overlayfs), which blocks root too. Both are in new namespaces, in
 * which any user may mount them. Executes PROGRAM with JESCOPE_SOCKET_DIR=DIRECTORY/top/never. Exits with 77 if that is
 * not possible.
 *
 * slow_files --image DEVICE DIRECTORY PROGRAM...: executes a copy of PROGRAM in that file system, which no longer lets
 * it be opened, or be read, once it has written a line.
 *
 * slow_files --arguments DEVICE DIRECTORY x: places its own arguments and environment in a page of memory that this
 * file system does not deliver.
 *
 * slow_files --locked DEVICE DIRECTORY SOCKETS: listens like an agent in the directory SOCKETS, answering nothing, with
 * a name as long as the kernel stores it; locks its own memory map without end, a while after it has written a line.
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
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { IMPOSSIBLE = 77, PAGE = 4096, INODE_PROGRAM = 2, INODE_PAGE = 3, LOCKED_AFTER_S = 8, LOCKED_S = 60 };

static int locks; /* the mode is --locked */

enum {
    LATE = 1, /* the size of the file "stop" for reads that are answered late */
    LATE_S = 2,
};
static int image = -1; /* the program, open */
static struct stat image_status;
static char stop[1024]; /* path of a file; once it exists, nothing can be opened, or if it has text, read */

static void
give_up(const char *what)
{
    perror(what);
    exit(IMPOSSIBLE);
}

static void
reply(int device, uint64_t unique, int error, const void *body, size_t length)
{
    static char bytes[(1 << 18) + 256];
    struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + length), .error = error, .unique = unique};
    memcpy(bytes, &head, sizeof(head));
    if (length > 0)
        memcpy(bytes + sizeof(head), body, length);
    if (write(device, bytes, sizeof(head) + length) < 0)
        perror("answer");
}

static struct fuse_attr
attributes_of(uint64_t inode)
{
    struct fuse_attr attributes = {.ino = inode, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = PAGE};
    if (inode != 1) {
        attributes.mode = S_IFREG | 0755;
        attributes.nlink = 1;
        attributes.size = inode == INODE_PROGRAM ? (uint64_t)image_status.st_size : PAGE;
    }
    return attributes;
}

static void
answer_lookup(int device, const struct fuse_in_header *asked, const char *name)
{
    uint64_t inode = strcmp(name, "program") == 0 && image >= 0 ? INODE_PROGRAM
                     : strcmp(name, "page") == 0                ? INODE_PAGE
                                                                : 0;
    struct fuse_entry_out entry = {
        .nodeid = inode, .entry_valid = 1000, .attr_valid = 1000, .attr = attributes_of(inode)};
    if (inode != 0)
        reply(device, asked->unique, 0, &entry, sizeof(entry));
    else if (strcmp(name, "never") != 0)
        reply(device, asked->unique, -ENOENT, NULL, 0);
}

static int
is_stopped(int reads)
{
    struct stat status;
    return stat(stop, &status) == 0 && status.st_size != LATE && (status.st_size > 0) == reads;
}

static int
is_late(void)
{
    struct stat status;
    return stat(stop, &status) == 0 && status.st_size == LATE;
}

static void
answer_read(int device, const struct fuse_in_header *asked, const struct fuse_read_in *wanted)
{
    static char bytes[1 << 18];
    if (asked->nodeid != INODE_PROGRAM || wanted->size > sizeof(bytes) || is_stopped(1))
        return;
    if (is_late())
        sleep(LATE_S);
    ssize_t got = pread(image, bytes, wanted->size, (off_t)wanted->offset);
    reply(device, asked->unique, 0, bytes, (size_t)(got > 0 ? got : 0));
}

static void
answer(int device, const struct fuse_in_header *asked, const char *body)
{
    struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
    struct fuse_attr_out attributes = {.attr_valid = 1000, .attr = attributes_of(asked->nodeid)};
    struct fuse_open_out opened = {.fh = 1};
    static int opens;
    if (locks && asked->opcode == FUSE_OPEN && opens++ > 0)
        opened.open_flags = FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE;
    struct fuse_statfs_out status = {.st = {.namelen = 255, .bsize = 4096}};
    if (asked->opcode == FUSE_INIT)
        reply(device, asked->unique, 0, &init, sizeof(init));
    else if (asked->opcode == FUSE_GETATTR)
        reply(device, asked->unique, 0, &attributes, sizeof(attributes));
    else if (asked->opcode == FUSE_OPENDIR)
        reply(device, asked->unique, 0, &opened, sizeof(opened));
    else if (asked->opcode == FUSE_STATFS)
        reply(device, asked->unique, 0, &status, sizeof(status));
    else if (asked->opcode == FUSE_LOOKUP)
        answer_lookup(device, asked, body);
    else if (asked->opcode == FUSE_OPEN && !is_stopped(0))
        reply(device, asked->unique, 0, &opened, sizeof(opened));
    else if (asked->opcode == FUSE_READ)
        answer_read(device, asked, (const struct fuse_read_in *)(const void *)body);
    else if (asked->opcode == FUSE_RELEASEDIR)
        reply(device, asked->unique, 0, NULL, 0);
    else if (asked->opcode != FUSE_OPEN && asked->opcode != FUSE_FORGET && asked->opcode != FUSE_BATCH_FORGET &&
             asked->opcode != FUSE_INTERRUPT)
        reply(device, asked->unique, -ENOSYS, NULL, 0);
}

static void
serve(int device)
{
    static _Alignas(8) char bytes[1 << 18];
    if (locks)
        alarm(LOCKED_S); /* its end unlocks */
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

/* The page of the arguments is far above the part of the stack that functions called from here use. */
static void
wait_without_arguments(char **argv, const char *top)
{
    static const char ready[] = "ready\n";
    char path[2048];
    snprintf(path, sizeof(path), "%s/page", top);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        give_up(path);
    void *page = (void *)((uintptr_t)argv[0] & ~(uintptr_t)(PAGE - 1));
    if (mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
        give_up("mmap");
    if (write(STDOUT_FILENO, ready, strlen(ready)) < 0)
        _exit(1);
    for (;;)
        pause();
}

/* Field 22 of /proc/self/stat. */
static unsigned long long
start_time(void)
{
    char text[1024] = "";
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const char *at = read(fd, text, sizeof(text) - 1) > 0 ? strrchr(text, ')') : NULL;
    close(fd);
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static void
listen_like_an_agent(const char *sockets)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.%llu.sock", sockets, (int)getpid(), start_time());
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (prctl(PR_SET_NAME, "fifteen_letters") != 0 || listener < 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(listener, 64) != 0)
        give_up(sockets);
}

/* mmap() waits for the page that another process reads, with the memory map locked. */
static void
lock_memory_map(const char *directory)
{
    static const char ready[] = "ready\n";
    char path[2048], byte;
    snprintf(path, sizeof(path), "%s/slow/page", directory);
    int read_from = open(path, O_RDONLY | O_CLOEXEC), mapped;
    if (read_from < 0)
        give_up(path);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(pread(read_from, &byte, 1, 0) != 1);
    }
    usleep(300000);
    if ((mapped = open(path, O_RDONLY | O_CLOEXEC)) < 0 || write(STDOUT_FILENO, ready, strlen(ready)) < 0)
        give_up(path);
    sleep(LOCKED_AFTER_S);
    mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, mapped, 0);
    for (;;)
        pause();
}

static void
mount_both(const char *device_path, const char *directory, char *top, size_t size)
{
    char options[4096], slow[1024], empty[1024];
    snprintf(slow, sizeof(slow), "%s/slow", directory);
    snprintf(empty, sizeof(empty), "%s/empty", directory);
    snprintf(top, size, "%s/top", directory);
    snprintf(stop, sizeof(stop), "%s/stop", directory);
    if ((mkdir(slow, 0755) | mkdir(empty, 0755) | mkdir(top, 0755)) != 0)
        give_up(directory);
    enter_own_spaces();
    int device = open(device_path, O_RDWR);
    if (device < 0)
        give_up(device_path);
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
    close(device);
}

int
main(int argc, char **argv)
{
    char top[1024], path[2048];
    int mode = argc > 1 && argv[1][0] == '-' ? 1 : 0;
    char **words = argv + mode;
    if (argc - mode < 4)
        return 2;
    int with_image = mode != 0 && strcmp(argv[1], "--image") == 0;
    if (with_image && ((image = open(words[3], O_RDONLY | O_CLOEXEC)) < 0 || fstat(image, &image_status) != 0))
        give_up(words[3]);
    locks = mode != 0 && strcmp(argv[1], "--locked") == 0;
    if (locks)
        listen_like_an_agent(words[3]);
    mount_both(words[1], words[2], top, sizeof(top));
    if (locks)
        lock_memory_map(words[2]);
    if (mode != 0 && !with_image)
        wait_without_arguments(argv, top);
    snprintf(path, sizeof(path), "%s/%s", top, with_image ? "program" : "never");
    if (!with_image)
        setenv("JESCOPE_SOCKET_DIR", path, 1);
    execvp(with_image ? path : words[3], words + 3);
    give_up(words[3]);
}
