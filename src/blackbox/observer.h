/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observes a process from its first reading to its end, for watch.h and the service. The owner calls observer_read()
 * after each observer_tick_us(), takes a snapshot if one is due, and tends profiling. An observer belongs to one thread
 * at a time.
 */
#ifndef JESCOPE_BLACKBOX_OBSERVER_H
#define JESCOPE_BLACKBOX_OBSERVER_H

#include "blackbox/keeper.h"
#include "blackbox/pacer.h"
#include "stats/live.h"
#include "target/target.h"

typedef struct BlackboxObserver BlackboxObserver;

/* What is done if profiling is off. It is switched on by a lease that yields to those of other clients (wire.h); if
 * another client switches it off, it stays off. */
typedef enum {
    OBSERVER_LEAVES_PROFILING,
    OBSERVER_PROFILES_WITH_JEMALLOC, /* if jemalloc was started with prof:true */
    OBSERVER_PROFILES,               /* otherwise with jescope's sampler */
} ObserverProfiling;

typedef struct {
    const char *directory; /* borrowed during observer_new() */
    BlackboxQuota quota;
    ObserverProfiling profiling;
} ObserverOptions;

BlackboxObserver *observer_new(const Process *process, const ObserverOptions *options, GError **error);
void observer_free(BlackboxObserver *observer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxObserver, observer_free)

/* A descriptor that is readable when the process has ended; owned by the observer. */
int observer_pidfd(const BlackboxObserver *observer);

/* Whether the process has ended. */
gboolean observer_has_ended(const BlackboxObserver *observer);

/* Reads the memory in use. Returns why a snapshot is due, or PACER_NOT_YET. */
PacerReason observer_read(BlackboxObserver *observer);

/* The time until the next reading, in microseconds. */
gint64 observer_tick_us(const BlackboxObserver *observer);

/* ---- snapshots: begin, dump, keep ---- */

BlackboxSnapshot *observer_begin(const BlackboxObserver *observer, PacerReason reason);

/* Takes a dump of TARGET (NULL: it cannot be reached) for SNAPSHOT, and reads jemalloc's statistics by LIVE (NULL:
 * none). Returns a descriptor, or -1 with ERROR, which is not set if TARGET is NULL. The process is not needed after
 * this. */
int observer_dump(BlackboxObserver *observer, BlackboxSnapshot *snapshot, Target *target, StatsLive *live,
                  GError **error);

/* Keeps SNAPSHOT with DUMP, which remains open for the caller to close; -1: it has none, for the reason WHY_NOT. */
gboolean observer_keep(BlackboxObserver *observer, BlackboxSnapshot *snapshot, int dump, const GError *why_not,
                       GError **error);

/* ---- profiling ---- */

/* Whether observer_tend_profiling() would contact the target now. */
gboolean observer_must_tend(const BlackboxObserver *observer);
void observer_tend_profiling(BlackboxObserver *observer, Target *target);
void observer_look_at_profiling(BlackboxObserver *observer, Target *target); /* contacts it in any case */

/* To be called when a client of this jescope uses profiling for a time: if it is off afterwards, it is switched on
 * again. */
void observer_lend_profiling(BlackboxObserver *observer);

/* Ends the lease, which restores the previous state. */
void observer_release_profiling(BlackboxObserver *observer, Target *target);

/* ---- the end ---- */

/* Records how the process has ended. May wait one second for its status, and three for its unit's. *END is set even if
 * this fails. */
gboolean observer_end(BlackboxObserver *observer, BlackboxEnd *end, GError **error);

/* The time of the last profile that was kept, CLOCK_REALTIME; 0: none. */
gint64 observer_profile_us(const BlackboxObserver *observer);

/* Determines how a process has ended: sets cause and number of *END. STATUS is that of waitpid(2), NULL if unknown. The
 * members used, limit, kills_before, kills_after and unit_result of *END must be set. */
void observer_judge_end(BlackboxEnd *end, const int *status);

#endif
