/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/remote-feed.h"

#include "client/document.h"
#include "stats/ledger-read.h"
#include "stats/reader.h"
#include "stats/status.h"
#include "target/facts.h"
#include "target/target.h"
#include "tui/remote-events.h"

#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ANSWER_MS = 10000,
    REPORT_MS = 120000, /* for a dump or a report */
    ANSWER_MAX = 32 << 20,
    TARGETS_MAX = 4096, /* a server has up to 1024 per user */
};

/* Ids of internal requests, which are not questions. */
enum {
    LIST = 0,
    STATUS = G_MAXUINT,
    STATISTICS = G_MAXUINT - 1,
    LEDGER = G_MAXUINT - 2,
};

/* Omits mutexes and extents. */
#define STATISTICS_PATH "/statistics?options=xeh"

/* State shared by the thread and the feed; lives as long as either. */
typedef struct {
    gatomicrefcount references;
    Connection *connection; /* the thread's */
    GMainContext *context;
    Feed *feed; /* used in the main context; NULL: freed */
} Shared;

typedef struct {
    Feed base;
    Shared *shared;
    GThreadPool *pool; /* a single thread, as a connection requires */
    char *list;        /* path of the list, or of the only target as it was named */
    char *bound;       /* path of the only target, by which no other process is meant; NULL: it is not known yet */
    gboolean one;
    gboolean asked;         /* a request for the list is in progress */
    char *watched;          /* key */
    gint64 ledger_due_us;   /* monotonic time of the next ledger */
    json_t *status;         /* the watched target's status document; NULL: none yet */
    StatsSample *sample;    /* its statistics; NULL: none yet */
    char *unread;           /* why the latest cannot be read; NULL: they can */
    char *local;            /* the only target, if it is a process of this machine that links libjescope; NULL: none */
    ProcessFacts *facts;    /* of that */
    Connection *for_events; /* handed over when the feed starts; NULL: none */
    RemoteEvents *events;
    gboolean paused;
    guint timer;
} RemoteFeed;

/* A request and its answer. */
typedef struct {
    Shared *shared;
    guint id; /* a question's id, or one of the internal ids */
    char *method;
    char *path;
    char *key;           /* the target's; NULL: all targets */
    char *body;          /* NULL: ERROR says why */
    StatsSample *sample; /* parsed from the body of STATISTICS; NULL: none */
    char *unread;        /* why not; NULL: no reason */
    gint64 lasted_us;
    GError *error;
} Request;

static Shared *
shared_ref(Shared *shared)
{
    g_atomic_ref_count_inc(&shared->references);
    return shared;
}

static void
shared_unref(Shared *shared)
{
    if (!g_atomic_ref_count_dec(&shared->references))
        return;
    connection_free(shared->connection);
    g_main_context_unref(shared->context);
    g_free(shared);
}

static void
free_request(gpointer data)
{
    Request *request = data;
    shared_unref(request->shared);
    g_free(request->method);
    g_free(request->path);
    g_free(request->key);
    g_free(request->body);
    g_clear_pointer(&request->sample, stats_sample_unref);
    g_free(request->unread);
    g_clear_error(&request->error);
    g_free(request);
}

/* ---- the thread ---- */

static gboolean on_answer(gpointer data);

static gboolean
is_ours(guint id)
{
    return id == LIST || id >= LEDGER;
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    StatsSample **kept = data;
    g_clear_pointer(kept, stats_sample_unref);
    *kept = stats_sample_ref(sample);
    return TRUE;
}

/* A short text stands for many rows, so they are bounded, unlike those of a file, which a child reads. */
static void
read_sample(Request *request, gsize length)
{
    StatsReport report = {0};
    g_autoptr(StatsReader) reader = stats_reader_new(keep_sample, &request->sample);
    stats_reader_limit(reader, STATS_ROWS_MAX);
    if (stats_reader_feed(reader, request->body, length, NULL))
        stats_reader_finish(reader, &report, NULL);
    if (report.why_left_out[0] != '\0')
        request->unread = g_strdup(report.why_left_out);
}

