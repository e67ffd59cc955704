/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-feed.h"

#include "stats/status.h"
#include "target/process.h"
#include "target/user-name.h"
#include "tui/replay-ask.h"

enum {
    WINDOW = 120,        /* moments shown in charts before the current one */
    STEP_DEFAULT_S = 10, /* for targets whose interval is unknown */
    LATE_HALVES = 5,     /* maximum age of a sample, in half intervals */
    SAMPLES_AT_ONCE = 65536,
};

typedef struct {
    Feed base;
    ReplaySource *source;
    const GArray *targets; /* of ReplayTarget, borrowed from the source */
    GPtrArray *users;      /* names of the targets' owners */
    gint64 first_us, last_us;
    gint64 step_us; /* between moments */
    gint64 now_us;  /* the current moment */
    char *watched;
    GArray *events;  /* of ReplayEvent, the watched target's; NULL: unknown */
    GPtrArray *asks; /* of ReplayAsk: open questions */
    gboolean paused;
    guint timer;
} ReplayFeed;

static ReplayFeed *
replay_of(Feed *feed)
{
    return (ReplayFeed *)feed;
}

/* ---- frames ---- */

/* The process that was sampled at TIME_US; NULL if unknown. */
static const ReplayLife *
life_at(const ReplayTarget *target, gint64 time_us)
{
    const ReplayLife *found = NULL;
    for (guint i = 0; i < target->lives->len; i++) {
        const ReplayLife *life = &g_array_index(target->lives, ReplayLife, i);
        if (time_us >= life->first_us && time_us <= life->last_us)
            found = life;
    }
    return found;
}

static FeedTarget *
target_at(const ReplayTarget *target, const char *user, const StatsSample *sample)
{
    const ReplayLife *life = life_at(target, sample->time_us);
    RouteStatus status;
    status_init(&status);
    status.name = target->name;
    status.series = target->name;
    status.state = "live";
    status.reach = "history";
    status.user = user;
    if (target->user >= 0)
        status.uid = (guint32)target->user;
    if (life != NULL) {
        status.pid = life->pid;
        status.user = life->user[0] != '\0' ? life->user : user;
        status.arguments = life->arguments;
        status.control_group = life->group;
    }
    stats_set_status(&status, sample);
    FeedTarget *found = feed_target_new(target->name, &status);
    found->sample = stats_sample_ref((StatsSample *)(guintptr)sample);
    return found;
}

/* The number of moments for which a sample of TARGET is shown. */
static guint
lasting(const ReplayFeed *self, const ReplayTarget *target)
{
    gint64 every_us = target->every_us != 0 ? target->every_us : STEP_DEFAULT_S * G_USEC_PER_SEC;
    return (guint)CLAMP(every_us * LATE_HALVES / 2 / self->step_us, 1, WINDOW);
}

/* What is shown of a target: its last sample, which was taken AGE moments ago. */
typedef struct {
    StatsSample *sample; /* NULL: none */
    guint age;
} Shown;

static void
clear_shown(gpointer data)
{
    g_clear_pointer(&((Shown *)data)->sample, stats_sample_unref);
}

static FeedFrame *
frame_at(const ReplayFeed *self, gint64 time_us, const GArray *shown)
{
    FeedFrame *frame = feed_frame_new(time_us);
    for (guint i = 0; i < self->targets->len; i++) {
        const ReplayTarget *target = &g_array_index(self->targets, ReplayTarget, i);
        const Shown *one = &g_array_index(shown, Shown, i);
        if (one->sample != NULL && one->age < lasting(self, target))
            g_ptr_array_add(frame->targets, target_at(target, self->users->pdata[i], one->sample));
    }
    return frame;
}

/* SAMPLES has one of each target for each of COUNT moments, of which MOMENT is the next; NULL: none. */
static void
show_moment(GArray *shown, const GPtrArray *samples, guint count, guint moment)
{
    for (guint i = 0; i < shown->len; i++) {
        Shown *one = &g_array_index(shown, Shown, i);
        StatsSample *sample = samples != NULL ? samples->pdata[i * count + moment] : NULL;
        one->age = sample != NULL ? 0 : one->age + 1;
        if (sample == NULL)
            continue;
        clear_shown(one);
        one->sample = stats_sample_ref(sample);
    }
}

