/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a snapshot of a target is due. A profile that is taken when no memory is left comes too late, so there
 * must always be a recent one: a new one is due each time the target has grown by a step, and before it reaches its
 * limit at the current rate. Pure: readings in, decisions out. Times are microseconds of a monotonic clock.
 */
#ifndef JESCOPE_BLACKBOX_PACER_H
#define JESCOPE_BLACKBOX_PACER_H

#include <glib.h>

typedef struct {
    gint64 time_us;
    guint64 used;        /* bytes */
    guint64 limit;       /* G_MAXUINT64: none */
    guint64 high_events; /* as CgroupReading */
    guint64 stalled_us;
} PacerReading;

typedef enum {
    PACER_NOT_YET,
    PACER_FIRST,      /* no snapshot exists yet */
    PACER_GREW,       /* by pacer_step() since the last one */
    PACER_NEAR_LIMIT, /* at the current rate, it is reached before a later snapshot would be complete */
    PACER_PRESSURE,   /* the target waits for memory, or has reached memory.high */
    PACER_PREKILL,    /* systemd-oomd is about to kill its group; never returned by pacer_judge() */
    PACER_REASONS,
} PacerReason;

typedef struct {
    PacerReading last;  /* the latest reading; time_us 0: none */
    guint64 base;       /* bytes used at the last snapshot, or the least since */
    gboolean begun;     /* a snapshot has been taken */
    gint64 ended_us;    /* the end of the last one */
    gint64 cost_us;     /* the duration of its dump */
    gint64 stall_us;    /* the shorter of the last two durations */
    gint64 pressure_us; /* when PACER_PRESSURE was last returned; 0: never */
    gboolean pressed;   /* there was pressure since the last snapshot */
    gdouble rate;       /* bytes per second, smoothed */
} Pacer;

/* The name of REASON, such as "grew". */
const char *pacer_reason_name(PacerReason reason);

/* The growth that makes a snapshot due: 5 % of the limit, at least 1 MiB; without a limit 5 % of USED, at least 64 MiB.
 */
guint64 pacer_step(guint64 used, guint64 limit);

PacerReason pacer_judge(Pacer *pacer, const PacerReading *reading);

/* Records that a snapshot was taken or has failed: USED bytes were in use at its start, and it took COST_US of the
 * target's time until NOW_US. */
void pacer_note(Pacer *pacer, guint64 used, gint64 cost_us, gint64 now_us);

/* The time until the next reading: that in which 1 % of the limit is filled at the current rate, between 10 and 100 ms;
 * 250 ms without a limit. */
gint64 pacer_tick_us(const Pacer *pacer);

#endif
