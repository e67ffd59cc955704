/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole doctor on days of simulated programs (days.h), each judged repeatedly as its history grows: it never
 * reports a leak in a program without one, and finds a leak within six hours, with its function. JESCOPE_PROOF=N
 * simulates N times as many days, JESCOPE_SEED=N others.
 */
#include "days.h"

#include "doctor/culprit.h"
#include "doctor/judge.h"

#include <math.h>
#include <stdlib.h>

enum { WATCH = 360 }; /* minutes */

/* The input of the doctor. */
typedef enum { BOTH, BOTH_COUNTING, STATISTICS, DUMPS, DUMPS_COUNTING, MODES } Mode;

static const char *const mode_names[MODES] = {
    "statistics and dumps", "statistics and dumps with births", "statistics", "dumps", "dumps with births",
};

static guint
number_of(const char *variable, guint otherwise)
{
    const char *value = g_getenv(variable);
    return value ? (guint)MAX(1, atoi(value)) : otherwise;
}

static Growth *
growth_of(Profile *const *dumps, const gdouble *times, gsize n, ProfileValue value)
{
    g_autoptr(GError) error = NULL;
    Growth *growth = growth_new((const Profile *const *)dumps, times, n, value, &error);
    g_assert_no_error(error);
    return growth;
}

/* Like `jescope doctor` with dumps. */
static void
find_culprits(Profile *const *dumps, const gdouble *times, gsize n, const DoctorClasses *classes,
              DoctorEvidence *evidence)
{
    static const SymbolizeOptions offline = {.no_cache = TRUE, .sysroot = "/nonexistent"};
    g_autoptr(GError) error = NULL;
    g_autoptr(Growth) growth = growth_of(dumps, times, n, PROFILE_INUSE_SPACE);
    g_autoptr(Growth) objects = growth_of(dumps, times, n, PROFILE_INUSE_OBJECTS);
    gboolean counts = profile_total(dumps[0])->estimate[PROFILE_ALLOC_SPACE] > 0;
    g_autoptr(Growth) births = counts ? growth_of(dumps, times, n, PROFILE_ALLOC_SPACE) : NULL;
    g_autoptr(Symbols) names = symbolize(growth_profile(growth), &offline, &error);
    g_assert_no_error(error);
    ReportOptions options;
    report_options_init(&options);
    ReportInput input = {.profile = growth_profile(growth), .symbols = names, .name = "day"};
    g_autoptr(View) view = view_new(&input, NULL, &options, &error);
    g_assert_no_error(error);
    evidence->profile = DOCTOR_PROFILE_WHOLE;
    evidence->profiled_seconds = times[n - 1] - times[0];
    const CulpritInput culprits = {.growth = growth,
                                   .objects = objects,
                                   .births = births,
                                   .view = view,
                                   .names = names,
                                   .classes = classes->seconds > 0 ? classes : NULL};
    culprit_find(&culprits, evidence);
}

/* Judges MINUTES of the day, from the minute FROM on. */
static void
look(const Day *day, Mode mode, guint from, guint minutes, DoctorReport *report)
{
    g_auto(DoctorEvidence) evidence = {0};
    g_auto(DoctorClasses) classes = {0};
    guint longer = MAX(1, minutes / WATCH);

    doctor_evidence_init(&evidence);
    for (guint i = 0; i <= minutes && mode < DUMPS; i += longer) {
        DoctorMoment moment = {.seconds = 60 * i,
                               .sample = stats_sample_ref(day->moments[from + i]),
                               .rss = stats_values_or(day->moments[from + i]->totals, STATS_RESIDENT, 0),
                               .peak = G_MAXUINT64,
                               .threads = G_MAXUINT64,
                               .descriptors = G_MAXUINT64,
                               .processor_ms = G_MAXUINT64};
        g_array_append_val(evidence.moments, moment);
    }
    doctor_classes(evidence.moments, &classes);
    if (mode != STATISTICS) {
        Profile *dumps[WATCH / DUMP_EVERY + 1];
        gdouble times[WATCH / DUMP_EVERY + 1];
        Profile *const *all = mode == BOTH_COUNTING || mode == DUMPS_COUNTING ? day->counting : day->dumps;
        gsize n = 0;
        for (guint i = 0; i <= minutes; i += DUMP_EVERY * longer) {
            times[n] = 60 * i;
            dumps[n++] = all[(from + i) / DUMP_EVERY];
        }
        find_culprits(dumps, times, n, &classes, &evidence);
    }
    doctor_judge(&evidence, &classes, report);
}

