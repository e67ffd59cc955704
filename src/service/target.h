/* SPDX-License-Identifier: Apache-2.0 */
/* One target as the service knows it. */
#ifndef JESCOPE_SERVICE_TARGET_H
#define JESCOPE_SERVICE_TARGET_H

#include "service/recordings.h"
#include "service/work.h"

#include "stats/live.h"
#include "target/process.h"
#include "target/target.h"

/* What is sampled: for a scrape the totals, for the history what the options say. */
typedef enum {
    SAMPLED_FOR_SCRAPE,
    SAMPLED_FOR_HISTORY,
    SAMPLED_COUNT,
} SampledFor;

struct ServiceTarget {
    gatomicrefcount references;
    Service *service; /* a reference */

    /* Never change. */
    char *id;
    char *unique;
    char *name;
    char *label;
    char *series;
    char *address;   /* NAMED: for target_open(), else the path of its agent's socket; NULL: of an earlier life */
    char *directory; /* RouteHost.directory */
    gboolean named;  /* by the options: reached whatever way works */
    Process process;
    gint64 started_us;
    char *boot; /* of an earlier life of this machine; NULL: the present one */

    Lane lane; /* guarded by Service.lock */

    gboolean collecting; /* main context: a beat waits for it */

    /* Of the work of a beat alone. */
    StatsSample *judged; /* the last one that advice was looked for in */
    GPtrArray *advice;   /* ids (static) of what was found */

    GMutex lock; /* of what follows */
    ServiceTargetState state;
    ServiceReach reach;
    char *trouble;
    StatsSample *latest;
    int profiling;      /* as last seen; -1: never */
    gint64 incarnation; /* in the history; 0: not known yet */
    gboolean has_kept;  /* dumps or recordings */
    int delta;          /* the dump that the next difference begins at; -1: none */
    gboolean missing;   /* it gave no sample at the last beat */
    Recordings recordings;

    GMutex use; /* of what follows: the target itself is one thread's at a time */
    Target *target;
    StatsLive *live[SAMPLED_COUNT];
    StatsLiveParts live_parts[SAMPLED_COUNT]; /* that they were made for */
    GError *refusal;                          /* the last attempt failed so that the next one would */
    gint64 refused_until_us;                  /* monotonic: it is not made before */
};

/* What a new one is made from. SERIES is its name in the history. */
typedef struct {
    const Process *process;
    const char *address;
    gboolean named;
    const char *series;
} TargetFacts;

ServiceTarget *target_new(Service *service, const TargetFacts *facts);

/* One of an earlier life, of which something is kept. */
ServiceTarget *target_new_kept(Service *service, const HistoryKept *kept);

/* It has ended: its connection is closed, what is asked of it from now on is answered from what was kept. */
void target_set_gone(ServiceTarget *target);

/* The life in the history, begun if need be. */
gboolean target_life(ServiceTarget *target, gint64 *incarnation, GError **error);

/* How the life is called in the history; valid as long as the target. */
HistoryLife target_history_life(const ServiceTarget *target, const char *version, guint64 every_us);

/* Takes TARGET.use, and closes the connection. On a worker thread. */
void target_disconnect(ServiceTarget *target);

/* The service is about to end. */
void target_stop_timers(ServiceTarget *target);

/* With TARGET.use: the connected target, or NULL with ERROR. */
Target *target_connect(ServiceTarget *target, GError **error);

/* The same, for what nobody has asked for: never stops a process to reach it. */
Target *target_connect_gently(ServiceTarget *target, GError **error);

/* With TARGET.use: notes how an attempt to talk to it went; ERROR may be NULL. */
void target_note_outcome(ServiceTarget *target, const GError *error);

/* From any thread: adds an event soon. */
void target_tell(ServiceTarget *target, const ServiceEvent *event);

#endif
