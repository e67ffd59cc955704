/* SPDX-License-Identifier: Apache-2.0 */
#include "service/push-sink.h"

#include "service/failure.h"
#include "service/host.h"
#include "service/live.h"
#include "service/push-sender.h"
#include "service/registry.h"
#include "service/sampling.h"

#include "confine/keyed-hash.h"
#include "export/batch-circumstances.h"
#include "export/labels.h"
#include "routes/render.h"
#include "target/candidates.h"
#include "target/cgroup.h"
#include "target/user-name.h"

#include <unistd.h>

enum {
    AT_ONCE = 2,              /* targets of a section that are dumped at the same time */
    CLOCK_STEP_US = 60000000, /* maximum sleep, since the clock may be set */
};

/* The sections of the options, and replaced sections with work in progress: of Pusher. */
typedef struct {
    Service *service; /* borrowed: it outlives this */
    GPtrArray *pushers;
    GPtrArray *retired;
} Pushers;

typedef struct {
    Service *service; /* borrowed: it outlives this */
    Pushers *all;
    GPtrArray *options; /* a reference, which keeps PUSH alive */
    const ServicePush *push;
    PushSender *sender;
    /* The following are used in the main context. */
    GSource *timer;  /* NULL: it has ended */
    gint64 next_us;  /* time of the next round, since 1970 */
    GPtrArray *left; /* of ServiceTarget: those still to be dumped in this round, the last one first */
    guint under_way; /* targets with work in progress */
    ScheduleTurns *turns;
    GHashTable *pasts; /* service_target_unique() -> Past */
    ServicePushFigures counts;
} Pusher;

/* What is remembered of a target from round to round. */
typedef struct {
    guint idle;   /* rounds left in which it is skipped */
    char *told;   /* the last reported failure */
    gboolean old; /* it was not found in this round */
} Past;

static void
free_past(gpointer data)
{
    g_free(((Past *)data)->told);
    g_free(data);
}

/* ---- one target, on a thread of the service ---- */

/* The data collected about a target. */
typedef struct {
    StatsSample *sample;
    LedgerTaken ledger;
    gboolean has_ledger;
    int dump; /* -1: none */
    gint64 took_us;
    gint64 dumped_us; /* since 1970 */
} Look;

static void
look_clear(Look *look)
{
    g_clear_pointer(&look->sample, stats_sample_unref);
    if (look->has_ledger)
        ledger_taken_clear(&look->ledger);
    if (look->dump >= 0)
        close(look->dump);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Look, look_clear)

/* The result. */
typedef struct {
    gint64 took_us; /* the dump */
    char *failure;  /* NULL: queued */
    gboolean gone;  /* the target has exited, which is not a failure */
} Pushed;

static void
free_pushed(gpointer data)
{
    g_free(((Pushed *)data)->failure);
    g_free(data);
}

/* A dump for a section. */
typedef struct {
    Pusher *pusher;
    ServiceTarget *target; /* a reference */
    gint64 begun_us;       /* monotonic; 0: it has not begun */
} PushJob;

static void
free_job(gpointer data)
{
    service_target_unref(((PushJob *)data)->target);
    g_free(data);
}

static Outcome
look_at(const RouteHost *host, Look *look, Failure *failure)
{
    const HostDump wanted = {0};
    const gint64 begin_us = g_get_monotonic_time();
    Outcome result = host_dump(host->data, &wanted, &look->dump, failure);
    look->took_us = g_get_monotonic_time() - begin_us;
    look->dumped_us = g_get_real_time();
    if (result != OUTCOME_DONE)
        return result;
    Failure ignored;
    look->sample = sampling_take(host->data, SAMPLED_FOR_SCRAPE, NULL, NULL);
    look->has_ledger = service_work_take_ledger(host, &look->ledger, &ignored) == OUTCOME_DONE;
    return OUTCOME_DONE;
}

