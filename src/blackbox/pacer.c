/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/pacer.h"

enum {
    STEP_PERCENT = 5,
    STEP_LIMITED = 1 << 20,
    STEP_UNLIMITED = 64 << 20,
    TICK_MIN_US = 10000,
    TICK_MAX_US = 100000,
    TICK_UNLIMITED_US = 250000,
    TICK_FILLS_PERCENT = 1,
    NEAR_STEPS_PERCENT = 1, /* minimum growth since the last snapshot for another one near the limit */
    REST = 9,      /* pause after a snapshot, as a multiple of stall_us: dumps take at most a tenth of the time */
    REST_NEAR = 1, /* the same near the limit: at most half of the time */
    PRESSURE_EVERY_US = 10000000,
    STALLED_PERCENT = 10, /* of the time since the last reading */
};

static const char *const names[PACER_REASONS] = {"none",       "first",           "grew",
                                                 "near limit", "memory pressure", "systemd-oomd"};

const char *
pacer_reason_name(PacerReason reason)
{
    return names[reason];
}

guint64
pacer_step(guint64 used, guint64 limit)
{
    return limit != G_MAXUINT64 ? MAX(limit / 100 * STEP_PERCENT, (guint64)STEP_LIMITED)
                                : MAX(used / 100 * STEP_PERCENT, (guint64)STEP_UNLIMITED);
}

gint64
pacer_tick_us(const Pacer *pacer)
{
    if (pacer->last.limit == G_MAXUINT64)
        return TICK_UNLIMITED_US;
    if (pacer->rate <= 0)
        return TICK_MAX_US;
    gdouble us = (gdouble)(pacer->last.limit / 100 * TICK_FILLS_PERCENT) / pacer->rate * G_USEC_PER_SEC;
    return (gint64)CLAMP(us, TICK_MIN_US, TICK_MAX_US);
}

/* Half of the rate is the latest change: it follows a burst quickly, and one large allocation has no lasting effect. */
static void
note_rate(Pacer *pacer, const PacerReading *reading)
{
    gint64 passed = reading->time_us - pacer->last.time_us;
    if (pacer->last.time_us == 0 || passed <= 0)
        return;
    gdouble change = (gdouble)reading->used - (gdouble)pacer->last.used;
    pacer->rate = (pacer->rate + change / (gdouble)passed * G_USEC_PER_SEC) / 2;
}

/* Whether the limit may be reached before a snapshot that begins after another RESTS_US is complete. */
static gboolean
is_reached_within(const Pacer *pacer, const PacerReading *reading, gint64 rests_us)
{
    guint64 left = reading->limit > reading->used ? reading->limit - reading->used : 0;
    gdouble needed_us = 2 * (gdouble)pacer_tick_us(pacer) + (gdouble)pacer->cost_us + (gdouble)MAX(rests_us, 0);
    return pacer->rate > 0 && (gdouble)left / pacer->rate * G_USEC_PER_SEC < needed_us;
}

/* After growth by a step, the rest of the pause is skipped if the limit may be reached during it. */
static gboolean
is_near_limit(const Pacer *pacer, const PacerReading *reading, gint64 rests_us)
{
    const guint64 grown = reading->used - pacer->base;
    if (reading->limit == G_MAXUINT64)
        return FALSE;
    return (grown >= reading->limit / 100 * NEAR_STEPS_PERCENT && is_reached_within(pacer, reading, 0)) ||
           (grown >= pacer_step(reading->used, reading->limit) && is_reached_within(pacer, reading, rests_us));
}

static gboolean
is_under_pressure(const Pacer *pacer, const PacerReading *before, const PacerReading *reading)
{
    if (before->time_us == 0 || (pacer->pressure_us != 0 && reading->time_us - pacer->pressure_us < PRESSURE_EVERY_US))
        return FALSE;
    gint64 passed = reading->time_us - before->time_us;
    return reading->high_events > before->high_events ||
           (reading->stalled_us > before->stalled_us &&
            reading->stalled_us - before->stalled_us > (guint64)passed / 100 * STALLED_PERCENT);
}

PacerReason
pacer_judge(Pacer *pacer, const PacerReading *reading)
{
    const PacerReading before = pacer->last;
    const gint64 rested = reading->time_us - pacer->ended_us;
    note_rate(pacer, reading);
    pacer->last = *reading;
    pacer->base = MIN(pacer->base, reading->used);
    pacer->pressed = pacer->pressed || is_under_pressure(pacer, &before, reading);
    if (!pacer->begun)
        return PACER_FIRST;
    if (rested >= REST_NEAR * pacer->stall_us && is_near_limit(pacer, reading, REST * pacer->stall_us - rested))
        return PACER_NEAR_LIMIT;
    if (rested < REST * pacer->stall_us)
        return PACER_NOT_YET;
    if (reading->used - pacer->base >= pacer_step(reading->used, reading->limit))
        return PACER_GREW;
    if (!pacer->pressed)
        return PACER_NOT_YET;
    pacer->pressure_us = reading->time_us;
    return PACER_PRESSURE;
}

/* A dump that takes much longer than the previous one has waited for a processor, like the target: on a busy machine, a
 * pause as after a large dump would make the profile too old. */
void
pacer_note(Pacer *pacer, guint64 used, gint64 cost_us, gint64 now_us)
{
    pacer->stall_us = pacer->begun ? MIN(pacer->cost_us, cost_us) : cost_us;
    pacer->cost_us = cost_us;
    pacer->begun = TRUE;
    pacer->pressed = FALSE;
    pacer->base = used;
    pacer->ended_us = now_us;
}
