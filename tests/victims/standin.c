/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose mallctl answers as jemalloc 4.5 to 5.2 does when it was started with prof:false, and which notes
 * every call it receives, one line each, in the file STANDIN_LOG names. It serves malloc (from glibc's heap), so that
 * an agent takes it for a live jemalloc. Where the real library would crash (prof.reset after thread.prof.*), it
 * aborts.
 *
 * STANDIN_VERSION: the version it gives itself (default 5.2.1). STANDIN_PROF: "off" (default): built with profiling but
 * started with prof:false; "none": built without.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef enum { READ = 1, WRITE = 2, ACTION = 4 } Access;
typedef enum { ALWAYS, PROF_BUILT } Needs;

typedef struct {
    const char *name;
    size_t size;
    unsigned access; /* Access */
    Needs needs;
    int write_error; /* what a write answers */
    uint64_t value;
} Node;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

PUBLIC void *malloc(size_t size);
PUBLIC void *calloc(size_t count, size_t size);
PUBLIC void *realloc(void *block, size_t size);
PUBLIC void *memalign(size_t alignment, size_t size);
PUBLIC void free(void *block);
PUBLIC int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
PUBLIC int mallctlnametomib(const char *name, size_t *mib, size_t *length);
PUBLIC int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_size, void *new, size_t new_size);
PUBLIC void malloc_stats_print(void (*write_text)(void *, const char *), void *closure, const char *letters);

static const Node nodes[] = {
    {"version", sizeof(char *), READ, ALWAYS, EPERM, 0},
    {"epoch", 8, READ | WRITE, ALWAYS, 0, 1},
    {"config.stats", 1, READ, ALWAYS, EPERM, 1},
    {"config.prof", 1, READ, ALWAYS, EPERM, 1},
    {"opt.prof", 1, READ, PROF_BUILT, EPERM, 0},
    {"opt.prof_active", 1, READ, PROF_BUILT, EPERM, 1},
    {"opt.lg_prof_sample", 8, READ, PROF_BUILT, EPERM, 19},
    {"prof.active", 1, READ | WRITE, PROF_BUILT, 0, 0},
    {"prof.gdump", 1, READ | WRITE, PROF_BUILT, 0, 0},
    {"prof.thread_active_init", 1, READ | WRITE, PROF_BUILT, 0, 1},
    {"prof.lg_sample", 8, READ, PROF_BUILT, EPERM, 0},
    {"prof.interval", 8, READ, PROF_BUILT, EPERM, 0},
    {"prof.dump", 8, WRITE | ACTION, PROF_BUILT, EFAULT, 0},
    {"prof.reset", 8, WRITE | ACTION, PROF_BUILT, 0, 0},
    {"prof.log_start", 8, WRITE | ACTION, PROF_BUILT, EFAULT, 0},
    {"prof.log_stop", 0, ACTION, PROF_BUILT, EFAULT, 0},
    {"thread.prof.active", 1, READ | WRITE, PROF_BUILT, 0, 1},
    {"thread.prof.name", sizeof(char *), READ | WRITE, PROF_BUILT, 0, 0},
    {"thread.allocated", 8, READ, ALWAYS, EPERM, 0},
    {"thread.allocatedp", 8, READ, ALWAYS, EPERM, 0},
    {"stats.allocated", 8, READ, ALWAYS, EPERM, 123456},
    {"stats.active", 8, READ, ALWAYS, EPERM, 200704},
    {"stats.resident", 8, READ, ALWAYS, EPERM, 2097152},
    {"stats.mapped", 8, READ, ALWAYS, EPERM, 4194304},
    {"stats.retained", 8, READ, ALWAYS, EPERM, 0},
    {"stats.metadata", 8, READ, ALWAYS, EPERM, 4096},
    {"arenas.narenas", 4, READ, ALWAYS, EPERM, 1},
    {"arena.0.purge", 0, ACTION, ALWAYS, 0, 0},
    {"arena.0.reset", 0, ACTION, ALWAYS, 0, 0},
};

