/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/local-feed.h"

#include "confine/keyed-hash.h"
#include "tui/event-text.h"
#include "tui/local-ask.h"

#include "confine/account.h"
#include "target/candidates.h"
#include "target/facts.h"
#include "target/target.h"

#include <string.h>

enum {
    LOOK_MS = 5,       /* poll interval until the service has looked for targets */
    UNPREPARED_S = 10, /* interval between searches for processes without an agent */
    UNRELATED_S = 60,  /* time before a process without jemalloc is examined again */
    PERMILLE = 1000,
    UNPREPARED_OF_USER = 1024, /* processes without an agent of one user, each of which is read for each frame */
};

typedef struct {
    Process process;
    Reach reach;
    ProcessFacts *facts;
} Unprepared;

typedef struct LocalFeed LocalFeed;

/* A Service and the state of its scrape. */
typedef struct {
    LocalFeed *feed;
    Service *service;
    guint subscription;
    gboolean asked;     /* a scrape is in progress */
    GPtrArray *targets; /* of FeedTarget, from the last scrape; NULL: none yet */
} Watched;

struct LocalFeed {
    Feed base;
    LocalFeedOptions options;
    GPtrArray *services;   /* of Watched: the first is for all targets, the others for followed processes */
    GArray *unprepared;    /* of Unprepared */
    GHashTable *unrelated; /* "PID.START" -> monotonic time of the examination; used only by the task, like FACTS */
    GHashTable *facts;     /* "PID.START" -> ProcessFacts of the processes found by the last search */
    gboolean looking;      /* the search task is running */
    gint64 looked_us;
    gint64 framed_us; /* monotonic time of the last frame; 0: none yet */
    char *watched;
    gint64 ledger_due_us; /* monotonic time of the next ledger */
    gboolean paused;
    guint timer;
};

static LocalFeed *
local_of(Feed *feed)
{
    return (LocalFeed *)feed;
}

/* ---- processes without an agent ---- */

static char *
key_of(const Process *process)
{
    return g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
}

/* Examining all processes takes long: those without jemalloc are skipped for a while. */
static gboolean
is_unrelated(LocalFeed *self, const char *key)
{
    const gint64 *examined = g_hash_table_lookup(self->unrelated, key);
    return examined != NULL && g_get_monotonic_time() - *examined < UNRELATED_S * G_USEC_PER_SEC;
}

/* Whether USER has fewer rows than it may have; if so, counts another. */
static gboolean
has_room(GHashTable *counts, uid_t user)
{
    gpointer account = GUINT_TO_POINTER(account_of(user));
    const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, account));
    g_hash_table_insert(counts, account, GUINT_TO_POINTER(n + 1));
    return n < UNPREPARED_OF_USER;
}

/* What was left out, since others took all the time, is examined by the next search. */
static void
take_candidate(LocalFeed *self, const Candidate *candidate, GHashTable *counts, GArray *found)
{
    g_autofree char *key = key_of(&candidate->process);
    Unprepared row = {candidate->process, candidate->reach, NULL};
    if (candidate->reach == REACH_NO_JEMALLOC || candidate->hidden) {
        gint64 now = g_get_monotonic_time();
        g_hash_table_replace(self->unrelated, g_steal_pointer(&key), g_memdup2(&now, sizeof(now)));
    } else if (candidate->reach != REACH_AGENT && !candidate->left_out &&
               has_room(counts, candidate->process.uids[1])) {
        ProcessFacts *facts = g_hash_table_lookup(self->facts, key);
        row.facts = facts != NULL ? process_facts_ref(facts) : NULL;
        g_array_append_val(found, row);
    }
}

static void
add_facts(GArray *found)
{
    g_autoptr(GPtrArray) processes = g_ptr_array_new(), rows = g_ptr_array_new();
    for (guint i = 0; i < found->len; i++) {
        Unprepared *row = &g_array_index(found, Unprepared, i);
        if (row->facts != NULL)
            continue;
        g_ptr_array_add(rows, row);
        g_ptr_array_add(processes, &row->process);
    }
    g_autoptr(GPtrArray) facts = process_facts_list(processes);
    for (guint i = 0; i < rows->len; i++)
        ((Unprepared *)rows->pdata[i])->facts = process_facts_ref(facts->pdata[i]);
}

