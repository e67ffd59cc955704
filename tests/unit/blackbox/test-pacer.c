/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/pacer.h"

enum { TICK_US = 100000 };

static const guint64 mib = 1 << 20, gib = 1 << 30;

/* A simulated target, from one reading to the next. */
typedef struct {
    Pacer pacer;
    PacerReading reading;
    gint64 cost_us;
} Course;

static PacerReason
go_to(Course *course, guint64 used)
{
    course->reading.time_us += TICK_US;
    course->reading.used = used;
    PacerReason reason = pacer_judge(&course->pacer, &course->reading);
    if (reason != PACER_NOT_YET) {
        course->reading.time_us += course->cost_us;
        pacer_note(&course->pacer, used, course->cost_us, course->reading.time_us);
    }
    return reason;
}

static Course
begun(guint64 used, guint64 limit)
{
    Course course = {.reading = {.time_us = 1, .limit = limit}, .cost_us = 1000};
    g_assert_cmpint(go_to(&course, used), ==, PACER_FIRST);
    g_assert_cmpint(go_to(&course, used), ==, PACER_NOT_YET);
    return course;
}

static void
test_step(void)
{
    g_assert_cmpuint(pacer_step(0, 100 * gib), ==, 5 * (100 * gib / 100));
    g_assert_cmpuint(pacer_step(0, 2 * mib), ==, mib);
    g_assert_cmpuint(pacer_step(gib, G_MAXUINT64), ==, 64 * mib);
    g_assert_cmpuint(pacer_step(100 * gib, G_MAXUINT64), ==, 5 * (100 * gib / 100));
}

/* Slow growth far from the limit: one snapshot for each step, measured from the minimum since the last one. */
static void
test_grew(void)
{
    Course course = begun(1000 * mib, 10000 * mib);
    for (guint64 used = 1001; used < 1500; used++)
        g_assert_cmpint(go_to(&course, used * mib), ==, PACER_NOT_YET);
    g_assert_cmpint(go_to(&course, 1500 * mib), ==, PACER_GREW);
    g_assert_cmpint(go_to(&course, 1999 * mib), ==, PACER_NOT_YET);
    g_assert_cmpint(go_to(&course, 1200 * mib), ==, PACER_NOT_YET);
    g_assert_cmpint(go_to(&course, 1699 * mib), ==, PACER_NOT_YET);
    g_assert_cmpint(go_to(&course, 1700 * mib), ==, PACER_GREW);
}

/* Growth below a step, but the limit is reached before the next reading but one; not twice at the same usage. */
static void
test_near_limit(void)
{
    Course course = begun(960 * mib, 1000 * mib);
    g_assert_cmpint(go_to(&course, 965 * mib), ==, PACER_NOT_YET);
    PacerReason reason = PACER_NOT_YET;
    guint64 used = 965 * mib;
    while (reason == PACER_NOT_YET && used < 1000 * mib)
        reason = go_to(&course, used += 10 * mib);
    g_assert_cmpint(reason, ==, PACER_NEAR_LIMIT);
    g_assert_cmpuint(used, <, 1000 * mib);
    g_assert_cmpint(go_to(&course, used), ==, PACER_NOT_YET);
}

/* Dumps take at most a tenth of the time. */
static void
test_budget(void)
{
    Course course = begun(gib, G_MAXUINT64);
    course.cost_us = 1000000;
    g_assert_cmpint(go_to(&course, 2 * gib), ==, PACER_GREW);
    g_assert_cmpint(go_to(&course, 3 * gib), ==, PACER_GREW);
    guint waited = 0;
    for (guint64 used = 4 * gib; go_to(&course, used) == PACER_NOT_YET; used += gib)
        waited++;
    g_assert_cmpuint(waited, >=, 88);
    g_assert_cmpuint(waited, <=, 90);
}

/* Grows by RATE bytes per second up to the limit, with dumps of COST_US. Returns the age of the last dump at that
 * moment, in microseconds. */
static gint64
age_at_limit(guint64 limit, guint64 rate, gint64 cost_us)
{
    Pacer pacer = {0};
    PacerReading reading = {.time_us = 1, .limit = limit};
    gint64 taken_us = 0;
    while (reading.used < limit) {
        const gint64 began_us = reading.time_us;
        if (pacer_judge(&pacer, &reading) != PACER_NOT_YET) {
            reading.time_us += cost_us;
            pacer_note(&pacer, reading.used, cost_us, reading.time_us);
            /* A dump that ends after the process has been killed is not kept. */
            if (rate * (guint64)reading.time_us / G_USEC_PER_SEC < limit)
                taken_us = began_us;
        }
        reading.time_us += pacer_tick_us(&pacer);
        reading.used = rate * (guint64)reading.time_us / G_USEC_PER_SEC;
    }
    return (gint64)(limit * G_USEC_PER_SEC / rate) - taken_us;
}

