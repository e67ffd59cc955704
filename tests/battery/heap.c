/* SPDX-License-Identifier: Apache-2.0 */
/* What the program does with its heap. */
#include "battery.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SLOTS = 200000,
    CONNECTIONS_MAX = 1000,
};

static void *slots[SLOTS];
static unsigned used;

static void
nothing(void)
{
}

/* ---- leaks ---- */

NAMED static void
session_store(void)
{
    filled(600);
    truth += 640;
}

static void
leak_sessions(void)
{
    for (int i = 0; i < 20; i++)
        session_store();
}

/* Through the wrappers that every C program has. */
NAMED static void *
xmalloc(size_t size)
{
    void *memory = filled(size);
    __asm__ volatile("" : : "r"(memory) : "memory");
    return memory;
}

NAMED static char *
xstrdup(const char *text)
{
    char *copy = xmalloc(strlen(text) + 1);
    strcpy(copy, text);
    __asm__ volatile("" : : "r"(copy) : "memory");
    return copy;
}

NAMED static void
remember_name(void)
{
    char name[200];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    xstrdup(name);
    truth += 224;
}

/* The same wrappers serve what does not leak. */
NAMED static void
parse_request(void)
{
    char text[3000];
    memset(text, 'p', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    free(slots[used]);
    slots[used] = xstrdup(text);
    used = (used + 1) % 5000;
}

static void
leak_wrapped(void)
{
    for (int i = 0; i < 60; i++)
        remember_name();
    for (int i = 0; i < 10; i++)
        parse_request();
}

/* Little in a step. */
NAMED static void
entry_add(void)
{
    filled(1000);
    truth += 1024;
}

static void
leak_slowly(void)
{
    entry_add();
}

/* Few objects, each of them large. */
NAMED static void
frame_grab(void)
{
    filled(800 * KIB);
    truth += 896 * KIB;
}

static void
leak_frames(void)
{
    static unsigned steps;
    if (steps++ % 100 == 0)
        frame_grab();
}

/* What shrinks hides it. */
NAMED static void
load_batch(void)
{
    for (int i = 0; i < 100000; i++)
        slots[i] = filled(2000);
}

static void
leak_masked(void)
{
    for (int i = 0; i < 6; i++)
        session_store();
    for (int i = 0; i < 5 && used < 100000; i++)
        free(slots[used++]);
}

/* One buffer that only grows. */
NAMED static void
log_append(size_t length)
{
    static char *text;
    static size_t size;
    text = realloc(text, size + length);
    memset(text + size, 'l', length);
    size += length;
    truth = size;
}

static void
leak_log(void)
{
    log_append(8 * KIB);
}

/* Of every size. */
NAMED static void
message_queue(void)
{
    size_t size = 16 + random_below(20000);
    filled(size);
    truth += size;
}

static void
leak_messages(void)
{
    static unsigned steps;
    if (steps++ % 2 == 0)
        message_queue();
}

/* Beside what swings by more than it. */
static void
leak_in_swing(void)
{
    enum { STEPS = 500, OBJECTS = 20000 };
    static unsigned step;
    unsigned wanted = (step < STEPS / 2 ? step : STEPS - step) * OBJECTS * 2 / STEPS;
    for (; used < wanted; used++)
        slots[used] = filled(2000);
    for (; used > wanted; used--)
        free(slots[used - 1]);
    step = (step + 1) % STEPS;
    for (int i = 0; i < 8; i++)
        session_store();
}

/* In the class in which a cache turns over. */
NAMED static void *
pool_alloc(size_t size)
{
    void *memory = filled(size);
    __asm__ volatile("" : : "r"(memory) : "memory");
    return memory;
}

NAMED static void
page_put(unsigned at)
{
    free(slots[at]);
    slots[at] = pool_alloc(1000);
}

NAMED static void
task_new(void)
{
    pool_alloc(1010);
    truth += 1024;
}

static void
fill_pages(void)
{
    for (unsigned i = 0; i < 50000; i++)
        page_put(i);
}

static void
leak_tasks(void)
{
    for (int i = 0; i < 8; i++)
        task_new();
    for (int i = 0; i < 200; i++)
        page_put(random_below(50000));
}

/* Each thread leaks a little. */
NAMED static void
trace_span(void)
{
    filled(300);
    __atomic_add_fetch(&truth, 320, __ATOMIC_RELAXED);
}

static void *
trace(void *data)
{
    for (;;) {
        for (int i = 0; i < 8; i++)
            trace_span();
        usleep(5000);
    }
    return NULL;
}

static void
start_tracing(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, trace, NULL) != 0)
            abort();
    }
}