static void
keep_facts(LocalFeed *self, const GArray *found)
{
    g_hash_table_remove_all(self->facts);
    for (guint i = 0; i < found->len; i++) {
        const Unprepared *row = &g_array_index(found, Unprepared, i);
        g_hash_table_insert(self->facts, key_of(&row->process), process_facts_ref(row->facts));
    }
}

static void
clear_unprepared(gpointer row)
{
    process_facts_unref(((Unprepared *)row)->facts);
}

static gboolean
is_old(gpointer key, gpointer value, gpointer unused)
{
    return g_get_monotonic_time() - *(const gint64 *)value > 2 * UNRELATED_S * G_USEC_PER_SEC;
}

/* Runs on a thread of the service. */
static gpointer
look_for_unprepared(gpointer data, GError **error)
{
    LocalFeed *self = data;
    g_autoptr(GArray) processes = process_list(NULL);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Unprepared));
    g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL); /* user -> number of rows */
    g_autoptr(GArray) examined = g_array_new(FALSE, FALSE, sizeof(Process));
    g_array_set_clear_func(found, clear_unprepared);
    for (guint i = 0; i < processes->len; i++) {
        g_autofree char *key = key_of(&g_array_index(processes, Process, i));
        if (!is_unrelated(self, key))
            g_array_append_vals(examined, &g_array_index(processes, Process, i), 1);
    }
    g_autoptr(GPtrArray) candidates = candidates_look(examined);
    for (guint i = 0; i < candidates->len; i++)
        take_candidate(self, candidates->pdata[i], counts, found);
    add_facts(found);
    g_hash_table_foreach_remove(self->unrelated, is_old, NULL);
    keep_facts(self, found);
    return found;
}

static gboolean deliver(LocalFeed *self);
static void scrape(LocalFeed *self);

static void
on_looked(gpointer result, const GError *error, gpointer data)
{
    LocalFeed *self = data;
    gboolean first = self->unprepared == NULL;
    self->looking = FALSE;
    self->looked_us = g_get_monotonic_time();
    if (self->unprepared != NULL)
        g_array_unref(self->unprepared);
    self->unprepared = result != NULL ? g_array_ref(result) : g_array_new(FALSE, FALSE, sizeof(Unprepared));
    if (first && !deliver(self) && service_has_looked(((const Watched *)self->services->pdata[0])->service))
        scrape(self);
}

static void
look(LocalFeed *self)
{
    const ServiceTask task = {.func = look_for_unprepared, .data = self, .free_result = (GDestroyNotify)g_array_unref};
    const Watched *all = self->services->pdata[0];
    if (self->looking || self->options.n_sources > 0)
        return;
    self->looking = TRUE;
    service_run_task(all->service, &task, on_looked, self);
}

static void
add_unprepared(LocalFeed *self, FeedFrame *frame, const Unprepared *row)
{
    RouteStatus status;
    guint64 rss = process_rss(row->process.pid);
    g_autofree char *key = key_of(&row->process);
    if (!process_alive(row->process.pid, row->process.start_time))
        return;
    status_init(&status);
    status.pid = row->process.pid;
    status.uid = row->process.uids[1];
    status.name = row->process.name;
    status.state = "live";
    status.reach = row->reach == REACH_ATTACH ? "attach" : "no";
    status.started_ms = (guint64)process_started_us(row->process.start_time) / PERMILLE;
    status.sampled_ms = (guint64)frame->time_us / PERMILLE;
    g_strlcpy(status.unique, key, sizeof(status.unique));
    if (rss != 0)
        status.figures[STATUS_RSS] = rss;
    status.user = row->facts->user;
    status.arguments = row->facts->arguments;
    status.control_group = row->facts->group;
    g_ptr_array_add(frame->targets, feed_target_new(key, &status));
}

/* ---- frames ---- */

/* The targets of all services, each once. Returns a set of their keys. */
static GHashTable *
add_scraped(LocalFeed *self, const FeedFrame *frame)
{
    GHashTable *keys = g_hash_table_new(keyed_hash_string, g_str_equal);
    for (guint i = self->services->len; i > 0; i--) {
        Watched *watched = self->services->pdata[i - 1];
        g_autoptr(GPtrArray) targets = g_steal_pointer(&watched->targets);
        if (targets == NULL)
            continue;
        g_ptr_array_set_free_func(targets, NULL);
        for (guint t = 0; t < targets->len; t++) {
            FeedTarget *target = targets->pdata[t];
            if (g_hash_table_add(keys, target->key))
                g_ptr_array_add(frame->targets, target);
            else
                feed_target_free(target);
        }
    }
    return keys;
}