static gboolean
is_leak(const DoctorFinding *finding)
{
    return finding->cause == CAUSE_HEAP_LEAK || finding->cause == CAUSE_UNLOADED_CODE;
}

static const char *
function_of(const DoctorFinding *finding)
{
    return finding->functions->len > 0 ? finding->functions->pdata[0] : "";
}

static guint
alarms_in(const Day *day, const DaysChoice *choice, Mode mode, guint from, guint minutes)
{
    g_auto(DoctorReport) report = {0};
    guint alarms = 0;

    look(day, mode, from, minutes, &report);
    for (guint i = 0; i < report.findings->len; i++) {
        const DoctorFinding *finding = report.findings->pdata[i];
        if (!is_leak(finding))
            continue;
        g_test_message("%s (seed %u), %s, minutes %u to %u: %s grows by %.2f MiB/h (%.2f to %.2f)",
                       days_names[choice->program], choice->seed, mode_names[mode], from, from + minutes,
                       function_of(finding), finding->rate * 3600 / DAYS_MIB, finding->low * 3600 / DAYS_MIB,
                       finding->high * 3600 / DAYS_MIB);
        alarms = 1;
    }
    return alarms;
}

static guint
look_every(guint step, const DaysChoice *choice)
{
    Day day;
    guint alarms = 0;

    day_init(&day, choice);
    for (Mode i = 0; i < MODES; i++) {
        /* Without births, the samples of a load that rises for six hours look like those of a leak. */
        gboolean alike = choice->program == DAYS_DIURNAL && i == DUMPS;
        for (guint from = 0; from + WATCH <= DAY && !alike; from += step)
            alarms += alarms_in(&day, choice, i, from, WATCH);
        alarms += alarms_in(&day, choice, i, 0, DAY);
    }
    day_clear(&day);
    return alarms;
}

static void
test_no_false_alarms(void)
{
    guint days = number_of("JESCOPE_PROOF", 1), seed = number_of("JESCOPE_SEED", 1) * 1000000, alarms = 0;
    guint step = days > 1 ? WATCH / 2 : WATCH;

    for (guint program = 0; program < DAYS_PROGRAMS; program++) {
        guint own = 0;
        for (guint i = 0; i < days; i++) {
            const DaysChoice choice = {.program = program, .seed = seed++};
            own += look_every(step, &choice);
        }
        g_test_message("%s: %u days, %u false alarms", days_names[program], days, own);
        alarms += own;
    }
    g_assert_cmpuint(alarms, ==, 0);
}

/* How often a leak of one rate was found in a program, and its rate was within the interval. */
typedef struct {
    guint looks, found[MODES], named[MODES], inside[MODES];
} Tally;

static void
look_for_leak(const Day *day, const DaysChoice *choice, guint from, Tally *tally)
{
    const gdouble truth = choice->leak * DAYS_MIB / 3600;

    tally->looks++;
    for (Mode mode = 0; mode < MODES; mode++) {
        g_auto(DoctorReport) report = {0};
        look(day, mode, from, WATCH, &report);
        const DoctorFinding *first = report.findings->len > 0 ? report.findings->pdata[0] : NULL;
        if (!first || !is_leak(first))
            continue;
        tally->found[mode]++;
        tally->named[mode] += g_str_equal(function_of(first), "session_store");
        tally->inside[mode] += first->low <= truth && truth <= first->high;
    }
}

static void
add_tally(Tally *sum, const Tally *tally)
{
    sum->looks += tally->looks;
    for (Mode mode = 0; mode < MODES; mode++) {
        sum->found[mode] += tally->found[mode];
        sum->named[mode] += tally->named[mode];
        sum->inside[mode] += tally->inside[mode];
    }
}

static void
say_tally(const char *what, gdouble rate, const Tally *tally)
{
    for (Mode mode = 0; mode < MODES; mode++)
        g_test_message("%s, %.0f MiB/h, %s: of %u looks found %u, named %u, rate inside %u", what, rate,
                       mode_names[mode], tally->looks, tally->found[mode], tally->named[mode], tally->inside[mode]);
}

