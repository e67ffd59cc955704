/* SPDX-License-Identifier: Apache-2.0 */
#include "history/watch.h"

#include "history/process-facts.h"

#include "target/process.h"
#include "target/target.h"

#include <string.h>

/* What the thread and its owner share. Each holds a reference; the queue carries one word per request. */
typedef struct {
    gatomicrefcount references;
    GAsyncQueue *requests;
    GMainContext *context;
    Watch *watch; /* NULL: nobody waits for results; touched in the owner's thread alone */

    /* The thread's own. */
    char *address;
    char *name; /* of the process; NULL: none was found yet */
    HistoryParts parts;
    Target *target; /* NULL: not connected */
    StatsLive *live;
    Process process; /* that it is connected to */
} Shared;

struct Watch {
    Shared *shared;
    WatchFunc func;
    gpointer data;
    gboolean waiting;
};

typedef struct {
    Shared *shared;
    WatchResult result;
} Answer;

enum { REQUEST_SAMPLE = 1, REQUEST_STOP };

static Shared *
shared_ref(Shared *shared)
{
    g_atomic_ref_count_inc(&shared->references);
    return shared;
}

static void
disconnect(Shared *shared)
{
    g_clear_pointer(&shared->live, stats_live_free);
    g_clear_pointer(&shared->target, target_free);
}

static void
shared_unref(Shared *shared)
{
    if (!g_atomic_ref_count_dec(&shared->references))
        return;
    disconnect(shared);
    g_async_queue_unref(shared->requests);
    g_main_context_unref(shared->context);
    g_free(shared->address);
    g_free(shared->name);
    g_free(shared);
}

static void
free_answer(gpointer data)
{
    Answer *answer = data;
    g_clear_pointer(&answer->result.sample, stats_sample_unref);
    g_clear_error(&answer->result.error);
    shared_unref(answer->shared);
    g_free(answer);
}

static gboolean
deliver(gpointer data)
{
    Answer *answer = data;
    Watch *watch = answer->shared->watch;
    if (watch != NULL) {
        watch->waiting = FALSE;
        watch->func(&answer->result, watch->data);
    }
    return G_SOURCE_REMOVE;
}

/* A pid is given to another program sooner or later. */
static gboolean
is_same_program(const Shared *shared, const Target *target)
{
    return shared->name == NULL || strcmp(shared->name, target_name(target)) == 0;
}

static Target *
open_target(const Shared *shared, GError **error)
{
    g_autoptr(Target) target = target_open(shared->address, error);
    if (target != NULL && is_same_program(shared, target))
        return g_steal_pointer(&target);
    if (shared->name == NULL || strcmp(shared->name, shared->address) == 0)
        return NULL;
    g_clear_error(error);
    return target_open(shared->name, error);
}

static gboolean
connect_target(Shared *shared, GError **error)
{
    if (shared->target != NULL && process_alive(shared->process.pid, shared->process.start_time))
        return TRUE;
    disconnect(shared);
    g_autoptr(Target) target = open_target(shared, error);
    if (target == NULL)
        return FALSE;
    Process process = {.pid = target_pid(target)};
    if (!process_read(target_pid(target), &process)) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s has ended", target_label(target));
        return FALSE;
    }
    if (shared->name == NULL)
        shared->name = g_strdup(target_name(target));
    shared->process = process;
    shared->target = g_steal_pointer(&target);
    return TRUE;
}

/* Classes of every arena are many: they are read when everything is wanted. */
StatsLiveParts
watch_live_parts(HistoryParts parts)
{
    static const struct {
        HistoryParts kept;
        StatsLiveParts read;
    } pairs[] = {
        {HISTORY_ARENAS, STATS_LIVE_ARENAS},
        {HISTORY_CLASSES, STATS_LIVE_CLASSES},
        {HISTORY_MUTEXES, STATS_LIVE_MUTEXES},
        {HISTORY_EVERYTHING, STATS_LIVE_ARENA_CLASSES},
    };
    StatsLiveParts read = STATS_LIVE_TOTALS;
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        if ((parts & pairs[i].kept) == pairs[i].kept)
            read |= pairs[i].read;
    return read;
}

static StatsSample *
take_sample(Shared *shared, GError **error)
{
    if (!connect_target(shared, error))
        return NULL;
    if (shared->live == NULL)
        shared->live = stats_live_new(shared->target, watch_live_parts(shared->parts), error);
    StatsSample *sample = shared->live != NULL ? stats_live_sample(shared->live, error) : NULL;
    if (sample == NULL) {
        disconnect(shared);
        return NULL;
    }
    process_facts_read("/proc", "/sys/fs/cgroup", (int)shared->process.pid, sample->totals);
    return sample;
}

static gpointer
run_thread(gpointer data)
{
    Shared *shared = data;
    while (GPOINTER_TO_INT(g_async_queue_pop(shared->requests)) == REQUEST_SAMPLE) {
        Answer *answer = g_new0(Answer, 1);
        answer->shared = shared_ref(shared);
        answer->result.sample = take_sample(shared, &answer->result.error);
        answer->result.pid = (gint)shared->process.pid;
        answer->result.start_ticks = shared->process.start_time;
        g_main_context_invoke_full(shared->context, G_PRIORITY_DEFAULT, deliver, answer, free_answer);
    }
    shared_unref(shared);
    return NULL;
}

Watch *
watch_new(const char *address, const char *name, HistoryParts parts, WatchFunc func, gpointer data)
{
    Watch *watch = g_new0(Watch, 1);
    watch->func = func;
    watch->data = data;
    Shared *shared = watch->shared = g_new0(Shared, 1);
    g_atomic_ref_count_init(&shared->references);
    shared->watch = watch;
    shared->address = g_strdup(address);
    shared->name = g_strdup(name);
    shared->parts = parts;
    shared->requests = g_async_queue_new();
    shared->context = g_main_context_ref_thread_default();
    g_thread_unref(g_thread_new("sampler", run_thread, shared_ref(shared)));
    return watch;
}

void
watch_free(Watch *watch)
{
    if (watch == NULL)
        return;
    watch->shared->watch = NULL;
    g_async_queue_push(watch->shared->requests, GINT_TO_POINTER(REQUEST_STOP));
    shared_unref(watch->shared);
    g_free(watch);
}

gboolean
watch_request(Watch *watch)
{
    if (watch->waiting)
        return FALSE;
    watch->waiting = TRUE;
    g_async_queue_push(watch->shared->requests, GINT_TO_POINTER(REQUEST_SAMPLE));
    return TRUE;
}

gboolean
watch_is_busy(const Watch *watch)
{
    return watch->waiting;
}