/* Variables first: the process chooses their values, which do not replace what is known of it. */
static GArray *
find_labels(const PushJob *job)
{
    const ServicePush *push = job->pusher->push;
    const Process *process = live_process(job->target);
    g_autofree char *group = cgroup_path(process->pid);
    g_autofree char *user = user_name(process_author(process));
    GArray *labels = labels_new();
    labels_add_variables(labels, process->pid, (const char *const *)push->variables, NULL);
    labels_add(labels, "user", user);
    if (group != NULL)
        labels_add_group(labels, group);
    for (char *const *label = push->labels; label != NULL && *label != NULL; label++)
        labels_add_text(labels, *label, NULL);
    return labels;
}

static GBytes *
read_whole(int fd, GError **error)
{
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, error);
    close(fd);
    return mapped != NULL ? g_mapped_file_get_bytes(mapped) : NULL;
}

/* Builds the batch in a child, which symbolizes it. */
static Outcome
render_batch(const RouteHost *host, const PushJob *job, int dump, GBytes **batch, Failure *failure)
{
    const gboolean with_heap = (push_sender_flags(job->pusher->sender) & EXPORT_WANTS_HEAP) != 0;
    const RouteRendering rendering = {
        .format = with_heap ? RENDER_BATCH_WITH_HEAP : RENDER_BATCH, .dump = dump, .base = -1};
    g_autoptr(GError) error = NULL;
    int fd = -1;
    Outcome result = host_render(host->data, &rendering, &fd, failure);
    if (result != OUTCOME_DONE)
        return result;
    *batch = read_whole(fd, &error);
    return *batch != NULL ? OUTCOME_DONE : failure_from_error(error, 0, failure);
}

static gboolean
queue_batch(const PushJob *job, const Look *look, GBytes *batch, GError **error)
{
    g_autoptr(GArray) labels = find_labels(job);
    if (!live_check_unchanged(job->target, error))
        return FALSE;
    const ServicePush *push = job->pusher->push;
    const Process *process = live_process(job->target);
    const BatchProcess identity = {.pid = (guint64)process->pid, .start = process->start_time, .time = look->dumped_us};
    const BatchCircumstances circumstances = {.service = push->service != NULL ? push->service
                                                                               : service_target_name(job->target),
                                              .host = push->host,
                                              .process = &identity,
                                              .labels = (const BatchLabel *)(gconstpointer)labels->data,
                                              .n_labels = labels->len,
                                              .ledger = look->has_ledger ? &look->ledger.ledger : NULL,
                                              .sample = look->sample};
    g_autoptr(GBytes) completed = batch_complete(batch, &circumstances, error);
    return completed != NULL && push_sender_add(job->pusher->sender, completed, live_account(job->target), error);
}

static gpointer
push_target(const RouteHost *host, gpointer data)
{
    PushJob *job = data;
    Pushed *pushed = g_new0(Pushed, 1);
    Failure failure = {0};
    g_auto(Look) look = {.dump = -1};
    g_autoptr(GBytes) batch = NULL;
    g_autoptr(GError) error = NULL;
    job->begun_us = g_get_monotonic_time();
    Outcome result = look_at(host, &look, &failure);
    pushed->took_us = look.took_us;
    if (result == OUTCOME_DONE)
        result = render_batch(host, job, look.dump, &batch, &failure);
    pushed->gone = result == OUTCOME_GONE;
    if (result != OUTCOME_DONE)
        pushed->failure = g_strdup(failure.why);
    else if (!queue_batch(job, &look, batch, &error))
        pushed->failure = g_strdup(error->message);
    return pushed;
}

/* ---- rounds, in the main context ---- */

static void submit(Pusher *pusher);
static void free_if_idle(Pusher *pusher);

static Past *
past_of(Pusher *pusher, const ServiceTarget *target)
{
    Past *past = g_hash_table_lookup(pusher->pasts, service_target_unique(target));
    if (past == NULL) {
        past = g_new0(Past, 1);
        g_hash_table_insert(pusher->pasts, g_strdup(service_target_unique(target)), past);
    }
    return past;
}

/* Reports a failure, unless it equals the target's last one. */
static void
note_failure(Pusher *pusher, const ServiceTarget *target, const char *failure)
{
    Past *past = past_of(pusher, target);
    pusher->counts.failures += failure != NULL;
    if (failure != NULL && g_strcmp0(past->told, failure) != 0)
        service_say_of(pusher->service, live_account(target), "%s: %s: %s", pusher->push->section,
                       service_target_label(target), failure);
    g_free(past->told);
    past->told = g_strdup(failure);
}