/* Sends a frame with the targets of all services and of the search. If the feed lasts, it does not wait for the search,
 * which examines every process. Each target is sent once: the next frame has those of the next scrape. */
static gboolean
deliver(LocalFeed *self)
{
    const Watched *all = self->services->pdata[0];
    gboolean looking = self->options.n_sources == 0 && self->unprepared == NULL;
    if (all->targets == NULL || (looking && !self->base.lasts))
        return FALSE;
    FeedFrame *frame = feed_frame_new(g_get_real_time());
    frame->looking = looking;
    self->framed_us = g_get_monotonic_time();
    g_autoptr(GHashTable) keys = add_scraped(self, frame);
    for (guint i = 0; self->unprepared != NULL && i < self->unprepared->len; i++) {
        const Unprepared *row = &g_array_index(self->unprepared, Unprepared, i);
        g_autofree char *key = key_of(&row->process);
        if (!g_hash_table_contains(keys, key))
            add_unprepared(self, frame, row);
    }
    if (self->base.sink.frame != NULL)
        self->base.sink.frame(frame, self->base.sink.data);
    else
        feed_frame_free(frame);
    return TRUE;
}

/* Time between frames, which exceeds the interval if there are many targets or the machine is busy. */
static gint64
frame_time_us(const LocalFeed *self)
{
    gint64 every_us = self->base.every_ms * G_GINT64_CONSTANT(1000);
    return self->framed_us != 0 ? MAX(every_us, g_get_monotonic_time() - self->framed_us) : every_us;
}

static FeedTarget *
take_scraped(LocalFeed *self, const ServiceScraped *scraped)
{
    RouteStatus status;
    service_target_status(scraped->target, &status);
    if (status.has_hello == FALSE && scraped->sample != NULL)
        status_set_hello(&status, &scraped->hello);
    if (scraped->error != NULL && status.trouble[0] == '\0')
        g_strlcpy(status.trouble, scraped->error->message, sizeof(status.trouble));
    FeedTarget *target = feed_target_new(status.unique, &status);
    target->late = scraped->late && (scraped->sample == NULL || scraped->age_us > 2 * frame_time_us(self));
    if (scraped->sample != NULL)
        target->sample = stats_sample_ref(scraped->sample);
    return target;
}

static void ask_details(LocalFeed *self);

static void
on_scraped(const GPtrArray *scraped, gint64 duration_us, gpointer data)
{
    Watched *watched = data;
    watched->asked = FALSE;
    if (watched->targets != NULL)
        g_ptr_array_unref(watched->targets);
    watched->targets = g_ptr_array_new_with_free_func(feed_target_free);
    for (guint i = 0; i < scraped->len; i++)
        g_ptr_array_add(watched->targets, take_scraped(watched->feed, scraped->pdata[i]));
    const GPtrArray *services = watched->feed->services;
    for (guint i = 0; i < services->len; i++)
        if (((const Watched *)services->pdata[i])->asked)
            return;
    if (deliver(watched->feed))
        ask_details(watched->feed);
}

static void
scrape(LocalFeed *self)
{
    for (guint i = 0; i < self->services->len; i++) {
        Watched *watched = self->services->pdata[i];
        if (watched->asked)
            continue;
        watched->asked = TRUE;
        service_scrape(watched->service, &(ServiceScrapeOf){.viewer = VIEWER_ALL}, on_scraped, watched);
    }
}

static gboolean
on_tick(gpointer data)
{
    LocalFeed *self = data;
    if (self->paused)
        return G_SOURCE_CONTINUE;
    if (g_get_monotonic_time() - self->looked_us > UNPREPARED_S * G_USEC_PER_SEC)
        look(self);
    scrape(self);
    return G_SOURCE_CONTINUE;
}

/* The first frame does not wait for the interval, only until the service has looked for targets. */
static gboolean
on_begin(gpointer data)
{
    LocalFeed *self = data;
    const Watched *all = self->services->pdata[0];
    if (!service_has_looked(all->service))
        return G_SOURCE_CONTINUE;
    scrape(self);
    self->timer = g_timeout_add(self->base.every_ms, on_tick, self);
    return G_SOURCE_REMOVE;
}

/* ---- details ---- */

/* A sample and its target. */
typedef struct {
    char *key;
    StatsSample *sample;
} Detail;

