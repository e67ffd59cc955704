/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a snapshot of a target is due. A profile that is taken when the memory is already gone comes too late, so there
 * is always one of the recent past: a new one is due each time the target has grown by a step, and before its limit is
 * reached at the present rate. Pure: readings in, decisions out. Times are microseconds of a monotonic clock.
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
    PACER_NEAR_LIMIT, /* which is reached, at the present rate, before a snapshot that waits would be whole */
    PACER_PRESSURE,   /* it waits for memory, or has reached memory.high */
    PACER_PREKILL,    /* systemd-oomd is about to kill its group; never by pacer_judge() */
    PACER_REASONS,
} PacerReason;

typedef struct {
    PacerReading last;  /* the latest reading; time_us 0: none */
    guint64 base;       /* bytes used at the last snapshot, or the least since */
    gboolean begun;     /* there was a snapshot */
    gint64 ended_us;    /* the end of the last one */
    gint64 cost_us;     /* how long the target was being dumped for it */
    gint64 stall_us;    /* that one or the one before, whichever was shorter */
    gint64 pressure_us; /* when PACER_PRESSURE was last said; 0: never */
    gboolean pressed;   /* there was pressure, and no snapshot since */
    gdouble rate;       /* bytes per second, smoothed */
} Pacer;

/* The word for REASON: "grew". */
const char *pacer_reason_name(PacerReason reason);

/* The growth that makes a snapshot due: 5 % of the limit, at least 1 MiB; without a limit 5 % of USED, at least 64 MiB.
 */
guint64 pacer_step(guint64 used, guint64 limit);

PacerReason pacer_judge(Pacer *pacer, const PacerReading *reading);

/* A snapshot was taken, or failed, with USED bytes at its beginning; it took COST_US of the target's time until NOW_US.
 */
void pacer_note(Pacer *pacer, guint64 used, gint64 cost_us, gint64 now_us);

/* Until the next reading: the time in which 1 % of the limit fills at the present rate, within 10 and 100 ms; without a
 * limit 250 ms. */
gint64 pacer_tick_us(const Pacer *pacer);

#endif
