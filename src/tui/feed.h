/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of targets for the screens: this machine (local-feed.h), a history file (replay-feed.h) or another jescope
 * (remote-feed.h). The screens do not depend on which one it is.
 *
 * A Feed belongs to the thread of its main context, in which it calls its sink. No function blocks.
 */
#ifndef JESCOPE_TUI_FEED_H
#define JESCOPE_TUI_FEED_H

#include "routes/status.h"
#include "stats/ledger-take.h"
#include "stats/stats.h"

/* From Jansson. Its header is not included because one of its macros has the name of a function in routes/json.h. */
typedef struct json_t json_t;

/* One target at one moment. It owns the strings in status, which are "" if unknown. */
typedef struct {
    char *key; /* unique in the feed: "4711.8812033" */
    RouteStatus status;
    const char *arguments; /* the part of status.arguments after the program */
    StatsSample *sample;   /* totals and the merged arena; NULL: none */
    gboolean late;         /* it did not answer in time: the sample is an older one */
    gboolean gone;         /* it has exited; this is its last state */
} FeedTarget;

FeedTarget *feed_target_new(const char *key, const RouteStatus *status);
void feed_target_free(gpointer target);

/* All targets at one moment. */
typedef struct {
    gint64 time_us;     /* CLOCK_REALTIME */
    gboolean begins;    /* it does not continue the previous frame: earlier values must be dropped */
    GPtrArray *targets; /* of FeedTarget, owned */
    gboolean looking;   /* processes are still being examined: more targets may follow */
    char *trouble;      /* why there is no new data: "connection lost: ..."; NULL: none */
} FeedFrame;

FeedFrame *feed_frame_new(gint64 time_us);
void feed_frame_free(FeedFrame *frame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FeedFrame, feed_frame_free)

/* An event of a target, in one line. */
typedef struct {
    gint64 time_us;
    const char *target; /* its key */
    const char *text;
} FeedEvent;

typedef struct {
    void (*frame)(FeedFrame *frame, gpointer data); /* takes ownership of it */
    /* Arenas and size classes of the watched target. */
    void (*detail)(const char *key, StatsSample *sample, gpointer data);
    /* The ledger of the watched target; LEDGER is NULL if only its statistics are known. */
    void (*ledger)(const char *key, const LedgerTaken *ledger, gpointer data);
    void (*event)(const FeedEvent *event, gpointer data);
    /* Drops the events shown so far: all events of a replay up to its moment follow. */
    void (*no_events)(gpointer data);
    /* The answer to question ID: a document of the native API (docs/api.md), borrowed; or NULL with ERROR. */
    void (*answer)(guint id, const json_t *document, const GError *error, gpointer data);
    /* A replay with lasts FALSE is complete: no more calls follow. */
    void (*end)(gpointer data);
    gpointer data;
} FeedSink;

typedef struct Feed Feed;

/* The operations of a kind of feed. Unsupported ones are NULL. */
typedef struct {
    const char *name; /* "live", "replay" */
    gboolean replays;
    void (*free)(Feed *feed);
    void (*start)(Feed *feed);
    /* Selects the target whose details are sent with each frame, and its ledger from time to time; KEY NULL: none. */
    void (*watch)(Feed *feed, const char *key);
    /* From now on, reads the statistics of TARGET, which has to be stopped for a moment for each sample. */
    gboolean (*follow)(Feed *feed, const FeedTarget *target, GError **error);
    void (*pause)(Feed *feed, gboolean paused);
    /* Moves a replay by a number of moments or seconds, backwards if negative. FALSE: it is at the end already. */
    gboolean (*step)(Feed *feed, gint64 moments);
    gboolean (*jump)(Feed *feed, gint64 seconds);
    /* Sends a request to the native API about the target with KEY: METHOD on PATH below "/api/v1/targets/{target}",
     * including the query. Returns the id of the question. The sink receives one answer later, unless the feed is freed
     * first. */
    guint (*ask)(Feed *feed, const char *key, const char *method, const char *path);
} FeedOps;

struct Feed {
    const FeedOps *ops;
    FeedSink sink;
    guint every_ms;
    guint questions; /* number asked so far */
    gboolean lasts;  /* runs until the user quits, so events are worth a connection of their own */
};

/* The monotonic time of the next ledger after one that took LASTED_US: at least a second from now, and late enough that
 * reading ledgers takes at most 1 % of the time. */
gint64 feed_next_ledger(gint64 lasted_us);

/* Passes the body of an answer to the sink, which must have an answer function. BODY NULL: it failed with ERROR (may be
 * NULL). */
void feed_answer(const Feed *feed, guint id, const char *body, const GError *error);

/* Reports ERROR for question ID from the main loop, for questions that fail immediately. FEED must live until then. */
void feed_answer_later(Feed *feed, guint id, const GError *error);

void feed_free(Feed *feed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Feed, feed_free)

#endif