static void
exchange(gpointer data, gpointer unused)
{
    Request *request = data;
    gint64 begun_us = g_get_monotonic_time();
    const ExchangeRequest wanted = {.method = request->method,
                                    .path = request->path,
                                    .type = "application/json",
                                    .limit = ANSWER_MAX,
                                    .deadline_ms = is_ours(request->id) ? ANSWER_MS : REPORT_MS};
    gsize length;
    int descriptor = connection_exchange(request->shared->connection, &wanted, &request->error);
    if (descriptor >= 0)
        request->body = document_read(descriptor, &length, &request->error);
    if (request->id == STATISTICS && request->body != NULL)
        read_sample(request, length);
    request->lasted_us = g_get_monotonic_time() - begun_us;
    /* g_main_context_invoke() would run it on this thread if the main loop is not running yet. */
    g_autoptr(GSource) source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, on_answer, request, free_request);
    g_source_attach(source, request->shared->context);
}

/* Takes ownership of PATH. */
static void
push(RemoteFeed *self, const Request *wanted, char *path)
{
    Request *request = g_new0(Request, 1);
    *request = (Request){.shared = shared_ref(self->shared),
                         .id = wanted->id,
                         .method = g_strdup(wanted->method != NULL ? wanted->method : "GET"),
                         .key = g_strdup(wanted->key),
                         .path = path};
    g_thread_pool_push(self->pool, request, NULL);
}

static void
push_target(RemoteFeed *self, const Request *wanted, const char *below)
{
    g_autofree char *target = g_uri_escape_string(wanted->key, NULL, FALSE);
    push(self, wanted, g_strdup_printf("/api/v1/targets/%s%s", target, below));
}

/* ---- frames ---- */

/* Adds facts from /proc to the status of a process of this machine whose documents lack them. */
static void
add_facts(RemoteFeed *self, const Process *process, RouteStatus *status)
{
    if (g_strcmp0(self->local, status->unique) != 0) {
        g_free(self->local);
        process_facts_unref(self->facts);
        self->local = g_strdup(status->unique);
        self->facts = process_facts_new(process);
    }
    status->user = self->facts->user;
    status->arguments = self->facts->arguments;
    status->control_group = self->facts->group;
    if (status->sampled_ms != 0)
        return;
    guint64 rss = process_rss(process->pid);
    status->sampled_ms = (guint64)g_get_real_time() / 1000;
    status->figures[STATUS_RSS] = rss != 0 ? rss : STATUS_UNKNOWN;
}

/* The status of a program that links libjescope is short; if it runs on this machine, /proc has the rest. */
static gboolean
read_status(RemoteFeed *self, const json_t *document, RouteStatus *status, DocumentTexts *texts)
{
    Process process;
    if (!document_status(document, status, texts))
        return FALSE;
    if (!self->one || status->reach[0] != '\0')
        return TRUE;
    status->reach = "server";
    status->state = "live";
    if (!process_look((pid_t)status->pid, &process))
        return TRUE;
    g_autofree char *unique = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)process.pid, process.start_time);
    if (strcmp(unique, status->unique) == 0)
        add_facts(self, &process, status);
    return TRUE;
}

static FeedTarget *
read_target(RemoteFeed *self, const json_t *document)
{
    RouteStatus status;
    DocumentTexts texts;
    if (!read_status(self, document, &status, &texts))
        return NULL;
    /* An older jescope does not send the user's name. */
    if (status.user[0] == '\0') {
        g_snprintf(texts.user, sizeof(texts.user), "%u", status.uid);
        status.user = texts.user;
    }
    FeedTarget *target = feed_target_new(status.unique, &status);
    target->sample = stats_sample_new(STATS_SOURCE_LIVE);
    stats_add_figures(target->sample->totals, &status);
    target->gone = strcmp(target->status.state, "gone") == 0;
    return target;
}

/* Adds the target in ROW of the list, or its own status document if that is known. */
static void
add_target(RemoteFeed *self, FeedFrame *frame, const json_t *row)
{
    const char *key = json_string_value(json_object_get(row, "unique"));
    gboolean known = self->status != NULL && key != NULL &&
                     g_strcmp0(json_string_value(json_object_get(self->status, "unique")), key) == 0;
    FeedTarget *target = read_target(self, known ? self->status : row);
    if (target != NULL && self->sample != NULL && g_strcmp0(target->key, self->watched) == 0)
        stats_update_figures(&target->status, self->sample->totals);
    if (target != NULL)
        g_ptr_array_add(frame->targets, target);
}

static void
take_status(RemoteFeed *self, const char *body)
{
    json_t *document = body != NULL ? document_parse(body, strlen(body), NULL) : NULL;
    json_decref(self->status);
    self->status = document;
}

