/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is not jemalloc's. */
#include "battery.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAGE = 4096,
};

static char *
mapped(size_t bytes, int access, int flags, int fd)
{
    char *memory = mmap(NULL, bytes, access, flags, fd, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static void
touch(char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        memory[at] = 1;
}

/* ---- anonymous mappings ---- */

NAMED static void
pool_grow(size_t bytes)
{
    touch(mapped(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), bytes);
    truth += bytes;
}

static void
make_pool(void)
{
    for (int i = 0; i < 25; i++)
        pool_grow(4 * MIB);
}

NAMED static void
compile(void)
{
    touch(mapped(90 * MIB, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1), 90 * MIB);
    truth = 90 * MIB;
}

/* With jemalloc's own flag. */
static void
map_cache(void)
{
    for (int i = 0; i < 12; i++)
        touch(mapped(8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1), 8 * MIB);
    truth = 96 * MIB;
}

/* ---- static data ---- */

static char table[100 << 20];
static char initialised[24 << 20] = {1};

static void
fill_bss(void)
{
    touch(table, sizeof(table));
    truth = sizeof(table);
}

static void
change_data(void)
{
    touch(initialised, sizeof(initialised));
    truth = sizeof(initialised);
}

/* ---- another allocator ---- */

/* The C library's, beside the one that is preloaded. */
extern void *__libc_malloc(size_t size);

static void
fill_libc_heap(void)
{
    for (int i = 0; i < 90000; i++)
        memset(__libc_malloc(1008), 1, 1008);
    truth = 90000 * 1024;
}

static void
fill_libc_arena(int number)
{
    for (int i = 0; i < 12000; i++)
        memset(__libc_malloc(1008), 1, 1008);
}

static void
fill_libc_arenas(void)
{
    in_threads(8, fill_libc_arena);
    truth = 8 * 12000 * 1024;
}

/* Blocks that it maps one by one. */
static void
fill_libc_blocks(void)
{
    for (int i = 0; i < 90; i++)
        memset(__libc_malloc(1 * MIB), 1, 1 * MIB);
    truth = 90 * MIB;
}

/* ---- files and shared memory ---- */

static int
file_of(size_t bytes)
{
    char name[] = "./battery-XXXXXX";
    static char part[1 << 20];
    int fd = mkstemp(name);
    memset(part, 1, sizeof(part));
    for (size_t at = 0; at < bytes; at += sizeof(part))
        if (write(fd, part, sizeof(part)) != (ssize_t)sizeof(part))
            abort();
    unlink(name);
    return fd;
}

static void
read_all(const volatile char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        (void)memory[at];
}

static void
map_file(void)
{
    read_all(mapped(90 * MIB, PROT_READ, MAP_SHARED, file_of(90 * MIB)), 90 * MIB);
    truth = 90 * MIB;
}

static void
map_file_privately(void)
{
    read_all(mapped(80 * MIB, PROT_READ, MAP_PRIVATE, file_of(80 * MIB)), 80 * MIB);
    truth = 80 * MIB;
}

static void
share_memory(void)
{
    touch(mapped(100 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1), 100 * MIB);
    truth = 100 * MIB;
}

static void
share_segment(void)
{
    int id = shmget(IPC_PRIVATE, 80 * MIB, IPC_CREAT | 0600);
    char *memory = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    if (memory == (char *)-1)
        abort();
    touch(memory, 80 * MIB);
    truth = 80 * MIB;
}

static void
map_memory_file(void)
{
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (ftruncate(fd, 80 * MIB) != 0)
        abort();
    touch(mapped(80 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd), 80 * MIB);
    truth = 80 * MIB;
}

static void
write_memory_file(void)
{
    static char part[1 << 20];
    int fd = memfd_create("spool", MFD_CLOEXEC);
    memset(part, 1, sizeof(part));
    for (int i = 0; i < 90; i++)
        if (write(fd, part, sizeof(part)) != (ssize_t)sizeof(part))
            abort();
    truth = 90 * MIB;
}

static void
write_deleted_files(void)
{
    static char part[1 << 20];
    memset(part, 1, sizeof(part));
    for (int i = 0; i < 20; i++) {
        char name[] = "/dev/shm/battery-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        for (int j = 0; j < 4; j++)
            if (write(fd, part, sizeof(part)) != (ssize_t)sizeof(part))
                abort();
    }
    truth = 80 * MIB;
}

/* ---- the kernel's ---- */

static void
allow_files(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Packets of this size take a power of two with their headers. */
static void
fill_sockets_of(int type, size_t packet, size_t charged)
{
    static char bytes[128 << 10];
    allow_files();
    for (int i = 0; i < 400 && truth < 60 * MIB; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, pair) != 0)
            abort();
        while (send(pair[0], bytes, packet, 0) == (ssize_t)packet)
            truth += charged;
    }
}

static void
fill_streams(void)
{
    fill_sockets_of(SOCK_STREAM, 32000, 33024);
}

static void
fill_datagrams(void)
{
    fill_sockets_of(SOCK_DGRAM, 3000, 4352);
}

/* Connections over TCP whose other end reads nothing. */
static void
fill_connections(void)
{
    static char bytes[64 << 10];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    allow_files();
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        abort();
    for (int i = 0; i < 100 && truth < 60 * MIB; i++) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        ssize_t n;
        if (connect(client, (struct sockaddr *)&address, length) != 0 || accept(listener, NULL, NULL) < 0)
            abort();
        fcntl(client, F_SETFL, O_NONBLOCK);
        while ((n = send(client, bytes, sizeof(bytes), 0)) > 0)
            truth += (size_t)n;
    }
}