static void
free_detail(gpointer data)
{
    Detail *detail = data;
    g_clear_pointer(&detail->sample, stats_sample_unref);
    g_free(detail->key);
    g_free(detail);
}

static gpointer
take_detail(const RouteHost *host, gpointer key)
{
    Detail *detail = g_new0(Detail, 1);
    detail->key = g_strdup(key);
    detail->sample = service_work_sample(host, NULL);
    return detail;
}

static void
on_detail(gpointer result, const GError *error, gpointer data)
{
    const Feed *feed = data;
    const Detail *detail = result;
    if (detail != NULL && detail->sample != NULL && feed->sink.detail != NULL)
        feed->sink.detail(detail->key, detail->sample, feed->sink.data);
}

static ServiceTarget *
find_target(LocalFeed *self, const char *key)
{
    for (guint i = self->services->len; i > 0; i--) {
        const Watched *watched = self->services->pdata[i - 1];
        ServiceTarget *found = service_lookup(watched->service, VIEWER_ALL, key, NULL);
        if (found != NULL && service_target_state(found) == SERVICE_TARGET_LIVE)
            return found;
    }
    return NULL;
}

static void
ask_detail(LocalFeed *self)
{
    ServiceTarget *target = self->watched != NULL ? find_target(self, self->watched) : NULL;
    const ServiceWork work = {.pace = SERVICE_QUICK,
                              .key = "detail",
                              .forgoable = TRUE,
                              .func = take_detail,
                              .data = g_strdup(self->watched),
                              .free_data = g_free,
                              .free_result = free_detail};
    if (target != NULL)
        service_target_submit(target, &work, on_detail, self, NULL);
    else
        g_free(work.data);
}

/* The result of a task and its target. */
typedef struct {
    char *key;
    LedgerTaken taken;
    gboolean ok;
    gint64 lasted_us;
} TakenLedger;

static void
free_taken(gpointer data)
{
    TakenLedger *result = data;
    ledger_taken_clear(&result->taken);
    g_free(result->key);
    g_free(result);
}

static gpointer
take_ledger(const RouteHost *host, gpointer key)
{
    TakenLedger *result = g_new0(TakenLedger, 1);
    Failure failure = {0};
    gint64 begun_us = g_get_monotonic_time();
    result->key = g_strdup(key);
    result->ok = service_work_take_ledger(host, &result->taken, &failure) == OUTCOME_DONE;
    result->lasted_us = g_get_monotonic_time() - begun_us;
    return result;
}

static void
send_ledger(LocalFeed *self, const char *key, const LedgerTaken *ledger)
{
    if (self->base.sink.ledger != NULL)
        self->base.sink.ledger(key, ledger, self->base.sink.data);
}

static void
on_ledger(gpointer data, const GError *error, gpointer feed)
{
    LocalFeed *self = feed;
    const TakenLedger *result = data;
    if (result == NULL)
        return;
    self->ledger_due_us = MAX(self->ledger_due_us, feed_next_ledger(result->lasted_us));
    send_ledger(self, result->key, result->ok ? &result->taken : NULL);
}

/* Only for targets with an agent: a ledger takes several samples, and other processes would be stopped for each. */
static void
ask_ledger(LocalFeed *self)
{
    ServiceTarget *target = self->watched != NULL ? find_target(self, self->watched) : NULL;
    const ServiceWork work = {.pace = SERVICE_SLOW,
                              .key = "ledger",
                              .forgoable = TRUE,
                              .func = take_ledger,
                              .data = g_strdup(self->watched),
                              .free_data = g_free,
                              .free_result = free_taken};
    RouteStatus status = {.reach = ""};
    if (target != NULL)
        service_target_status(target, &status);
    gboolean has_agent = strcmp(status.reach, "agent") == 0;
    if (has_agent && g_get_monotonic_time() >= self->ledger_due_us) {
        self->ledger_due_us = feed_next_ledger(0);
        service_target_submit(target, &work, on_ledger, self, NULL);
        return;
    }
    g_free(work.data);
    if (target != NULL && !has_agent)
        send_ledger(self, self->watched, NULL);
}

static void
ask_details(LocalFeed *self)
{
    ask_detail(self);
    ask_ledger(self);
}

static void
watch(Feed *feed, const char *key)
{
    LocalFeed *self = local_of(feed);
    g_free(self->watched);
    self->watched = g_strdup(key);
    self->ledger_due_us = 0;
    /* Stops following processes without an agent once they are not shown any more. */
    if (key == NULL)
        g_ptr_array_set_size(self->services, 1);
    ask_details(self);
}