/* Sends the COUNT frames up to the current moment. A file may have thousands of targets, so the samples of a part of
 * the moments are read at a time. */
static void
emit(ReplayFeed *self, guint count, gboolean begins)
{
    /* Samples taken before the first frame may still be shown in it. */
    const guint before = WINDOW, all = count + before;
    const guint at_once = CLAMP(SAMPLES_AT_ONCE / self->targets->len, 1, all);
    g_autoptr(GArray) shown = g_array_new(FALSE, TRUE, sizeof(Shown));
    g_array_set_clear_func(shown, clear_shown);
    g_array_set_size(shown, self->targets->len);
    ReplayWindow window = {
        .from_us = self->now_us - (gint64)all * self->step_us, .step_us = self->step_us, .parts = HISTORY_TOTALS};
    g_autoptr(GError) error = NULL; /* of the first read that fails: the others could wait as long */
    for (guint first = 0; first < all; first += window.count) {
        window.count = MIN(at_once, all - first);
        g_autoptr(GPtrArray) samples = error == NULL ? replay_source_read(self->source, &window, &error) : NULL;
        for (guint i = 0; i < window.count; i++) {
            window.from_us += self->step_us;
            show_moment(shown, samples, window.count, i);
            if (first + i < before || self->base.sink.frame == NULL)
                continue;
            FeedFrame *frame = frame_at(self, window.from_us, shown);
            frame->begins = begins && first + i == before;
            frame->trouble = error != NULL ? g_strdup(error->message) : NULL;
            self->base.sink.frame(frame, self->base.sink.data);
        }
    }
}

static void
send_detail(ReplayFeed *self)
{
    const ReplayWindow window = {.from_us = self->now_us - self->step_us,
                                 .step_us = self->step_us,
                                 .count = 1,
                                 .parts = HISTORY_EVERYTHING,
                                 .only = self->watched};
    g_autoptr(GPtrArray) samples = self->watched != NULL ? replay_source_read(self->source, &window, NULL) : NULL;
    for (guint i = 0; samples != NULL && i < samples->len; i++)
        if (samples->pdata[i] != NULL && self->base.sink.detail != NULL)
            self->base.sink.detail(self->watched, samples->pdata[i], self->base.sink.data);
    if (self->watched != NULL && self->base.sink.ledger != NULL)
        self->base.sink.ledger(self->watched, NULL, self->base.sink.data);
}

/* Sends the events up to the current moment. */
static void
send_events(const ReplayFeed *self)
{
    const FeedSink *sink = &self->base.sink;
    if (sink->no_events == NULL || sink->event == NULL)
        return;
    sink->no_events(sink->data);
    for (guint i = 0; self->events != NULL && i < self->events->len; i++) {
        const ReplayEvent *event = &g_array_index(self->events, ReplayEvent, i);
        if (event->time_us <= self->now_us)
            sink->event(&(FeedEvent){event->time_us, self->watched, event->text}, sink->data);
    }
}

static gboolean
step(Feed *feed, gint64 moments)
{
    ReplayFeed *self = replay_of(feed);
    gint64 steps = (self->last_us - self->first_us) / self->step_us + 1;
    gint64 at = (self->now_us - self->first_us) / self->step_us;
    gint64 to = CLAMP(at + CLAMP(moments, -steps, steps), 0, steps);
    if (to == at)
        return FALSE;
    self->now_us = self->first_us + to * self->step_us;
    if (to == at + 1)
        emit(self, 1, FALSE);
    else
        emit(self, WINDOW, TRUE);
    send_detail(self);
    send_events(self);
    return TRUE;
}

static gboolean
jump(Feed *feed, gint64 seconds)
{
    ReplayFeed *self = replay_of(feed);
    gint64 steps = seconds * G_USEC_PER_SEC / self->step_us;
    return step(feed, steps != 0 ? steps : seconds < 0 ? -1 : 1);
}