/* ---- a plugin that leaks and is unloaded ---- */

static void
plugin_path(char path[4096])
{
    ssize_t length = readlink("/proc/self/exe", path, 4096 - 32);
    if (length <= 0)
        abort();
    path[length] = '\0';
    strcpy(strrchr(path, '/'), "/battery-plugin.so");
}

static void
with_plugin(const char *function)
{
    char path[4096];
    plugin_path(path);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    size_t (*leak)(void) = NULL;
    if (plugin != NULL)
        *(void **)&leak = dlsym(plugin, function);
    if (leak == NULL)
        abort();
    truth += leak();
    dlclose(plugin);
}

static void
unload_decoder(void)
{
    static unsigned n;
    if (n++ % 10 == 0)
        with_plugin("decoder_open");
}

static void
unload_filter(void)
{
    static unsigned n;
    if (n++ % 25 == 0)
        with_plugin("filter_compile");
}

/* Nothing grows any more. */
static void
unload_codec(void)
{
    for (int i = 0; i < 500; i++)
        with_plugin("filter_compile");
}

/* In memory for half of the time. */
static void
unload_now_and_then(void)
{
    static unsigned n;
    static void *plugin;
    static size_t (*leak)(void);
    char path[4096];
    if (n % 200 == 0) {
        plugin_path(path);
        plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        *(void **)&leak = plugin != NULL ? dlsym(plugin, "decoder_open") : NULL;
    }
    if (n % 200 < 100 && n % 4 == 0 && leak != NULL)
        truth += leak();
    if (n++ % 200 == 100 && plugin != NULL)
        dlclose(plugin);
}

/* Copies the plugin to a file of its own, as each version of a module has. */
static void
copy_plugin(const char *to)
{
    char block[4096];
    plugin_path(block);
    FILE *from = fopen(block, "re"), *copy = fopen(to, "we");
    size_t length;
    if (from == NULL || copy == NULL)
        abort();
    while ((length = fread(block, 1, sizeof(block), from)) > 0)
        fwrite(block, 1, length, copy);
    fclose(from);
    fclose(copy);
}

/* Each version takes the place of the one before, and its file is deleted as soon as it is loaded. */
static void
reload_module(void)
{
    static unsigned n;
    static void *module;
    char name[32];
    if (n++ % 50 != 0)
        return;
    if (module != NULL)
        dlclose(module);
    snprintf(name, sizeof(name), "./module-%u.so", n);
    copy_plugin(name);
    module = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    unlink(name);
    size_t (*leak)(void) = NULL;
    if (module != NULL)
        *(void **)&leak = dlsym(module, "filter_compile");
    for (int i = 0; leak != NULL && i < 4; i++)
        truth += leak();
}

/* ---- load ---- */

NAMED static void *
connection_new(void)
{
    truth += 64 * KIB;
    return filled(60 * KIB);
}

