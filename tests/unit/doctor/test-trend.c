/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated programs: their live bytes every minute over six hours, judged in windows. JESCOPE_PROOF=N simulates N
 * times as many days.
 */
#include "doctor/trend.h"

#include <math.h>
#include <stdlib.h>

#define MIB ((gdouble)(1 << 20))

enum { MINUTES = 360, DAYS = 12, WINDOWS_A_DAY = 4 };

static gdouble
noise(GRand *random)
{
    gdouble sum = 0;
    for (guint i = 0; i < 12; i++)
        sum += g_rand_double(random) - 0.5;
    return sum;
}

/* Live bytes MINUTE minutes after the start; each program keeps its state in STATE. */
typedef gdouble Program(guint minute, gdouble *state, GRand *random);

/* Misses fill it with a time constant of 20 minutes. */
static gdouble
filling_cache(guint minute, gdouble *state, GRand *random)
{
    return 50 * MIB + 200 * MIB * (1 - exp(-(gdouble)minute / 20)) + 0.2 * MIB * noise(random);
}

static gdouble
full_cache(guint minute, gdouble *state, GRand *random)
{
    return 300 * MIB + 0.5 * MIB * noise(random);
}

static gdouble
warm_up(guint minute, gdouble *state, GRand *random)
{
    return 100 * MIB + MIN(minute, 5) * 10 * MIB + 0.1 * MIB * noise(random);
}

static gdouble
sawtooth(guint minute, gdouble *state, GRand *random)
{
    if (*state == 0)
        *state = 37 + g_rand_double(random) * 20;
    return 80 * MIB + 60 * MIB * fmod(minute, *state) / *state + MIB * noise(random);
}

static gdouble
swinging(guint minute, gdouble *state, GRand *random)
{
    return 100 * MIB * g_rand_double_range(random, 0.7, 1.3);
}

/* A batch of five minutes every hour. */
static gdouble
batch(guint minute, gdouble *state, GRand *random)
{
    return 60 * MIB + (minute % 60 < 5 ? 150 * MIB : 0) + 0.3 * MIB * noise(random);
}

/* A random walk that reverts to its mean. */
static gdouble
drifting(guint minute, gdouble *state, GRand *random)
{
    *state = 0.9 * *state + MIB * noise(random);
    return 200 * MIB + *state;
}

/* A daily load that is zero at night. */
static gdouble
diurnal(guint minute, gdouble *state, GRand *random)
{
    return 100 * MIB + 40 * MIB * (1 - cos(2 * G_PI * minute / 1440)) / 2 + 0.5 * MIB * noise(random);
}

static const struct {
    const char *name;
    Program *program;
    guint first; /* minute of the window */
    guint step;  /* minutes between values; the watch has MINUTES values */
} healthy[] = {
    {"cache that fills", filling_cache, 0, 1},
    {"cache that is full", full_cache, 0, 1},
    {"warm-up", warm_up, 0, 1},
    {"sawtooth", sawtooth, 0, 1},
    {"swings by 30 %", swinging, 0, 1},
    {"batch", batch, 0, 1},
    {"drift", drifting, 0, 1},
    {"days", diurnal, 0, 12},
};

static guint
days(void)
{
    const char *proof = g_getenv("JESCOPE_PROOF");
    return DAYS * (proof ? (guint)MAX(1, atoi(proof)) : 1);
}

static void
watch(Program *program, guint step, gdouble leak_per_hour, GRand *random, DoctorTrend *trend)
{
    gdouble times[MINUTES], values[MINUTES], state = 0;

    for (guint i = 0; i < MINUTES; i++) {
        times[i] = 60.0 * i * step;
        values[i] = program(i * step, &state, random) + leak_per_hour * i * step / 60;
    }
    doctor_trend(times, values, MINUTES, trend);
}