static void
on_pushed(gpointer result, const GError *error, gpointer data)
{
    PushJob *job = data;
    Pusher *pusher = job->pusher;
    const Pushed *pushed = result;
    pusher->under_way--;
    schedule_turn_end(pusher->turns, live_account(job->target),
                      job->begun_us != 0 ? g_get_monotonic_time() - job->begun_us : 0);
    if (pushed == NULL)
        note_failure(pusher, job->target, error->message);
    else if (!pushed->gone)
        note_failure(pusher, job->target, pushed->failure);
    if (pushed != NULL) {
        pusher->counts.dumps += pushed->failure == NULL;
        past_of(pusher, job->target)->idle = schedule_idle_rounds(&pusher->push->schedule, pushed->took_us);
    }
    submit(pusher);
    free_if_idle(pusher);
}

/* Takes the next of the remaining targets, of the user whose targets have taken least, so that the slow targets of some
 * users do not delay those of others. */
static ServiceTarget *
take_next(Pusher *pusher)
{
    const guint n = pusher->left->len;
    g_autofree uid_t *users = g_new(uid_t, n);
    for (guint i = 0; i < n; i++)
        users[i] = live_account(pusher->left->pdata[n - 1 - i]);
    return g_ptr_array_steal_index(pusher->left, n - 1 - schedule_turn_next(pusher->turns, users, n));
}

static void
submit(Pusher *pusher)
{
    while (pusher->under_way < AT_ONCE && pusher->left->len > 0) {
        g_autoptr(GError) error = NULL;
        PushJob *job = g_new(PushJob, 1);
        *job = (PushJob){.pusher = pusher, .target = take_next(pusher)};
        const ServiceWork work = {.pace = SERVICE_SLOW,
                                  .forgoable = TRUE,
                                  .func = push_target,
                                  .data = job,
                                  .free_data = free_job,
                                  .free_result = free_pushed};
        g_autoptr(ServiceTarget) target = service_target_ref(job->target);
        if (service_target_submit(target, &work, on_pushed, job, &error) != NULL) {
            pusher->under_way++;
        } else {
            schedule_turn_end(pusher->turns, live_account(target), 0);
            note_failure(pusher, target, error->message);
        }
    }
}

static gboolean
is_wanted(const Pusher *pusher, const ServiceTarget *target)
{
    char *const *names = pusher->push->targets;
    for (char *const *name = names; name != NULL && *name != NULL; name++)
        if (process_goes_by(live_process(target), *name) || g_str_equal(service_target_id(target), *name))
            return TRUE;
    return names == NULL || *names == NULL;
}

/* The candidates for this round; PROCESSES receives the data for the schedule. */
static GPtrArray *
find_targets(Pusher *pusher, GArray *processes)
{
    GPtrArray *targets = g_ptr_array_new();
    const GPtrArray *live = registry_live(pusher->service->registry);
    for (guint i = 0; i < live->len; i++) {
        if (!is_wanted(pusher, live->pdata[i]))
            continue;
        const Process *process = live_process(live->pdata[i]);
        Past *past = past_of(pusher, live->pdata[i]);
        const ScheduleProcess one = {.pid = process->pid,
                                     .start = process->start_time,
                                     .service = service_target_name(live->pdata[i]),
                                     .user = live_user(live->pdata[i]),
                                     .account = live_account(live->pdata[i]),
                                     .idle = past->idle};
        past->idle -= past->idle > 0;
        past->old = FALSE;
        g_array_append_val(processes, one);
        g_ptr_array_add(targets, live->pdata[i]);
    }
    return targets;
}

static gboolean
is_old(gpointer unique, gpointer value, gpointer data)
{
    Past *past = value;
    const gboolean old = past->old;
    past->old = TRUE;
    return old;
}