/* ---- questions ---- */

static void
on_answer(gpointer result, const GError *error, gpointer data)
{
    const LocalAnswer *answer = result;
    if (answer != NULL)
        feed_answer(data, answer->id, answer->body, answer->error);
}

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    ServiceTarget *target = find_target(local_of(feed), key);
    g_autoptr(GError) error = NULL;
    guint id = ++feed->questions;
    ServiceWork work;
    if (target == NULL) {
        g_set_error_literal(&error, TARGET_ERROR, OUTCOME_NO_PROCESS, "the process has ended or has no agent");
    } else {
        local_ask_prepare(&work, target, &(LocalQuestion){id, method, path});
        service_target_submit(target, &work, on_answer, feed, &error);
    }
    if (error != NULL)
        feed_answer_later(feed, id, error);
    return id;
}

/* ---- events ---- */

static void
on_service_event(const ServiceEvent *event, gpointer data)
{
    const Watched *watched = data;
    const Feed *feed = &watched->feed->base;
    const EventFacts facts = {service_event_name(event->type), event->subject, event->detail, event->who};
    g_autofree char *text = event_text(&facts);
    if (feed->sink.event != NULL)
        feed->sink.event(&(FeedEvent){event->time_us, event->unique, text}, feed->sink.data);
}

/* ---- services ---- */

static void
free_watched(gpointer data)
{
    Watched *watched = data;
    if (watched->service != NULL)
        service_free(watched->service);
    if (watched->targets != NULL)
        g_ptr_array_unref(watched->targets);
    g_free(watched);
}

static gboolean
add_service(LocalFeed *self, const ServiceSource *sources, guint n_sources, GError **error)
{
    ServiceOptions options = service_options_default;
    options.every_us = 0;
    options.sources = sources;
    options.n_sources = n_sources;
    options.limits.first_waits = 1;
    Service *service = service_new(&options, error);
    if (service == NULL)
        return FALSE;
    Watched *watched = g_new0(Watched, 1);
    *watched = (Watched){.feed = self, .service = service};
    watched->subscription = service_subscribe(service, 0, on_service_event, watched);
    g_ptr_array_add(self->services, watched);
    return TRUE;
}

static gboolean
follow(Feed *feed, const FeedTarget *target, GError **error)
{
    LocalFeed *self = local_of(feed);
    g_autofree char *pid = g_strdup_printf("%" G_GINT64_FORMAT, target->status.pid);
    /* Borrowed by the service for its life; interned strings outlive it. */
    const ServiceSource source = {.kind = SERVICE_SOURCE_PROCESS,
                                  .series = g_intern_string(target->status.name),
                                  .name = g_intern_string(pid),
                                  .program = g_intern_string(target->status.name)};
    return add_service(self, g_memdup2(&source, sizeof(source)), 1, error);
}

static void
set_paused(Feed *feed, gboolean paused)
{
    local_of(feed)->paused = paused;
}

static void
start(Feed *feed)
{
    LocalFeed *self = local_of(feed);
    look(self);
    self->timer = g_timeout_add(LOOK_MS, on_begin, self);
}

static void
free_local(Feed *feed)
{
    LocalFeed *self = local_of(feed);
    if (self->timer != 0)
        g_source_remove(self->timer);
    g_ptr_array_unref(self->services);
    g_hash_table_unref(self->facts);
    g_hash_table_unref(self->unrelated);
    if (self->unprepared != NULL)
        g_array_unref(self->unprepared);
    g_free(self->watched);
    g_free(self);
}

static const FeedOps local_ops = {
    .name = "live",
    .free = free_local,
    .start = start,
    .watch = watch,
    .follow = follow,
    .pause = set_paused,
    .ask = ask,
};

Feed *
local_feed_new(const LocalFeedOptions *options, GError **error)
{
    LocalFeed *self = g_new0(LocalFeed, 1);
    self->base = (Feed){.ops = &local_ops, .every_ms = options->every_ms};
    self->options = *options;
    self->services = g_ptr_array_new_with_free_func(free_watched);
    self->facts = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, (GDestroyNotify)process_facts_unref);
    self->unrelated = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    if (!add_service(self, options->sources, options->n_sources, error)) {
        free_local(&self->base);
        return NULL;
    }
    return &self->base;
}