enum { NODE_COUNT = sizeof nodes / sizeof nodes[0] };

static __thread uint64_t allocated __attribute__((tls_model("initial-exec")));
static bool thread_prof_touched;

void *
malloc(size_t size)
{
    allocated += size;
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    allocated += count * size;
    return __libc_calloc(count, size);
}

void *
realloc(void *block, size_t size)
{
    allocated += size;
    return __libc_realloc(block, size);
}

void *
memalign(size_t alignment, size_t size)
{
    allocated += size;
    return __libc_memalign(alignment, size);
}

void
free(void *block)
{
    __libc_free(block);
}

static void
note(const char *verb, const char *name)
{
    const char *path = getenv("STANDIN_LOG");
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s\n", verb, name);
    int descriptor = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (descriptor < 0)
        return;
    if (write(descriptor, line, (size_t)length) != length)
        abort();
    close(descriptor);
}

static const char *
version(void)
{
    const char *given = getenv("STANDIN_VERSION");
    return given ? given : "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756";
}

static bool
prof_is_built(void)
{
    const char *given = getenv("STANDIN_PROF");
    return !given || strcmp(given, "none") != 0;
}

static uint64_t
value_of(const Node *node)
{
    if (strcmp(node->name, "version") == 0)
        return (uint64_t)(uintptr_t)version();
    if (strcmp(node->name, "thread.prof.name") == 0)
        return (uint64_t)(uintptr_t) "";
    if (strcmp(node->name, "thread.allocated") == 0)
        return allocated;
    if (strcmp(node->name, "thread.allocatedp") == 0)
        return (uint64_t)(uintptr_t)&allocated;
    if (strcmp(node->name, "config.prof") == 0)
        return prof_is_built();
    return node->value;
}

static int
read_node(const Node *node, void *old, size_t *old_size)
{
    uint64_t value = value_of(node);
    size_t size = *old_size < node->size ? *old_size : node->size;

    if (!(node->access & READ))
        return EPERM;
    memcpy(old, &value, size);
    if (*old_size == node->size)
        return 0;
    *old_size = size;
    return EINVAL;
}

static int
use_node(const Node *node, void *old, size_t *old_size, const void *new, size_t new_size)
{
    if (strncmp(node->name, "thread.prof.", strlen("thread.prof.")) == 0)
        thread_prof_touched = true;
    if (strcmp(node->name, "prof.reset") == 0 && thread_prof_touched)
        abort();
    if (node->needs == PROF_BUILT && !prof_is_built())
        return ENOENT;
    if (new && !(node->access & WRITE))
        return EPERM;
    if (new &&new_size != node->size)
        return EINVAL;
    if (old && old_size) {
        int error = read_node(node, old, old_size);
        if (error)
            return error;
    }
    return new || (node->access & ACTION) ? node->write_error : 0;
}

static const Node *
find(const char *name)
{
    for (size_t i = 0; i < NODE_COUNT; i++) {
        if (strcmp(nodes[i].name, name) == 0)
            return &nodes[i];
    }
    return NULL;
}

int
mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
    const Node *node = find(name);

    note(new ? "write" : old ? "read" : "act", name);
    return node ? use_node(node, old, old_size, new, new_size) : ENOENT;
}

int
mallctlnametomib(const char *name, size_t *mib, size_t *length)
{
    const Node *node = find(name);

    note("mib", name);
    if (!node || *length < 1)
        return ENOENT;
    mib[0] = (size_t)(node - nodes);
    *length = 1;
    return 0;
}

int
mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_size, void *new, size_t new_size)
{
    if (length < 1 || mib[0] >= NODE_COUNT)
        return ENOENT;
    return mallctl(nodes[mib[0]].name, old, old_size, new, new_size);
}

void
malloc_stats_print(void (*write_text)(void *, const char *), void *closure, const char *letters)
{
    note("stats", letters ? letters : "");
    write_text(closure, "___ Begin jemalloc statistics ___\n");
    write_text(closure, "--- End jemalloc statistics ---\n");
}
