/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose mallctl answers like jemalloc 4.5 to 5.2, and which logs every call as a line of the file
 * STANDIN_LOG. It serves malloc (from glibc's heap), so that an agent accepts it as a live jemalloc. It aborts where
 * the real library would crash (prof.reset after thread.prof.*, background threads after a limit of zero). As version
 * 3.x, it refuses to dump in a thread that has never called its malloc.
 *
 * STANDIN_VERSION: its version (default 5.2.1).
 * STANDIN_PROF: "off" (default): built with profiling but started with prof:false; "none": built without; "on": started
 * with prof:true,prof_active:false.
 * STANDIN_DUMP: a file to copy as its dump; by default, a dump has one stack.
 * STANDIN_FAIL: a file of lines "read CONTROL ERROR" or "write CONTROL ERROR": errors to return while the file has
 * them.
 * STANDIN_CONF: the value of config.malloc_conf.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef enum { READ = 1, WRITE = 2, ACTION = 4 } Access;
typedef enum { ALWAYS, PROF_BUILT } Needs;

typedef struct {
    const char *name;
    size_t size;
    unsigned access; /* Access */
    Needs needs;
    int write_error; /* result of a write */
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

enum { MAX_BACKGROUND_THREADS = 4 };

/* Values that writes change. */
typedef struct {
    const char *name;
    uint64_t value;
} State;

enum { ACTIVE, THREADS, THREADS_LIMIT };

static State states[] = {
    [ACTIVE] = {"prof.active", 0},
    [THREADS] = {"background_thread", 0},
    [THREADS_LIMIT] = {"max_background_threads", MAX_BACKGROUND_THREADS},
};

static const Node nodes[] = {
    {"version", sizeof(char *), READ, ALWAYS, EPERM, 0},
    {"epoch", 8, READ | WRITE, ALWAYS, 0, 1},
    {"config.malloc_conf", sizeof(char *), READ, ALWAYS, EPERM, 0},
    {"background_thread", 1, READ | WRITE, ALWAYS, 0, 0},
    {"max_background_threads", 8, READ | WRITE, ALWAYS, 0, 0},
    {"opt.max_background_threads", 8, READ, ALWAYS, EPERM, MAX_BACKGROUND_THREADS},
    {"opt.prof_prefix", sizeof(char *), READ, PROF_BUILT, EPERM, 0},
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

enum { NODE_COUNT = sizeof(nodes) / sizeof(nodes[0]) };

static __thread uint64_t allocated __attribute__((tls_model("initial-exec")));
static bool thread_prof_touched;

static _Thread_local bool known_thread;

void *
malloc(size_t size)
{
    allocated += size;
    known_thread = true;
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
    int length = snprintf(line, sizeof(line), "%s %s\n", verb, name);
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

static bool
prof_is_on(void)
{
    const char *given = getenv("STANDIN_PROF");
    return given && strcmp(given, "on") == 0;
}

static uint64_t *
state_of(const char *name)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(states[i].name, name) == 0)
            return &states[i].value;
    return NULL;
}

static const char *
text_of(const char *name)
{
    const char *conf = getenv("STANDIN_CONF");

    if (strcmp(name, "version") == 0)
        return version();
    if (strcmp(name, "config.malloc_conf") == 0)
        return conf ? conf : "";
    return strcmp(name, "opt.prof_prefix") == 0 ? "jeprof" : "";
}

static uint64_t
value_of(const Node *node)
{
    if (node->size == sizeof(char *) && (strcmp(node->name, "version") == 0 || strstr(node->name, "malloc_conf") ||
                                         strstr(node->name, "prefix") || strcmp(node->name, "thread.prof.name") == 0))
        return (uint64_t)(uintptr_t)text_of(node->name);
    if (strcmp(node->name, "thread.allocated") == 0)
        return allocated;
    if (strcmp(node->name, "thread.allocatedp") == 0)
        return (uint64_t)(uintptr_t)&allocated;
    if (strcmp(node->name, "config.prof") == 0)
        return prof_is_built();
    if (strcmp(node->name, "opt.prof") == 0)
        return prof_is_on();
    const uint64_t *state = state_of(node->name);
    return state ? *state : node->value;
}

/* The error that STANDIN_FAIL specifies, or 0. */
static int
wanted_error(const char *verb, const char *name)
{
    const char *path = getenv("STANDIN_FAIL");
    char text[512] = "";
    char start[128];
    int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (descriptor < 0)
        return 0;
    ssize_t n = read(descriptor, text, sizeof(text) - 1);
    close(descriptor);
    snprintf(start, sizeof(start), "%s %s ", verb, name);
    const char *line = n > 0 ? strstr(text, start) : NULL;
    return line ? atoi(line + strlen(start)) : 0;
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

static bool
copy_file(const char *from, int descriptor)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;

    while (source >= 0 && n > 0)
        n = sendfile(descriptor, source, NULL, 1 << 20);
    if (source >= 0)
        close(source);
    return source >= 0 && n == 0;
}

static int
write_dump(const char *path)
{
    static const char dump[] = "heap_v2/524288\n"
                               "  t*: 1: 1048576 [0: 0]\n"
                               "  t0: 1: 1048576 [0: 0]\n"
                               "@ 0x1000 0x2000\n"
                               "  t*: 1: 1048576 [0: 0]\n"
                               "  t0: 1: 1048576 [0: 0]\n"
                               "\nMAPPED_LIBRARIES:\n";
    const char *given = getenv("STANDIN_DUMP");
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (descriptor < 0)
        return EFAULT;
    bool done =
        given ? copy_file(given, descriptor) : write(descriptor, dump, sizeof(dump) - 1) == (ssize_t)sizeof(dump) - 1;
    close(descriptor);
    return done ? 0 : EFAULT;
}

/* The effect of writing NEW, with prof:true. */
static int
write_node(const Node *node, const void *new)
{
    uint64_t value = 0;

    /* 3.x knows a thread only after it has allocated. */
    if (strcmp(node->name, "prof.dump") == 0 && version()[0] == '3' && !known_thread)
        return EFAULT;
    if (strcmp(node->name, "prof.dump") == 0 && prof_is_on())
        return write_dump(*(const char *const *)new);
    memcpy(&value, new, node->size);
    if (strcmp(node->name, "max_background_threads") == 0 && value > MAX_BACKGROUND_THREADS)
        return EINVAL;
    if (strcmp(node->name, "background_thread") == 0 && value && states[THREADS_LIMIT].value == 0)
        abort();
    uint64_t *state = state_of(node->name);
    if (state && (node->needs == ALWAYS || prof_is_on()))
        *state = value;
    return prof_is_on() && node->needs == PROF_BUILT ? 0 : node->write_error;
}

/* The error of a call, or 0. */
static int
obstacle(const Node *node, bool writes, size_t new_size)
{
    int wanted = wanted_error(writes ? "write" : "read", node->name);

    if (wanted)
        return wanted;
    if (node->needs == PROF_BUILT && !prof_is_built())
        return ENOENT;
    if (writes && !(node->access & WRITE))
        return EPERM;
    return writes && new_size != node->size ? EINVAL : 0;
}

static int
use_node(const Node *node, void *old, size_t *old_size, const void *new, size_t new_size)
{
    if (strncmp(node->name, "thread.prof.", strlen("thread.prof.")) == 0)
        thread_prof_touched = true;
    if (strcmp(node->name, "prof.reset") == 0 && thread_prof_touched)
        abort();
    int error = obstacle(node, new != NULL, new_size);
    if (!error && old && old_size)
        error = read_node(node, old, old_size);
    if (error)
        return error;
    if (new)
        return write_node(node, new);
    return (node->access & ACTION) && !prof_is_on() ? node->write_error : 0;
}

static const Node *
find(const char *name)
{
    for (size_t i = 0; i < NODE_COUNT; i++)
        if (strcmp(nodes[i].name, name) == 0)
            return &nodes[i];
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

/* The format of 5.2: JSON is indented and ends with a newline; text has prof.active in a separate section. */
void
malloc_stats_print(void (*write_text)(void *, const char *), void *closure, const char *letters)
{
    note("stats", letters ? letters : "");
    if (letters && strchr(letters, 'J')) {
        write_text(closure, "{\n\t\"jemalloc\": {\n\t\t\"version\": \"");
        write_text(closure, version());
        write_text(closure, "\"\n\t}\n}\n");
        return;
    }
    write_text(closure, "___ Begin jemalloc statistics ___\n");
    write_text(closure, states[ACTIVE].value ? "  prof.active: true\n" : "  prof.active: false\n");
    write_text(closure, "--- End jemalloc statistics ---\n");
}