static void
more_connections(void)
{
    static unsigned steps;
    int pair[2];
    if (steps++ % 10 != 0 || used == CONNECTIONS_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return;
    close(pair[1]);
    slots[used++] = connection_new();
}

NAMED static void
worker_context(void)
{
    filled(250 * KIB);
}

static void *
work(void *data)
{
    worker_context();
    for (;;)
        pause();
    return NULL;
}

static void
more_threads(void)
{
    static unsigned steps;
    pthread_t thread;
    if (steps++ % 25 != 0 || used >= 400 || pthread_create(&thread, NULL, work, NULL) != 0)
        return;
    used++;
    truth += 256 * KIB;
}

/* A request waits for its answer for 200 steps, and more and more come. */
enum { WAITING = 200, MIN_REQUESTS = 4 };

NAMED static void *
request_read(size_t size)
{
    return filled(size);
}

static void
more_requests(void)
{
    static size_t sizes[SLOTS];
    static unsigned ends[WAITING], steps, first;
    for (; steps >= WAITING && first != ends[steps % WAITING]; first++) {
        truth -= sizes[first % SLOTS];
        free(slots[first % SLOTS]);
    }
    for (unsigned i = 0; i < MIN_REQUESTS + steps / 100; i++, used++) {
        sizes[used % SLOTS] = 3000 + random_below(9000);
        slots[used % SLOTS] = request_read(sizes[used % SLOTS]);
        truth += sizes[used % SLOTS];
    }
    ends[steps++ % WAITING] = used;
}

/* ---- caches ---- */

NAMED static void
cache_insert(unsigned at, size_t size)
{
    free(slots[at]);
    slots[at] = filled(size);
}

static void
fill_cache(void)
{
    for (unsigned i = 0; i < 60000; i++)
        cache_insert(i, 1000);
    truth = 60000 * 1024;
}

static void
turn_cache(void)
{
    for (int i = 0; i < 300; i++)
        cache_insert(random_below(60000), 1000);
}

NAMED static void
ring_push(void)
{
    free(slots[used]);
    slots[used] = filled(12 * KIB);
    used = (used + 1) % 5000;
}

static void
fill_ring(void)
{
    for (int i = 0; i < 5000; i++)
        ring_push();
    truth = 5000 * 12 * KIB;
}

static void
turn_ring(void)
{
    for (int i = 0; i < 40; i++)
        ring_push();
}

/* Entries of every size. */
NAMED static void
lru_put(unsigned at)
{
    free(slots[at]);
    slots[at] = filled(100 + random_below(8000));
}

static void
fill_lru(void)
{
    for (unsigned i = 0; i < 20000; i++)
        lru_put(i);
    truth = (size_t)20000 * 4500;
}

static void
turn_lru(void)
{
    for (int i = 0; i < 30; i++)
        lru_put(random_below(20000));
}

/* ---- loaded once ---- */

NAMED static void
load_dictionary(void)
{
    for (int i = 0; i < SLOTS; i++)
        slots[i] = filled(440);
    truth = (size_t)SLOTS * 448;
}

NAMED static void
build_index(void)
{
    for (int i = 0; i < 20; i++)
        slots[i] = filled(4 * MIB);
    truth = 80 * MIB;
}

/* Of all sizes, while requests come and go in the same classes. */
NAMED static void *
node_new(size_t size)
{
    return filled(size);
}

NAMED static void
parse_tree(void)
{
    for (int i = 0; i < 60000; i++) {
        size_t size = 64 + 16 * random_below(180);
        slots[i] = node_new(size);
        truth += size;
    }
}

NAMED static void
answer_request(void)
{
    void *parts[8];
    for (int i = 0; i < 8; i++)
        parts[i] = node_new(64 + 16 * random_below(180));
    for (int i = 0; i < 8; i++)
        free(parts[i]);
}

static void
answer_requests(void)
{
    for (int i = 0; i < 10; i++)
        answer_request();
}

/* ---- capacity that is not used ---- */

NAMED static void
reserve_room(void)
{
    static char *buffers[8];
    for (int i = 0; i < 8; i++) {
        buffers[i] = realloc(NULL, 16 * MIB);
        memset(buffers[i], 1, 1 * MIB);
    }
    truth = 8 * 16 * MIB;
}

NAMED static void
buffer_append(void **buffer, size_t *capacity, size_t length)
{
    while (*capacity < length) {
        *capacity = *capacity == 0 ? 64 : 2 * *capacity;
        *buffer = realloc(*buffer, *capacity);
    }
    memset(*buffer, 1, length);
}

static void
grow_buffers(void)
{
    for (int i = 0; i < 2000; i++) {
        size_t capacity = 0;
        for (size_t length = 64; length <= 33 * KIB; length += 3 * KIB)
            buffer_append(&slots[i], &capacity, length);
        truth += capacity;
    }
}

/* ---- much is allocated, little is held ---- */

NAMED static void
handle_request(void)
{
    void *parts[64];
    for (int i = 0; i < 64; i++)
        parts[i] = filled(100 + 40 * random_below(100));
    for (int i = 0; i < 64; i++)
        free(parts[i]);
}

static void
churn_requests(void)
{
    for (int i = 0; i < 150; i++)
        handle_request();
}

/* In several threads, larger blocks. */
NAMED static void
encode_block(unsigned *state)
{
    void *parts[16];
    for (int i = 0; i < 16; i++) {
        *state = *state * 1103515245 + 12345;
        parts[i] = malloc(1000 + (*state >> 8) % 20000);
        memset(parts[i], 1, 100);
    }
    for (int i = 0; i < 16; i++)
        free(parts[i]);
}

static void *
encode(void *data)
{
    unsigned state = (unsigned)(size_t)data;
    for (;;) {
        for (int i = 0; i < 20; i++)
            encode_block(&state);
        usleep(5000);
    }
    return NULL;
}

static void
start_encoding(void)
{
    for (size_t i = 1; i <= 4; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, encode, (void *)i) != 0)
            abort();
    }
}