static void
begin_round(Pusher *pusher)
{
    const Schedule *schedule = &pusher->push->schedule;
    g_autoptr(GArray) processes = g_array_new(FALSE, FALSE, sizeof(ScheduleProcess));
    pusher->counts.rounds++;
    pusher->counts.missed += pusher->left->len;
    g_ptr_array_set_size(pusher->left, 0);
    g_autoptr(GPtrArray) targets = find_targets(pusher, processes);
    g_hash_table_foreach_remove(pusher->pasts, is_old, NULL);
    g_autofree gboolean *chosen = g_new0(gboolean, targets->len + 1);
    schedule_choose(schedule, schedule_round(schedule, g_get_real_time()),
                    (const ScheduleProcess *)(gconstpointer)processes->data, processes->len, chosen);
    for (guint i = targets->len; i > 0; i--)
        if (chosen[i - 1])
            g_ptr_array_add(pusher->left, service_target_ref(targets->pdata[i - 1]));
    submit(pusher);
}

static gboolean
on_time(gpointer data)
{
    Pusher *pusher = data;
    const gint64 now_us = g_get_real_time();
    if (now_us >= pusher->next_us) {
        if (registry_has_looked(pusher->service->registry))
            begin_round(pusher);
        pusher->next_us = schedule_next_us(&pusher->push->schedule, now_us);
    }
    /* Keeps a clock that was set back from delaying rounds. */
    pusher->next_us = MIN(pusher->next_us, schedule_next_us(&pusher->push->schedule, now_us));
    g_source_set_ready_time(pusher->timer, g_get_monotonic_time() + CLAMP(pusher->next_us - now_us, 1, CLOCK_STEP_US));
    return G_SOURCE_CONTINUE;
}

/* ---- the sink ---- */

static void
end_rounds(Pusher *pusher)
{
    if (pusher->timer != NULL)
        g_source_destroy(pusher->timer);
    g_clear_pointer(&pusher->timer, g_source_unref);
    g_ptr_array_set_size(pusher->left, 0);
}

static void
free_pusher(gpointer data)
{
    Pusher *pusher = data;
    end_rounds(pusher);
    g_clear_pointer(&pusher->sender, push_sender_free);
    g_ptr_array_unref(pusher->left);
    g_hash_table_unref(pusher->pasts);
    schedule_turns_free(pusher->turns);
    g_ptr_array_unref(pusher->options);
    g_free(pusher);
}

static GHashTable *
new_pasts(void)
{
    return g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, free_past);
}

/* PUSH is an element of OPTIONS. */
static Pusher *
new_pusher(Pushers *all, GPtrArray *options, const ServicePush *push)
{
    Pusher *pusher = g_new0(Pusher, 1);
    pusher->service = all->service;
    pusher->all = all;
    pusher->options = g_ptr_array_ref(options);
    pusher->push = push;
    pusher->left = g_ptr_array_new_with_free_func((GDestroyNotify)service_target_unref);
    pusher->pasts = new_pasts();
    pusher->turns = schedule_turns_new();
    pusher->sender = push_sender_new(all->service, push);
    pusher->next_us = schedule_next_us(&push->schedule, g_get_real_time());
    pusher->timer = service_new_alarm(all->service, on_time, pusher);
    g_source_set_ready_time(pusher->timer, 0);
    return pusher;
}

static gpointer
new_state(Service *service)
{
    GPtrArray *pushes = service->options.pushes;
    Pushers *all = g_new(Pushers, 1);
    *all = (Pushers){.service = service,
                     .pushers = g_ptr_array_new_with_free_func(free_pusher),
                     .retired = g_ptr_array_new_with_free_func(free_pusher)};
    for (guint i = 0; pushes != NULL && i < pushes->len; i++)
        g_ptr_array_add(all->pushers, new_pusher(all, pushes, pushes->pdata[i]));
    return all;
}

static void
free_state(gpointer state)
{
    Pushers *all = state;
    g_ptr_array_unref(all->pushers);
    g_ptr_array_unref(all->retired);
    g_free(all);
}

static void
stop(gpointer state)
{
    const Pushers *all = state;
    for (guint i = 0; i < all->pushers->len; i++)
        end_rounds(all->pushers->pdata[i]);
}