/* The kernel's figures of the process are only in its status, so they are added to the sample. */
static void
take_statistics(RemoteFeed *self, const Request *request)
{
    RouteStatus status;
    DocumentTexts texts;
    if (g_strcmp0(request->key, self->watched) != 0)
        return;
    g_free(self->unread);
    self->unread = g_strdup(request->unread);
    if (request->sample == NULL)
        return;
    g_clear_pointer(&self->sample, stats_sample_unref);
    self->sample = stats_sample_ref(request->sample);
    if (self->base.sink.detail == NULL)
        return;
    if (self->status != NULL && read_status(self, self->status, &status, &texts))
        stats_add_figures(request->sample->totals, &status);
    self->base.sink.detail(request->key, request->sample, self->base.sink.data);
}

static void
take_ledger(RemoteFeed *self, const Request *request)
{
    g_auto(LedgerTaken) taken = {0};
    json_t *document = request->body != NULL ? document_parse(request->body, strlen(request->body), NULL) : NULL;
    gboolean ok = ledger_read_json(document, &taken);
    json_decref(document);
    self->ledger_due_us = MAX(self->ledger_due_us, feed_next_ledger(request->lasted_us));
    if (self->base.sink.ledger != NULL)
        self->base.sink.ledger(request->key, ok ? &taken : NULL, self->base.sink.data);
}

static void
emit(RemoteFeed *self, const Request *request)
{
    FeedFrame *frame = feed_frame_new(g_get_real_time());
    g_autoptr(GError) error = request->error != NULL ? g_error_copy(request->error) : NULL;
    json_t *document = error == NULL ? document_parse(request->body, strlen(request->body), &error) : NULL;
    const json_t *rows = json_object_get(document, "targets");
    gsize count = self->one ? 1 : json_array_size(rows);
    for (gsize i = 0; i < MIN(count, TARGETS_MAX); i++)
        add_target(self, frame, self->one ? document : json_array_get(rows, i));
    if (error != NULL)
        frame->trouble = g_strdup_printf("no answer, trying again: %s", error->message);
    else if (count > TARGETS_MAX)
        frame->trouble = g_strdup_printf("the answer has more than %d targets", TARGETS_MAX);
    else if (document == NULL || (self->one ? frame->targets->len == 0 : !json_is_array(rows)))
        frame->trouble = g_strdup("the answer has no targets; is the server another version of jescope?");
    else if (self->unread != NULL)
        frame->trouble = g_strdup_printf("the statistics cannot be read: %s", self->unread);
    json_decref(document);
    if (self->base.sink.frame != NULL)
        self->base.sink.frame(frame, self->base.sink.data);
    else
        feed_frame_free(frame);
}

/* Another process may have the name of the only target, or its pid, before this one ends. */
static void
bind_target(RemoteFeed *self, const Request *request)
{
    json_t *document = request->body != NULL ? document_parse(request->body, strlen(request->body), NULL) : NULL;
    RouteStatus status;
    DocumentTexts texts;
    if (g_error_matches(request->error, TARGET_ERROR, OUTCOME_GONE))
        g_clear_pointer(&self->bound, g_free);
    if (self->bound == NULL && document_status(document, &status, &texts)) {
        g_autofree char *id = g_uri_escape_string(status.unique, NULL, FALSE);
        self->bound = g_strconcat("/api/v1/targets/", id, NULL);
    }
    json_decref(document);
}

static void
push_list(RemoteFeed *self)
{
    self->asked = TRUE;
    push(self, &(Request){.id = LIST}, g_strdup(self->bound != NULL ? self->bound : self->list));
}

/* The server has no list of targets: it is a program with libjescope, which is its own only target. */
static void
ask_self(RemoteFeed *self)
{
    self->one = TRUE;
    g_free(self->list);
    self->list = g_strdup("/api/v1/targets/self");
    push_list(self);
}

static gboolean
on_answer(gpointer data)
{
    const Request *request = data;
    RemoteFeed *self = (RemoteFeed *)request->shared->feed;
    if (self == NULL)
        return G_SOURCE_REMOVE;
    if (request->id == LIST) {
        self->asked = FALSE;
        if (self->one)
            bind_target(self, request);
        if (!self->one && g_error_matches(request->error, TARGET_ERROR, OUTCOME_NOT_FOUND))
            ask_self(self);
        else
            emit(self, request);
    } else if (request->id == STATUS) {
        take_status(self, request->body);
    } else if (request->id == STATISTICS) {
        take_statistics(self, request);
    } else if (request->id == LEDGER) {
        take_ledger(self, request);
    } else {
        feed_answer(&self->base, request->id, request->body, request->error);
    }
    return G_SOURCE_REMOVE;
}