/* Blocks that no thread cache takes, a few a millisecond: next to no processor time. */
NAMED static void
render_frame(void)
{
    free(filled(300000));
}

static void
churn_frames(void)
{
    for (int i = 0; i < 10; i++)
        render_frame();
}

/* ---- nothing is wrong ---- */

/* Up and down by a third, in seven seconds. */
static void
swing(void)
{
    enum { STEPS = 1750, OBJECTS = 20000 };
    static unsigned step;
    unsigned wanted = OBJECTS / 2 + (step < STEPS / 2 ? step : STEPS - step) * OBJECTS / STEPS;
    for (; used < wanted; used++)
        slots[used] = filled(1000);
    for (; used > wanted; used--)
        free(slots[used - 1]);
    step = (step + 1) % STEPS;
}

static void
threads_idle(int number)
{
    for (int i = 0; i < 100; i++)
        free(filled(1000));
}

static void
pool_of_threads(void)
{
    in_threads(50, threads_idle);
}

static void
steady(void)
{
    for (int i = 0; i < 10; i++)
        cache_insert(random_below(2000), 100 + random_below(1000));
}

const Case heap_cases[] = {
    {"leak-sessions", "heap-leak", "session_store", "", nothing, leak_sessions},
    {"leak-wrapped", "heap-leak", "remember_name", "", nothing, leak_wrapped},
    {"unloaded-decoder", "leak-in-unloaded-code", "decoder_open|leak|with_plugin", "", nothing, unload_decoder},
    {"unloaded-filter", "leak-in-unloaded-code", "filter_compile|leak|with_plugin", "", nothing, unload_filter},
    {"load-connections", "growth-with-load", "connection_new", "", nothing, more_connections},
    {"load-waiting", "growth-with-load", "request_read", "", nothing, more_requests},
    {"load-threads", "growth-with-load", "worker_context", "", nothing, more_threads},
    {"cache-full", "bounded-cache", "cache_insert", "", fill_cache, turn_cache},
    {"cache-ring", "bounded-cache", "ring_push", "", fill_ring, turn_ring},
    {"startup-dictionary", "startup-memory", "load_dictionary", "", load_dictionary, NULL},
    {"startup-index", "startup-memory", "build_index", "", build_index, NULL},
    {"capacity-buffers", "oversized-capacity", "buffer_append", "", grow_buffers, NULL},
    {"leak-slow", "heap-leak", "entry_add", "", nothing, leak_slowly},
    {"leak-messages", "heap-leak", "message_queue", "", nothing, leak_messages},
    {"leak-swing", "heap-leak", "session_store", "", nothing, leak_in_swing},
    {"leak-frames", "heap-leak", "frame_grab", "", nothing, leak_frames},
    {"leak-masked", "heap-leak", "session_store", "", load_batch, leak_masked},
    {"leak-log", "heap-leak", "log_append", "", nothing, leak_log},
    {"leak-tasks", "heap-leak", "task_new", "", fill_pages, leak_tasks},
    {"leak-threads", "heap-leak", "trace_span", "", start_tracing, NULL},
    {"unloaded-codec", "leak-in-unloaded-code", "filter_compile|with_plugin|unload_codec", "", unload_codec, NULL},
    {"unloaded-reloaded", "leak-in-unloaded-code", "filter_compile|leak", "", nothing, reload_module},
    {"unloaded-seen", "leak-in-unloaded-code", "decoder_open|leak", "", nothing, unload_now_and_then},
    {"cache-lru", "bounded-cache", "lru_put", "", fill_lru, turn_lru},
    {"startup-tree", "startup-memory", "parse_tree|node_new", "", parse_tree, answer_requests},
    {"capacity-room", "oversized-capacity", "reserve_room", "", reserve_room, NULL},
    {"churn-blocks", "allocation-churn", "encode_block", "prof_accum:true", start_encoding, NULL},
    {"churn-frames", "allocation-churn", "render_frame", "prof_accum:true", nothing, churn_frames},
    {"healthy-swing", "healthy", "", "", nothing, swing},
    {"healthy-threads", "healthy", "", "", pool_of_threads, NULL},
    {"churn-requests", "allocation-churn", "handle_request", "", nothing, churn_requests},
    {"healthy-idle", "healthy", "", "", nothing, NULL},
    {"healthy-steady", "healthy", "", "", nothing, steady},
    {0},
};