/* Work in progress may still add to the queues. */
static void
close_senders(gpointer state)
{
    const Pushers *all = state;
    stop(state);
    /* All at first, so that the waits are not added up. */
    for (guint i = 0; i < all->pushers->len; i++)
        push_sender_stop(((Pusher *)all->pushers->pdata[i])->sender);
    for (guint i = 0; i < all->pushers->len; i++)
        push_sender_end(((Pusher *)all->pushers->pdata[i])->sender);
}

const Sink push_sink = {.new = new_state, .free = free_state, .stop = stop, .close = close_senders};

/* ---- new settings ---- */

/* Frees a retired section once its last work is done. */
static void
free_if_idle(Pusher *pusher)
{
    if (pusher->under_way == 0)
        g_ptr_array_remove_fast(pusher->all->retired, pusher);
}

/* Ends rounds and sending. Work in progress still adds to the queue; the queue's next sender sends these batches once
 * the retired one has closed it. */
static void
retire(Pushers *all, Pusher *pusher)
{
    end_rounds(pusher);
    push_sender_end(pusher->sender);
    g_ptr_array_add(all->retired, pusher);
    free_if_idle(pusher);
}

/* Moves the state of PUSHER to NEXT, which has the same destination. */
static void
hand_over(Pusher *pusher, Pusher *next)
{
    GHashTable *pasts = pusher->pasts;
    pusher->pasts = next->pasts;
    next->pasts = pasts;
    next->counts = pusher->counts;
}

/* Removes and returns the pusher of this destination from PUSHERS, or NULL. */
static Pusher *
take_pusher(GPtrArray *pushers, const ServicePush *push)
{
    for (guint i = 0; i < pushers->len; i++)
        if (g_str_equal(((const Pusher *)pushers->pdata[i])->push->to, push->to))
            return g_ptr_array_steal_index(pushers, i);
    return NULL;
}

static gboolean
is_kept(const Pusher *pusher, const GPtrArray *options)
{
    for (guint i = 0; options != NULL && i < options->len; i++)
        if (service_push_equal(pusher->push, options->pdata[i]))
            return TRUE;
    return FALSE;
}

/* All of them before the first is waited for, so that the waits are not added up. */
static void
stop_replaced(const GPtrArray *pushers, const GPtrArray *options)
{
    for (guint i = 0; i < pushers->len; i++)
        if (!is_kept(pushers->pdata[i], options))
            push_sender_stop(((Pusher *)pushers->pdata[i])->sender);
}

void
push_sink_reconfigure(gpointer state, GPtrArray *options)
{
    Pushers *all = state;
    g_autoptr(GPtrArray) old = all->pushers;
    all->pushers = g_ptr_array_new_with_free_func(free_pusher);
    stop_replaced(old, options);
    for (guint i = 0; options != NULL && i < options->len; i++) {
        const ServicePush *push = options->pdata[i];
        Pusher *before = take_pusher(old, push);
        if (before != NULL && service_push_equal(before->push, push)) {
            g_ptr_array_add(all->pushers, before);
            continue;
        }
        Pusher *next;
        if (before != NULL)
            push_sender_end(before->sender);
        next = new_pusher(all, options, push);
        if (before != NULL) {
            hand_over(before, next);
            retire(all, before);
        }
        g_ptr_array_add(all->pushers, next);
    }
    while (old->len > 0)
        retire(all, g_ptr_array_steal_index(old, 0));
}

/* ---- figures ---- */

static void
clear_figures(gpointer figures)
{
    g_free(((ServicePushFigures *)figures)->to);
}

GArray *
push_sink_figures(gpointer state)
{
    const Pushers *all = state;
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(ServicePushFigures));
    g_array_set_clear_func(rows, clear_figures);
    for (guint i = 0; i < all->pushers->len; i++) {
        const Pusher *pusher = all->pushers->pdata[i];
        ServicePushFigures row = pusher->counts;
        row.to = g_strdup(pusher->push->to);
        push_sender_figures(pusher->sender, &row);
        g_array_append_val(rows, row);
    }
    return rows;
}