/* Dumps of one second, as with many stacks or on a busy machine, are followed by a pause of nine seconds, unless the
 * limit is reached during it. */
static void
test_slow_dumps(void)
{
    static const gint64 costs_us[] = {20000, 200000, 1000000};
    for (gsize i = 0; i < G_N_ELEMENTS(costs_us); i++)
        for (guint64 seconds = 1; seconds <= 60; seconds++) {
            const guint64 rate = gib / seconds;
            const gint64 age_us = age_at_limit(gib, rate, costs_us[i]);
            const gboolean fresh = (guint64)age_us * rate / G_USEC_PER_SEC <= gib / 20;
            g_test_message("%u s, dumps of %d ms: %d ms old", (guint)seconds, (int)(costs_us[i] / 1000),
                           (int)(age_us / 1000));
            g_assert_true(fresh || age_us <= MAX(G_USEC_PER_SEC, 3 * costs_us[i] + 250000));
        }
}

static void
test_pressure(void)
{
    Course course = begun(gib, 10 * gib);
    course.reading.high_events++;
    g_assert_cmpint(go_to(&course, gib), ==, PACER_PRESSURE);
    course.reading.high_events++;
    g_assert_cmpint(go_to(&course, gib), ==, PACER_NOT_YET); /* at least ten seconds apart */
    course.reading.time_us += 20 * G_USEC_PER_SEC;
    g_assert_cmpint(go_to(&course, gib), ==, PACER_NOT_YET);
    course.reading.stalled_us += TICK_US / 20;
    g_assert_cmpint(go_to(&course, gib), ==, PACER_NOT_YET);
    course.reading.stalled_us += TICK_US / 5;
    g_assert_cmpint(go_to(&course, gib), ==, PACER_PRESSURE);
}

/* Pressure during the pause after a slow dump leads to a snapshot after the pause. */
static void
test_pressure_in_the_rest(void)
{
    Course course = begun(gib, 10 * gib);
    course.cost_us = 1000000;
    g_assert_cmpint(go_to(&course, 2 * gib), ==, PACER_GREW);
    g_assert_cmpint(go_to(&course, 3 * gib), ==, PACER_GREW);
    course.reading.high_events++;
    guint waited = 0;
    PacerReason reason;
    while ((reason = go_to(&course, 3 * gib)) == PACER_NOT_YET && waited < 200)
        waited++;
    g_assert_cmpint(reason, ==, PACER_PRESSURE);
    g_assert_cmpuint(waited, >=, 88);
    g_assert_cmpuint(waited, <=, 90);
}

/* A dump that has waited for a processor does not make the pause longer; a second one does. */
static void
test_one_slow_dump(void)
{
    Course course = begun(1000 * mib, 10000 * mib);
    course.cost_us = 1000000;
    g_assert_cmpint(go_to(&course, 1500 * mib), ==, PACER_GREW);
    g_assert_cmpint(go_to(&course, 2000 * mib), ==, PACER_GREW);
    for (guint ticks = 1; ticks < 90; ticks++)
        g_assert_cmpint(go_to(&course, 2500 * mib), ==, PACER_NOT_YET);
    g_assert_cmpint(go_to(&course, 2500 * mib), ==, PACER_GREW);
}

/* The interval is shorter the faster the target grows: 1 % of the limit. */
static void
test_tick(void)
{
    Course idle = begun(gib, 10 * gib);
    g_assert_cmpint(pacer_tick_us(&idle.pacer), ==, 100000);
    Course burst = begun(gib, 10 * gib);
    go_to(&burst, 2 * gib);
    g_assert_cmpint(pacer_tick_us(&burst.pacer), <, 30000);
    go_to(&burst, 6 * gib);
    g_assert_cmpint(pacer_tick_us(&burst.pacer), ==, 10000);
    Course unlimited = begun(gib, G_MAXUINT64);
    g_assert_cmpint(pacer_tick_us(&unlimited.pacer), ==, 250000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pacer/step", test_step);
    g_test_add_func("/pacer/grew", test_grew);
    g_test_add_func("/pacer/near-limit", test_near_limit);
    g_test_add_func("/pacer/budget", test_budget);
    g_test_add_func("/pacer/slow-dumps", test_slow_dumps);
    g_test_add_func("/pacer/one-slow-dump", test_one_slow_dump);
    g_test_add_func("/pacer/pressure", test_pressure);
    g_test_add_func("/pacer/pressure-in-the-rest", test_pressure_in_the_rest);
    g_test_add_func("/pacer/tick", test_tick);
    return g_test_run();
}
