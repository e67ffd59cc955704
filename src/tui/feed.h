/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the screens have their targets from: this machine (local-feed.h), the history file (replay-feed.h) or another
 * jescope (remote-feed.h). The screens see frames and do not know from which.
 *
 * A Feed belongs to the thread of its main context, in which it calls its sink. Nothing blocks.
 */
#ifndef JESCOPE_TUI_FEED_H
#define JESCOPE_TUI_FEED_H

#include "routes/status.h"
#include "stats/ledger-take.h"
#include "stats/stats.h"

/* Of Jansson, whose header has a macro of the name of a function of routes/json.h. */
typedef struct json_t json_t;

/* One target at one moment. Strings in status are copies that the target owns, "" where they are unknown. */
typedef struct {
    char *key; /* of no other target of the feed: "4711.8812033" */
    RouteStatus status;
    const char *arguments; /* of status.arguments, without the program */
    StatsSample *sample;   /* totals and the merged arena; NULL: none */
    gboolean late;         /* it does not answer in time: the sample is an older one */
    gboolean gone;         /* has ended; this is its last state */
} FeedTarget;

FeedTarget *feed_target_new(const char *key, const RouteStatus *status);
void feed_target_free(gpointer target);

/* One moment. */
typedef struct {
    gint64 time_us;     /* CLOCK_REALTIME */
    gboolean begins;    /* it does not follow the frame before it: earlier values are not of this course of time */
    GPtrArray *targets; /* of FeedTarget, which it owns */
    gboolean looking;   /* there may be more targets: processes are still being examined */
    char *trouble;      /* why there is nothing new: "connection lost: ..."; NULL: none */
} FeedFrame;

FeedFrame *feed_frame_new(gint64 time_us);
void feed_frame_free(FeedFrame *frame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FeedFrame, feed_frame_free)

/* What has happened to a target, one line. */
typedef struct {
    gint64 time_us;
    const char *target; /* its pid; in a replay, its key */
    const char *text;
} FeedEvent;

typedef struct {
    void (*frame)(FeedFrame *frame, gpointer data); /* takes it over */
    /* Arenas and size classes of the target that is watched. */
    void (*detail)(const char *key, StatsSample *sample, gpointer data);
    /* Where all memory of the target that is watched is; LEDGER is NULL where only its statistics are known. */
    void (*ledger)(const char *key, const LedgerTaken *ledger, gpointer data);
    void (*event)(const FeedEvent *event, gpointer data);
    /* All events of a replay up to its moment follow. */
    void (*no_events)(gpointer data);
    /* Of the question ID: a document of the native API (docs/api.md), borrowed; or NULL with ERROR. */
    void (*answer)(guint id, const json_t *document, const GError *error, gpointer data);
    /* Of a replay that does not last: nothing follows. */
    void (*end)(gpointer data);
    gpointer data;
} FeedSink;

typedef struct Feed Feed;

/* What a feed can. Functions that it does not have are NULL. */
typedef struct {
    const char *name; /* "live", "replay" */
    gboolean replays;
    void (*free)(Feed *feed);
    void (*start)(Feed *feed);
    /* Sends the details of this target with each frame, and its ledger now and then; KEY may be NULL. */
    void (*watch)(Feed *feed, const char *key);
    /* Statistics of a target that can only be reached by stopping it for a moment: from now on it is. */
    gboolean (*follow)(Feed *feed, const FeedTarget *target, GError **error);
    void (*pause)(Feed *feed, gboolean paused);
    /* Of a replay: on by a number of moments or seconds, back if negative. FALSE: there is no other moment there. */
    gboolean (*step)(Feed *feed, gint64 moments);
    gboolean (*jump)(Feed *feed, gint64 seconds);
    /* Asks the native API about the target with KEY: METHOD on PATH below "/api/v1/targets/{target}", with its query.
     * Returns the number of the question, which is answered once, later, unless the feed is freed before. */
    guint (*ask)(Feed *feed, const char *key, const char *method, const char *path);
} FeedOps;

struct Feed {
    const FeedOps *ops;
    FeedSink sink;
    guint every_ms;
    guint questions; /* asked so far */
    gboolean lasts;  /* frames are shown until the user leaves: events are worth a connection of their own */
};

/* The monotonic time of the next ledger after one that took LASTED_US: so that reading them takes at most a hundredth
 * of the time, and none within a second. */
gint64 feed_next_ledger(gint64 lasted_us);

/* Hands the body of an answer (NULL: none) to the sink, which has one; ERROR (may be NULL) is why there is none. */
void feed_answer(const Feed *feed, guint id, const char *body, const GError *error);

/* The same from the main loop, for what fails at once. FEED must live until then. */
void feed_answer_later(Feed *feed, guint id, const GError *error);

void feed_free(Feed *feed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Feed, feed_free)

#endif