static void
test_no_false_alarms(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    guint alarms = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(healthy); i++) {
        for (guint run = 0; run < days() * WINDOWS_A_DAY; run++) {
            DoctorTrend trend;
            watch(healthy[i].program, healthy[i].step, 0, random, &trend);
            if (trend.grows && !trend.slows) {
                g_test_message("%s: %.2f MiB/h", healthy[i].name, trend.rate * 3600 / MIB);
                alarms++;
            }
        }
    }
    g_assert_cmpuint(alarms, ==, 0);
}

/* Leaks in a quiet program, after a warm-up, and in a program that drifts. */
static void
test_leaks_are_seen(void)
{
    static const struct {
        Program *program;
        gdouble leak; /* MiB an hour */
    } programs[] = {{full_cache, 1}, {warm_up, 1.5}, {drifting, 8}};
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
        guint seen = 0, runs = days();
        for (guint run = 0; run < runs; run++) {
            DoctorTrend trend;
            watch(programs[i].program, 1, programs[i].leak * MIB, random, &trend);
            seen += trend.grows && !trend.slows;
        }
        g_test_message("program %u: %u of %u", (guint)i, seen, runs);
        g_assert_cmpuint(seen, ==, runs);
    }
}

/* The interval of the rate contains the true rate about as often as it should. */
static void
test_interval(void)
{
    enum { RUNS = 400 };
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    guint inside = 0;

    for (guint run = 0; run < RUNS; run++) {
        DoctorTrend trend;
        watch(full_cache, 1, 10 * MIB, random, &trend);
        inside += trend.low <= 10 * MIB / 3600 && 10 * MIB / 3600 <= trend.high;
    }
    g_test_message("%u of %u", inside, RUNS);
    g_assert_cmpuint(inside, >=, RUNS * 92 / 100);
}