/* Requests what the target's screen shows in addition to its status. */
static void
push_details(RemoteFeed *self)
{
    if (self->watched == NULL)
        return;
    push_target(self, &(Request){.id = STATUS, .key = self->watched}, "");
    push_target(self, &(Request){.id = STATISTICS, .key = self->watched}, STATISTICS_PATH);
    if (g_get_monotonic_time() < self->ledger_due_us)
        return;
    self->ledger_due_us = feed_next_ledger(0);
    push_target(self, &(Request){.id = LEDGER, .key = self->watched}, "/ledger");
}

static gboolean
on_tick(gpointer data)
{
    RemoteFeed *self = data;
    if (self->asked || self->paused)
        return G_SOURCE_CONTINUE;
    push_details(self);
    push_list(self);
    return G_SOURCE_CONTINUE;
}

/* ---- the feed ---- */

static void
start(Feed *feed)
{
    RemoteFeed *self = (RemoteFeed *)feed;
    if (feed->lasts && self->for_events != NULL)
        self->events = remote_events_new(g_steal_pointer(&self->for_events), feed);
    on_tick(self);
    self->timer = g_timeout_add(feed->every_ms, on_tick, self);
}

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    const Request wanted = {.id = ++feed->questions, .method = (char *)(guintptr)method, .key = (char *)(guintptr)key};
    push_target((RemoteFeed *)feed, &wanted, path);
    return feed->questions;
}

static void
watch(Feed *feed, const char *key)
{
    RemoteFeed *self = (RemoteFeed *)feed;
    g_free(self->watched);
    self->watched = g_strdup(key);
    take_status(self, NULL);
    g_clear_pointer(&self->sample, stats_sample_unref);
    g_clear_pointer(&self->unread, g_free);
    self->ledger_due_us = 0;
    push_details(self);
}

static void
set_paused(Feed *feed, gboolean paused)
{
    ((RemoteFeed *)feed)->paused = paused;
}

/* The thread may still be waiting for the server; its answers are dropped. */
static void
free_remote(Feed *feed)
{
    RemoteFeed *self = (RemoteFeed *)feed;
    self->shared->feed = NULL;
    if (self->timer != 0)
        g_source_remove(self->timer);
    if (self->pool != NULL)
        g_thread_pool_free(self->pool, FALSE, FALSE);
    shared_unref(self->shared);
    remote_events_free(self->events);
    if (self->for_events != NULL)
        connection_free(self->for_events);
    json_decref(self->status);
    g_clear_pointer(&self->sample, stats_sample_unref);
    process_facts_unref(self->facts);
    g_free(self->local);
    g_free(self->unread);
    g_free(self->watched);
    g_free(self->list);
    g_free(self->bound);
    g_free(self);
}

static const FeedOps remote_ops = {
    .name = "remote",
    .free = free_remote,
    .start = start,
    .watch = watch,
    .pause = set_paused,
    .ask = ask,
};

Feed *
remote_feed_new(const RemoteFeedOptions *options, gboolean *one, GError **error)
{
    ClientUrl url;
    if (!client_url_parse(options->url, &url, error))
        return NULL;
    Connection *connection = connection_new(&url, options->access, error);
    if (connection == NULL) {
        client_url_clear(&url);
        return NULL;
    }
    RemoteFeed *self = g_new0(RemoteFeed, 1);
    /* If this fails, for example because the token came from a pipe, there are no events. */
    self->for_events = connection_new(&url, options->access, NULL);
    self->base = (Feed){.ops = &remote_ops, .every_ms = options->every_ms};
    self->shared = g_new0(Shared, 1);
    g_atomic_ref_count_init(&self->shared->references);
    self->shared->connection = connection;
    self->shared->context = g_main_context_ref_thread_default();
    self->shared->feed = &self->base;
    self->one = *one = url.id != NULL;
    self->list = url.id != NULL ? g_strconcat("/api/v1/targets/", url.id, NULL) : g_strdup("/api/v1/targets");
    client_url_clear(&url);
    self->pool = g_thread_pool_new(exchange, NULL, 1, TRUE, error);
    if (self->pool != NULL)
        return &self->base;
    free_remote(&self->base);
    return NULL;
}
