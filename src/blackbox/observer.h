/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process under observation, from its first reading to its end: what watch.h and the service have in common. Its
 * owner calls observer_read() after each observer_tick_us(), takes a snapshot when it says so, and tends profiling.
 * Belongs to one thread at a time.
 */
#ifndef JESCOPE_BLACKBOX_OBSERVER_H
#define JESCOPE_BLACKBOX_OBSERVER_H

#include "blackbox/keeper.h"
#include "blackbox/pacer.h"
#include "stats/live.h"
#include "target/target.h"

typedef struct BlackboxObserver BlackboxObserver;

/* What is done about profiling that is off. A lease switches it on, which yields to every other client's (wire.h);
 * where another client switches it off, it stays off. */
typedef enum {
    OBSERVER_LEAVES_PROFILING,
    OBSERVER_PROFILES_WITH_JEMALLOC, /* where jemalloc was started with prof:true */
    OBSERVER_PROFILES,               /* else with jescope's sampler */
    OBSERVER_PROFILING_CHOICES,
} ObserverProfiling;

typedef struct {
    const char *directory; /* borrowed for observer_new() */
    BlackboxQuota quota;
    ObserverProfiling profiling;
} ObserverOptions;

BlackboxObserver *observer_new(const Process *process, const ObserverOptions *options, GError **error);
void observer_free(BlackboxObserver *observer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxObserver, observer_free)

/* Other quota and profiling from now on. */
void observer_set_options(BlackboxObserver *observer, const ObserverOptions *options);

/* Readable when the process has ended; the observer's. */
int observer_pidfd(const BlackboxObserver *observer);

/* The same, asked now. */
gboolean observer_has_ended(const BlackboxObserver *observer);

/* Reads the memory in use. Whether a snapshot is due, and why. */
PacerReason observer_read(BlackboxObserver *observer);

/* Until the next reading, in microseconds. */
gint64 observer_tick_us(const BlackboxObserver *observer);

/* ---- snapshots: begin, dump, keep ---- */

BlackboxSnapshot *observer_begin(const BlackboxObserver *observer, PacerReason reason);

/* A dump of TARGET (NULL: it cannot be reached) for SNAPSHOT, and jemalloc's figures by LIVE (NULL: none). The
 * descriptor, or -1 with ERROR. The process waits for nothing after this. */
int observer_dump(BlackboxObserver *observer, BlackboxSnapshot *snapshot, Target *target, StatsLive *live,
                  GError **error);

/* Keeps SNAPSHOT with its DUMP (which stays the caller's); -1: it has none, for the reason WHY_NOT. */
gboolean observer_keep(BlackboxObserver *observer, BlackboxSnapshot *snapshot, int dump, const GError *why_not,
                       GError **error);

/* ---- profiling ---- */

/* Whether observer_tend_profiling() would ask the target now. */
gboolean observer_must_tend(const BlackboxObserver *observer);
void observer_tend_profiling(BlackboxObserver *observer, Target *target);
void observer_look_at_profiling(BlackboxObserver *observer, Target *target); /* does so in any case */

/* A client of this jescope has profiling for a time: when it is off after that, it is taken again. */
void observer_lend_profiling(BlackboxObserver *observer);

/* Ends the lease; what was before comes back. */
void observer_release_profiling(BlackboxObserver *observer, Target *target);

/* ---- the end ---- */

/* Notes how the process, which has ended, has done so. May wait a second for its status, and three for its unit's. *END
 * is filled in any case. */
gboolean observer_end(BlackboxObserver *observer, BlackboxEnd *end, GError **error);

/* When the last profile was kept, CLOCK_REALTIME; 0: none was. */
gint64 observer_profile_us(const BlackboxObserver *observer);

/* How a process has ended. STATUS: of waitpid(2), NULL: unknown. Of *END, used, limit, the two kills and what the unit
 * says are set before; cause and number are set by this. */
void observer_judge_end(BlackboxEnd *end, const int *status);

#endif