static void
test_small_series(void)
{
    static const gdouble times[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    gdouble leak[9], late[9];
    DoctorTrend trend;

    for (guint i = 0; i < 9; i++) {
        leak[i] = 50 * MIB + i * MIB;
        late[i] = 50 * MIB + (i > 3 ? (i - 3) * 3 * MIB : 0);
    }
    doctor_trend(times, leak, 3, &trend);
    g_assert_false(trend.grows);
    g_assert_true(isinf(trend.detectable));
    doctor_trend(times, leak, 9, &trend);
    g_assert_true(trend.grows && !trend.slows);
    g_assert_cmpfloat_with_epsilon(trend.rate, MIB, 1);
    g_assert_true(trend.low <= MIB && MIB <= trend.high);
    doctor_trend(times, late, 9, &trend);
    g_assert_cmpfloat(trend.onset, ==, 3);
    /* A startup that is over. */
    for (guint i = 0; i < 9; i++)
        late[i] = 50 * MIB + MIN(i, 4) * 3 * MIB;
    doctor_trend(times, late, 9, &trend);
    g_assert_false(trend.grows);
    for (guint i = 0; i < 9; i++)
        leak[i] = 50 * MIB;
    doctor_trend(times, leak, 9, &trend);
    g_assert_false(trend.grows);
    g_assert_cmpfloat_with_epsilon(trend.detectable, TREND_LEAST / 8.0, 1);
}

/* A startup of hundreds of MiB, with and without a leak of 1 MiB/h after it. */
static void
test_behind_a_start(void)
{
    for (guint leaks = 0; leaks < 2; leaks++) {
        gdouble times[MINUTES], values[MINUTES];
        DoctorTrend trend;
        for (guint i = 0; i < MINUTES; i++) {
            times[i] = 60 * i;
            values[i] = MIN(i, 20) * 20 * MIB + leaks * MIB * i / 60 + (i % 7) * MIB / 100;
        }
        doctor_trend(times, values, MINUTES, &trend);
        g_assert_cmpint(trend.grows && !trend.slows, ==, leaks == 1);
        if (leaks == 0)
            continue;
        g_assert_true(trend.low <= MIB / 3600 && MIB / 3600 <= trend.high);
        g_assert_cmpfloat(trend.onset, >=, 20 * 60);
    }
}

/* A cache that still fills in the second half, with a time constant as long as the watch. */
static void
test_goes_on_filling(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    guint alarms = 0;

    for (guint i = 0; i < DAYS * WINDOWS_A_DAY; i++) {
        gdouble times[MINUTES], values[MINUTES];
        DoctorTrend trend;
        for (guint j = 0; j < MINUTES; j++) {
            times[j] = 60 * j;
            values[j] = 48 * MIB - 10.5 * MIB * exp(-(gdouble)j / 145) + 0.1 * MIB * noise(random);
        }
        doctor_trend(times, values, MINUTES, &trend);
        alarms += trend.grows && !trend.slows;
    }
    g_test_message("%u of %u", alarms, DAYS * WINDOWS_A_DAY);
    g_assert_cmpuint(alarms, ==, 0);
}

/* A random walk is not growth, however far it gets; the same distance in even steps is. */
static void
test_wanders(void)
{
    gdouble times[MINUTES], values[MINUTES];
    DoctorTrend trend;

    for (guint i = 0; i < MINUTES; i++) {
        times[i] = 60 * i;
        values[i] =
            200 * MIB + (i >= 100) * 12 * MIB + (i >= 150) * 9 * MIB + (i >= 310) * 15 * MIB + (i % 7) * MIB / 10;
    }
    doctor_trend(times, values, MINUTES, &trend);
    g_assert_false(trend.grows);
    g_assert_cmpfloat(trend.detectable, >, 36 * MIB / 60 / MINUTES);
    for (guint i = 0; i < MINUTES; i++)
        values[i] = 200 * MIB + i / 10 * MIB + (i % 7) * MIB / 10;
    doctor_trend(times, values, MINUTES, &trend);
    g_assert_true(trend.grows);
}

/* Objects that live for ten minutes, of which more and more are allocated; a leak of a tenth of an even load; and a
 * leak of all of a load that rises. */
static void
test_follows(void)
{
    gdouble times[MINUTES], load[MINUTES], leak[MINUTES], made[MINUTES], even[MINUTES], sum = 0;
    DoctorLoad found;

    for (guint i = 0; i < MINUTES; i++) {
        times[i] = 60 * i;
        sum += (1 + i / (gdouble)MINUTES) * MIB;
        made[i] = sum;
        load[i] = 50 * MIB + sum - (i >= 10 ? made[i - 10] : 0);
        even[i] = MIB * i;
        leak[i] = 50 * MIB + even[i] / 10;
    }
    g_assert_true(doctor_follows(times, load, made, MINUTES, &found));
    g_assert_cmpfloat_with_epsilon(found.to / found.from, 1.65, 0.2);
    g_assert_false(doctor_follows(times, leak, even, MINUTES, &found));
    g_assert_false(doctor_follows(times, made, made, MINUTES, &found));
    g_assert_false(doctor_follows(times, load, made, 20, &found));
}

/* A watch of 8 s at 250 ms, of which a busy machine left 28 readings: objects live for one second. */
static void
test_follows_briefly(void)
{
    enum { READINGS = 28, LIFE = 3 };
    gdouble times[READINGS], load[READINGS], made[READINGS], sum = 0;
    DoctorLoad found;

    for (guint i = 0; i < READINGS; i++) {
        times[i] = i / 3.0;
        sum += (1 + i / (gdouble)READINGS) * MIB;
        made[i] = sum;
        load[i] = 20 * MIB + sum - (i >= LIFE ? made[i - LIFE] : 0);
    }
    g_assert_true(doctor_follows(times, load, made, READINGS, &found));
    g_assert_false(doctor_follows(times, made, made, READINGS, &found));
}

/* Live bytes that seem to follow a rate of allocation that hardly rises: the objects would have to live for days. */
static void
test_lives_too_long(void)
{
    gdouble times[MINUTES], values[MINUTES], made[MINUTES], sum = 0;
    DoctorLoad found;

    for (guint i = 0; i < MINUTES; i++) {
        times[i] = 60 * i;
        sum += (1 + i / (gdouble)MINUTES / 4) * MIB / 4;
        made[i] = sum;
        values[i] = 50 * MIB + i * MIB / 9;
    }
    g_assert_false(doctor_follows(times, values, made, MINUTES, &found));
}

/* Beside a daily load that rises for six hours: a leak, a part of the load, and both together. */
static void
test_outgrows(void)
{
    static const struct {
        gdouble leak, part; /* MiB an hour; of the load */
        gdouble noise;
        gboolean outgrows;
    } cases[] = {
        {1, 0, 0, TRUE}, {0, 0.1, 0, FALSE}, {1, 0.01, 0, TRUE}, {1, 0.5, 0, FALSE}, {1, 0, 6e15, FALSE},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(4);

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        gdouble times[MINUTES], load[MINUTES], values[MINUTES];
        for (guint j = 0; j < MINUTES; j++) {
            times[j] = 60 * j;
            load[j] = 50 * MIB * (1 - cos(G_PI * j / MINUTES)) + MIB * noise(random);
            values[j] = cases[i].leak * MIB * j / 60 + cases[i].part * load[j] + MIB / 20 * noise(random);
        }
        g_assert_cmpint(doctor_outgrows(times, values, load, MINUTES, cases[i].noise), ==, cases[i].outgrows);
    }
    g_assert_false(doctor_outgrows(&(gdouble){0}, &(gdouble){0}, &(gdouble){0}, 1, 0));
}

/* A sawtooth that beats with the readings, of which four take a little more than a period. The same rise beyond the
 * resolution of its low-water marks is growth. */
static void
test_beat(void)
{
    enum { READINGS = 361 };

    for (guint leaks = 0; leaks < 2; leaks++) {
        gdouble times[READINGS], values[READINGS];
        DoctorTrend trend;
        for (guint i = 0; i < READINGS; i++) {
            times[i] = 240 * i;
            values[i] = 33 * MIB + 63 * MIB * fmod(4.0 * i, 15.967) / 15.967 + leaks * 0.3 * MIB * i;
        }
        doctor_trend(times, values, READINGS, &trend);
        g_test_message("%.2f MiB/h", trend.rate * 3600 / MIB);
        g_assert_cmpint(trend.grows, ==, leaks == 1);
    }
}

/* Objects of one size that come and go independently, and those of a leak beside others that live briefly. */
static void
test_turnover(void)
{
    static const struct {
        DoctorTurnover turnover;
        gboolean grows;
    } cases[] = {
        {{57344, 269, 213, 670}, FALSE}, /* a size class of a cache at its limit: its number of objects fluctuates */
        {{65536, 96, 0, 100}, TRUE},         {{4096, 5100, 3600, 2200}, TRUE},
        {{4096, 101500, 100000, 800}, TRUE}, {{4096, 0, 0, 0}, TRUE},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const DoctorTurnover *turnover = &cases[i].turnover;
        DoctorTrend trend = {.grows = TRUE, .rate = turnover->size * (turnover->births - turnover->deaths) / 21600};
        doctor_trend_doubt(&trend, turnover, 21600, 44);
        g_assert_cmpint(trend.grows, ==, cases[i].grows);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/trend/no-false-alarms", test_no_false_alarms);
    g_test_add_func("/doctor/trend/leaks-are-seen", test_leaks_are_seen);
    g_test_add_func("/doctor/trend/interval", test_interval);
    g_test_add_func("/doctor/trend/small-series", test_small_series);
    g_test_add_func("/doctor/trend/behind-a-start", test_behind_a_start);
    g_test_add_func("/doctor/trend/goes-on-filling", test_goes_on_filling);
    g_test_add_func("/doctor/trend/wanders", test_wanders);
    g_test_add_func("/doctor/trend/follows", test_follows);
    g_test_add_func("/doctor/trend/follows-briefly", test_follows_briefly);
    g_test_add_func("/doctor/trend/lives-too-long", test_lives_too_long);
    g_test_add_func("/doctor/trend/outgrows", test_outgrows);
    g_test_add_func("/doctor/trend/beat", test_beat);
    g_test_add_func("/doctor/trend/turnover", test_turnover);
    return g_test_run();
}