/* A leak of this rate in each of the programs. */
static void
look_at_leaks(gdouble rate, guint days, guint *seed, Tally *all)
{
    static const guint sizes[] = {64, 512, 4096, 65536};

    for (guint program = 0; program < DAYS_PROGRAMS; program++) {
        Tally tally = {0};
        for (guint i = 0; i < days; i++, ++*seed) {
            const DaysChoice choice = {program, *seed, rate, sizes[*seed % G_N_ELEMENTS(sizes)]};
            Day day;
            day_init(&day, &choice);
            for (guint from = 0; from + WATCH <= DAY; from += WATCH)
                look_for_leak(&day, &choice, from, &tally);
            day_clear(&day);
        }
        say_tally(days_names[program], rate, &tally);
        add_tally(all, &tally);
    }
    say_tally("all programs", rate, all);
}

static void
test_leaks_are_named(void)
{
    static const gdouble rates[] = {1, 2, 8};
    guint days = number_of("JESCOPE_PROOF", 1), seed = number_of("JESCOPE_SEED", 1) * 1000000 + 500000;

    for (gsize i = 0; i < G_N_ELEMENTS(rates); i++) {
        Tally all = {0};
        look_at_leaks(rates[i], days, &seed, &all);
        /* A leak is hidden if the program's memory fluctuates in the same size class. */
        g_assert_cmpuint(all.named[BOTH], >=, all.looks * (rates[i] < 8 ? 90 : 95) / 100);
        g_assert_cmpuint(all.named[BOTH_COUNTING], >=, all.looks * (rates[i] < 8 ? 90 : 95) / 100);
        g_assert_cmpuint(all.inside[BOTH], >=, all.found[BOTH] * 80 / 100);
    }
}

/* Each was once a false alarm: a size class of a cache at its limit, whose number of objects fluctuates; a sawtooth
 * that beats with the readings; and a cache that is almost full, in whose size class others allocate and free. */
static void
test_alarms_of_the_past(void)
{
    static const struct {
        DaysChoice choice;
        guint from, minutes;
        Mode mode;
    } looks[] = {{{DAYS_CACHE, 61000116, 0, 64}, 180, WATCH, STATISTICS},
                 {{DAYS_SAWTOOTH, 62000195, 0, 64}, 0, DAY, STATISTICS},
                 {{DAYS_FILLING, 301000060, 0, 0}, 360, WATCH, BOTH},
                 {{DAYS_FILLING, 301000075, 0, 0}, 360, WATCH, BOTH_COUNTING}};

    for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
        Day day;
        day_init(&day, &looks[i].choice);
        g_assert_cmpuint(alarms_in(&day, &looks[i].choice, looks[i].mode, looks[i].from, looks[i].minutes), ==, 0);
        day_clear(&day);
    }
}

/* Leaks beside a load that rises, and in the size class of a program that fluctuates, turns over, or drifts. */
static void
test_hidden_leaks(void)
{
    static const struct {
        DaysChoice choice;
        guint from;
    } looks[] = {
        {{DAYS_DIURNAL, 7100008, 2, 64}, 360}, {{DAYS_DIURNAL, 7100001, 8, 512}, 720},
        {{DAYS_NOISE, 7000006, 1, 4096}, 360}, {{DAYS_CONNECTIONS, 7000007, 1, 4096}, 720},
        {{DAYS_DRIFT, 7000006, 8, 4096}, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
        Tally tally = {0};
        Day day;
        day_init(&day, &looks[i].choice);
        look_for_leak(&day, &looks[i].choice, looks[i].from, &tally);
        g_assert_cmpuint(tally.named[BOTH], ==, 1);
        g_assert_cmpuint(tally.named[BOTH_COUNTING], ==, 1);
        day_clear(&day);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/days/no-false-alarms", test_no_false_alarms);
    g_test_add_func("/doctor/days/leaks-are-named", test_leaks_are_named);
    g_test_add_func("/doctor/days/alarms-of-the-past", test_alarms_of_the_past);
    g_test_add_func("/doctor/days/hidden-leaks", test_hidden_leaks);
    return g_test_run();
}