static void
fill_pipes(void)
{
    static char bytes[64 << 10];
    allow_files();
    for (int i = 0; i < 900 && truth < 56 * MIB; i++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) != 0)
            break;
        ssize_t n = write(ends[1], bytes, sizeof(bytes));
        truth += n > 0 ? (size_t)n : 0;
    }
}

/* A page is read in each two mebibytes: none is resident, but each has a table. */
static void
read_sparsely(void)
{
    size_t size = (size_t)40 << 30;
    char *memory = mapped(size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 2 * MIB)
        (void)*(volatile char *)(memory + at);
    truth = size / (2 * MIB) * PAGE;
}

/* ---- stacks ---- */

static void
use_stack(int number)
{
    char frame[480 << 10];
    touch(frame, sizeof(frame));
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static void
deep_threads(void)
{
    in_threads(150, use_stack);
    truth = 150 * 484 * KIB;
}

static void
use_little_stack(int number)
{
    char frame[90 << 10];
    touch(frame, sizeof(frame));
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static void
many_threads(void)
{
    in_threads(700, use_little_stack);
    truth = 700 * 96 * KIB;
}

/* ---- fork ---- */

static void
fork_writers(int children, size_t bytes)
{
    char *memory = mapped(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    touch(memory, bytes);
    for (int i = 0; i < children; i++) {
        int ready[2];
        char byte;
        if (pipe(ready) != 0)
            abort();
        if (fork() == 0) {
            touch(memory, bytes);
            byte = 1;
            if (write(ready[1], &byte, 1) != 1)
                _exit(1);
            while (getppid() != 1)
                sleep(1);
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            abort();
    }
    truth = (size_t)children * bytes;
}

static void
fork_one(void)
{
    fork_writers(1, 90 * MIB);
}

static void
fork_workers(void)
{
    fork_writers(4, 30 * MIB);
}

/* A snapshot sleeps while the parent writes: what it still has is its own by now. */
static void
fork_snapshot(void)
{
    size_t bytes = 80 * MIB;
    char *memory = malloc(bytes);
    touch(memory, bytes);
    if (fork() == 0) {
        while (getppid() != 1)
            sleep(1);
        _exit(0);
    }
    touch(memory, bytes);
    truth = bytes;
}

const Case system_cases[] = {
    {"mmap-noreserve", "non-jemalloc-anon-mmap", "", "", map_cache, NULL},
    {"other-blocks", "other-allocator", "", "", fill_libc_blocks, NULL},
    {"shared-memfd", "shared-memory", "", "", map_memory_file, NULL},
    {"kernel-connections", "kernel-memory", "", "", fill_connections, NULL},
    {"kernel-pipes", "kernel-memory", "", "", fill_pipes, NULL},
    {"kernel-tables", "kernel-memory", "", "", read_sparsely, NULL},
    {"fork-snapshot", "fork-copy-on-write", "", "", fork_snapshot, NULL},
    {"mmap-pool", "non-jemalloc-anon-mmap", "", "", make_pool, NULL},
    {"mmap-code", "non-jemalloc-anon-mmap", "", "", compile, NULL},
    {"data-bss", "program-data", "", "", fill_bss, NULL},
    {"data-changed", "program-data", "", "", change_data, NULL},
    {"other-heap", "other-allocator", "", "", fill_libc_heap, NULL},
    {"other-arenas", "other-allocator", "", "", fill_libc_arenas, NULL},
    {"file-shared", "file-mappings", "", "", map_file, NULL},
    {"file-private", "file-mappings", "", "", map_file_privately, NULL},
    {"shared-anonymous", "shared-memory", "", "", share_memory, NULL},
    {"shared-segment", "shared-memory", "", "", share_segment, NULL},
    {"tmpfs-memfd", "tmpfs-files", "", "", write_memory_file, NULL},
    {"tmpfs-deleted", "tmpfs-files", "", "", write_deleted_files, NULL},
    {"kernel-streams", "kernel-memory", "", "", fill_streams, NULL},
    {"kernel-datagrams", "kernel-memory", "", "", fill_datagrams, NULL},
    {"stacks-deep", "thread-stacks", "", "", deep_threads, NULL},
    {"stacks-many", "thread-stacks", "", "", many_threads, NULL},
    {"fork-one", "fork-copy-on-write", "", "", fork_one, NULL},
    {"fork-workers", "fork-copy-on-write", "", "", fork_workers, NULL},
    {0},
};