static gboolean
on_tick(gpointer data)
{
    ReplayFeed *self = data;
    gboolean more = self->paused || step(&self->base, 1);
    if (!more && !self->base.lasts && self->base.sink.end != NULL)
        self->base.sink.end(self->base.sink.data);
    return G_SOURCE_CONTINUE;
}

/* ---- the feed ---- */

static gboolean
begin(gpointer data)
{
    ReplayFeed *self = data;
    emit(self, 1, TRUE);
    self->timer = g_timeout_add(self->base.every_ms, on_tick, self);
    return G_SOURCE_REMOVE;
}

static void
start(Feed *feed)
{
    ReplayFeed *self = replay_of(feed);
    /* Without a screen there is no key to start the replay. */
    self->paused = feed->lasts;
    self->timer = g_idle_add(begin, feed);
}

static void
watch(Feed *feed, const char *key)
{
    ReplayFeed *self = replay_of(feed);
    g_free(self->watched);
    self->watched = g_strdup(key);
    g_clear_pointer(&self->events, g_array_unref);
    if (key != NULL)
        self->events = replay_source_events(self->source, key);
    send_detail(self);
    send_events(self);
}

static void
set_paused(Feed *feed, gboolean paused)
{
    replay_of(feed)->paused = paused;
}

static void
free_replay(Feed *feed)
{
    ReplayFeed *self = replay_of(feed);
    if (self->timer != 0)
        g_source_remove(self->timer);
    g_ptr_array_unref(self->asks);
    g_clear_pointer(&self->events, g_array_unref);
    g_ptr_array_unref(self->users);
    replay_source_free(self->source);
    g_free(self->watched);
    g_free(self);
}

/* ---- questions ---- */

static void
on_answer(guint id, const char *body, const GError *error, gpointer data)
{
    ReplayFeed *self = data;
    for (guint i = 0; i < self->asks->len; i++)
        if (replay_ask_id(self->asks->pdata[i]) == id) {
            g_ptr_array_steal_index_fast(self->asks, i);
            break;
        }
    feed_answer(&self->base, id, body, error);
}

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    ReplayFeed *self = replay_of(feed);
    const ReplayMoment moment = {self->source, key, self->now_us};
    const ReplayQuestion question = {++feed->questions, method, path};
    g_ptr_array_add(self->asks, replay_ask(&moment, &question, on_answer, self));
    return feed->questions;
}

static const FeedOps replay_ops = {
    .name = "replay",
    .replays = TRUE,
    .free = free_replay,
    .start = start,
    .watch = watch,
    .pause = set_paused,
    .step = step,
    .jump = jump,
    .ask = ask,
};

static void
find_range(ReplayFeed *self)
{
    self->first_us = self->step_us = G_MAXINT64;
    self->last_us = 0;
    for (guint i = 0; i < self->targets->len; i++) {
        const ReplayTarget *target = &g_array_index(self->targets, ReplayTarget, i);
        self->first_us = MIN(self->first_us, target->first_us);
        self->last_us = MAX(self->last_us, target->last_us);
        self->step_us = MIN(self->step_us, target->every_us != 0 ? target->every_us : G_MAXINT64);
        g_ptr_array_add(self->users, target->user >= 0 ? user_name((uid_t)target->user) : g_strdup(""));
    }
    if (self->step_us == G_MAXINT64)
        self->step_us = STEP_DEFAULT_S * G_USEC_PER_SEC;
    self->now_us = self->first_us;
}

Feed *
replay_feed_new(const char *path, guint every_ms, guint *left_out, GError **error)
{
    ReplaySource *source = replay_source_new(path, error);
    if (source == NULL)
        return NULL;
    ReplayFeed *self = g_new0(ReplayFeed, 1);
    self->base = (Feed){.ops = &replay_ops, .every_ms = every_ms};
    self->asks = g_ptr_array_new_with_free_func(replay_ask_cancel);
    self->source = source;
    self->targets = replay_source_targets(source);
    *left_out = replay_source_left_out(source);
    self->users = g_ptr_array_new_with_free_func(g_free);
    find_range(self);
    return &self->base;
}

guint
replay_feed_damaged(const Feed *feed)
{
    return replay_source_damaged(((const ReplayFeed *)feed)->source);
}
