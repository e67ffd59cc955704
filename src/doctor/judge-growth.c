/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

#include <math.h>
#include <stddef.h>

/* The thresholds of causes.def. */
static const gdouble STACK_LEAST = 2 * MIB;   /* minimum growth that dumps alone show */
static const gdouble URGENT_RATE = 0.2 * MIB; /* bytes per second; or URGENT_SHARE of the memory per minute */
static const gdouble URGENT_SHARE = 0.01;
static const gdouble NOTABLE_STACK = 0.1; /* minimum share of the growth */
static const gdouble SIGNIFICANT = 0.05;
static const gdouble TOGETHER = 0.95;   /* minimum correlation of memory and load */
static const gdouble LOAD_LEAST = 0.1;  /* minimum relative rise of the load */
static const gdouble LONG_WATCH = 7200; /* seconds: minimum for unfreed samples, and for durations in hours */
static const gdouble RATE_UNSURE = 0.5; /* relative error of what a leak would hold at a constant rate */
static const gdouble CONTRADICTION = 2; /* standard errors */
static const gdouble LEAST_KNOWN = 0.6; /* minimum low end of a sampled rate's interval, relative to the rate */
static const gdouble Z95 = 1.96;
static const gdouble HALF_SURE = 0.5;

static gdouble
value_of(const DoctorMoment *moment, gsize offset)
{
    guint64 value = *(const guint64 *)(const void *)((const char *)moment + offset);

    return value == G_MAXUINT64 ? NAN : (gdouble)value;
}

/* The correlation of what the program holds with threads or descriptors; 0 unless those have risen enough. */
static gdouble
follows(const Case *the, gsize offset, gdouble *from, gdouble *to)
{
    const GArray *moments = the->evidence->moments;
    g_autofree gdouble *load = g_new(gdouble, moments->len + 1);
    g_autofree gdouble *held = g_new(gdouble, moments->len + 1);
    gsize n = 0;

    for (guint i = 0; i < moments->len; i++) {
        const DoctorMoment *moment = &g_array_index(moments, DoctorMoment, i);
        uint64_t value;
        if (moment->sample == NULL || isnan(value_of(moment, offset)) ||
            !stats_values_get(moment->sample->totals, STATS_HELD, &value))
            continue;
        load[n] = value_of(moment, offset);
        held[n++] = (gdouble)value;
    }
    if (n < 4)
        return 0;
    *from = load[0];
    *to = load[n - 1];
    return *to - *from >= MAX(LOAD_LEAST * *from, 2) ? doctor_correlation(load, held, n) : 0;
}

static char *
load_sentence(const DoctorLoad *load)
{
    return case_sentence("the rate of allocation rose from %S/s to %S/s, and the live bytes in proportion", load->from,
                         load->to);
}

static gboolean
find_load(Case *the, char **evidence)
{
    static const struct {
        gsize offset;
        const char *what, *each;
    } loads[] = {
        {offsetof(DoctorMoment, descriptors), "open descriptors", "descriptor"},
        {offsetof(DoctorMoment, threads), "threads", "thread"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(loads); i++) {
        gdouble from, to;
        if (follows(the, loads[i].offset, &from, &to) < TOGETHER)
            continue;
        gdouble each = the->classes->rate * the->classes->seconds / (to - from);
        g_autofree char *range = g_strdup_printf("%.0f to %.0f", from, to);
        the->loaded = each * to;
        *evidence = case_sentence("%s rose from %s, and the heap in proportion: %S for each %s", loads[i].what, range,
                                  each, loads[i].each);
        return TRUE;
    }
    if (the->classes->follows)
        *evidence = load_sentence(&the->classes->load);
    return the->classes->follows;
}

/* The bytes of a stack by its samples and by EVER, what it would hold had it leaked at its present rate since the
 * process started: the mean of their logarithms, weighted by their precision; by the samples alone if they contradict
 * EVER. */
static gdouble
bytes_by_both(const DoctorStack *stack, gdouble ever)
{
    gdouble error = stack->bytes > 0 ? stack->error / stack->bytes : INFINITY;

    if (ever <= 0 || error <= 0 || fabs(ever - stack->bytes) > CONTRADICTION * stack->error)
        return stack->bytes;
    gdouble by_samples = 1 / (error * error), by_rate = 1 / (RATE_UNSURE * RATE_UNSURE);
    gdouble part = by_rate / (by_samples + by_rate);
    return stack->bytes > 0 ? pow(stack->bytes, 1 - part) * pow(ever, part) : ever;
}

/* What the program holds in all, by the counters at the end of the watch; infinite if unknown. The samples of jemalloc
 * may say that it is several times as much: a thread's random numbers depend on the address of its data (tsd.c,
 * tsd_data_init()), which short-lived threads have one after the other, so that all sample the same of their
 * allocations. */
static gdouble
held_in_all(const DoctorEvidence *evidence)
{
    const GArray *moments = evidence->moments;
    uint64_t held;

    for (guint i = moments->len; i-- > 0;) {
        const StatsSample *sample = g_array_index(moments, DoctorMoment, i).sample;
        if (sample != NULL && stats_values_get(sample->totals, STATS_HELD, &held))
            return (gdouble)held;
    }
    return INFINITY;
}

/* The bytes held by a leak with this SHARE of the growth: at least its growth during the watch. If sampling is younger
 * than the growth, the profile has only a part of what the stack holds. If it rises with threads or descriptors, those
 * that were there before the watch hold as much each. */
static gdouble
held_by(const Case *the, const DoctorStack *stack, gdouble share)
{
    const DoctorClasses *classes = the->classes;
    gdouble grown = share * classes->rate * classes->seconds, ever = share * classes->rate * the->evidence->age;
    gdouble usual = the->loaded > 0 ? share * the->loaded : ever;
    gboolean sampled = stack != NULL && !stack->recent && the->evidence->profile == DOCTOR_PROFILE_WHOLE;
    gdouble most = classes->bytes > 0 ? share * classes->bytes : grown;

    if (!sampled) {
        gdouble least = MAX(grown, stack != NULL ? stack->bytes : 0);
        return usual > least && usual < most ? usual : MAX(least, most);
    }
    return MAX(grown, MIN(bytes_by_both(stack, ever), held_in_all(the->evidence)));
}

static void
set_growth(const Case *the, DoctorFinding *finding, gdouble share)
{
    const DoctorClasses *classes = the->classes;
    gdouble left = (gdouble)the->evidence->limit - the->memory;

    finding->grows = TRUE;
    finding->rate = share * classes->rate;
    finding->low = share * MAX(0, classes->low);
    finding->high = share * classes->high;
    finding->onset = classes->onset;
    if (the->evidence->limit > 0 && left > 0 && classes->rate > 0)
        finding->hours = left / classes->rate / 3600;
}

static void
say_growth(const Case *the, DoctorFinding *finding)
{
    gboolean hours = the->classes->seconds >= LONG_WATCH;
    g_autofree char *seconds = g_strdup_printf(hours ? "%.1f h" : "%.0f s", the->classes->seconds / (hours ? 3600 : 1));

    case_say(finding,
             case_sentence("live bytes rose by %S/s (95 %% between %S and %S) over %s, with rising low-water marks",
                           finding->rate, finding->low, finding->high, seconds));
    if (the->classes->apart > 0)
        case_say(
            finding,
            case_sentence("excluded: size classes that grew by %S/s in total, but at the end less than half as fast, "
                          "or in proportion to their rate of allocation",
                          the->classes->apart));
    if (the->classes->slows)
        case_say(finding,
                 g_strdup("the growth slowed down to less than half during the watch, and so did the program"));
    else
        case_say_against(finding, CAUSE_CACHE, "the growth did not slow down");
}

/* The exact counters prove that something grows; the samples of the profile only show which function. */
static gdouble
confidence_in(const Case *the, const DoctorStack *stack)
{
    gdouble confidence = the->classes->slows ? 0.5 : 0.95;

    if (stack != NULL && stack->samples < 6)
        confidence -= 0.2;
    return confidence;
}

static DoctorFinding *
add_leak(Case *the, const DoctorStack *stack, gdouble share, const char *load)
{
    CauseId cause = stack != NULL && stack->unloaded ? CAUSE_UNLOADED_CODE
                    : load != NULL                   ? CAUSE_LOAD
                                                     : CAUSE_HEAP_LEAK;
    gdouble bytes = held_by(the, stack, share);
    gdouble rate = share * the->classes->rate;
    gboolean urgent = rate >= URGENT_RATE || rate * 60 >= URGENT_SHARE * the->memory;
    DoctorFinding *finding = case_add(the, urgent ? RANK_GROWTH : RANK_WASTE, cause, bytes);

    case_set_functions(finding, stack);
    set_growth(the, finding, share);
    say_growth(the, finding);
    finding->confidence = confidence_in(the, stack);
    if (stack != NULL) {
        g_autofree char *percent = g_strdup_printf("%.0f %%", 100 * share);
        g_autofree char *samples = g_strdup_printf("%.0f", stack->samples);
        case_say(finding, case_sentence("%s of the growth is allocated through %s (about %s samples)", percent,
                                        (const char *)stack->functions->pdata[0], samples));
        case_say_unloaded(finding, stack);
    }
    if (load != NULL)
        case_say(finding, g_strdup(load));
    else
        case_say_against(finding, CAUSE_LOAD,
                         "neither threads, open descriptors nor the rate of allocation rose in proportion");
    return finding;
}

/* The trend of a stack, with its interval widened by the randomness of sampling. */
static DoctorTrend
trend_by_samples(const DoctorEvidence *evidence, const DoctorStack *stack)
{
    DoctorTrend trend = stack->trend;

    doctor_trend_widen(&trend, stack->grown * stack->grown / MAX(stack->samples, 1), evidence->profiled_seconds);
    return trend;
}

/* Whether a stack has grown beyond chance. With few dumps, only the first and the last count; with many, it must grow
 * steadily, and more than temporary memory does at times. */
static gboolean
has_grown(const DoctorEvidence *evidence, const DoctorStack *stack)
{
    enum { MANY = 12 };
    DoctorTrend trend = trend_by_samples(evidence, stack);

    if (stack->p >= SIGNIFICANT / 5 || stack->grown < STACK_LEAST || evidence->profiled_seconds <= 0)
        return FALSE;
    return stack->dumps < MANY || (trend.grows && !trend.behind && trend.recent >= TREND_STEADY * trend.rate &&
                                   trend.low >= LEAST_KNOWN * trend.rate);
}

gdouble
case_detectable(const DoctorEvidence *evidence)
{
    const DoctorTrend *trend = &evidence->profile_trend;

    return MAX(trend->detectable, (trend->high - trend->low) / 2 / (1 - LEAST_KNOWN));
}

static void
set_growth_of_dumps(const DoctorEvidence *evidence, const DoctorStack *stack, DoctorFinding *finding)
{
    gdouble error = sqrt(MAX(stack->grown, 1) * stack->grown / MAX(stack->samples, 1));

    finding->grows = TRUE;
    finding->rate = stack->grown / evidence->profiled_seconds;
    finding->low = MAX(0, stack->grown - Z95 * error) / evidence->profiled_seconds;
    finding->high = (stack->grown + Z95 * error) / evidence->profiled_seconds;
    if (!stack->trend.grows)
        return;
    DoctorTrend trend = trend_by_samples(evidence, stack);
    finding->rate = trend.rate;
    finding->low = MAX(0, trend.low);
    finding->high = trend.high;
    finding->onset = trend.onset;
}

/* Judges growth without statistics over time, by the stacks that grew significantly between the dumps. */
static void
judge_growth_of_dumps(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;

    for (guint i = 0; i < evidence->growing->len; i++) {
        const DoctorStack *stack = evidence->growing->pdata[i];
        if (!has_grown(evidence, stack))
            continue;
        CauseId cause = stack->unloaded ? CAUSE_UNLOADED_CODE : stack->follows ? CAUSE_LOAD : CAUSE_HEAP_LEAK;
        DoctorFinding *finding = case_add(the, RANK_GROWTH, cause, stack->bytes);
        g_autofree char *p = g_strdup_printf("%.2g", stack->p);
        case_set_functions(finding, stack);
        set_growth_of_dumps(evidence, stack, finding);
        finding->confidence = evidence->profile == DOCTOR_PROFILE_YOUNG ? 0.5 : 0.9;
        case_say(
            finding,
            case_sentence("it held %S more in the last dump than in the first; the probability of this by chance is %s",
                          stack->grown, p));
        if (stack->follows)
            case_say(finding, load_sentence(&stack->load));
    }
}

/* Whether the growth slows down although the program is as busy as before: a cache that fills, or a warm-up. */
static gboolean
fills(const Case *the)
{
    guint n = the->evidence->moments->len;

    if (!the->classes->slows)
        return FALSE;
    gdouble all = case_processors(the, 0, n - 1), lately = case_processors(the, n - 1 - n / 3, n - 1);
    return all == 0 || the->classes->recent * all < TREND_SLOWER * the->classes->rate * lately;
}

static gboolean
any_unloaded(const GPtrArray *stacks)
{
    for (guint i = 0; i < stacks->len; i++)
        if (((const DoctorStack *)stacks->pdata[i])->unloaded)
            return TRUE;
    return FALSE;
}

/* The number of samples of the growth that the profile should have; 0: the sampling period is unknown. */
static gdouble
expected_samples(const Case *the)
{
    uint64_t lg = stats_values_or(the->sample->totals, STATS_SAMPLING_LG_PERIOD, 64);

    return lg < 64 ? the->classes->rate * the->classes->seconds / (gdouble)(UINT64_C(1) << lg) : 0;
}

/* jemalloc seeds the sampling of each thread with the address of its thread data. Short-lived threads that reuse the
 * same address and allocate little are sampled at the same points, mostly never (prof_sample_new_event_wait() and
 * tsd_prng_state_init() of jemalloc 5.3). */
static void
add_nameless_leak(Case *the, const char *load)
{
    static const gdouble SURE = 6;
    const DoctorEvidence *evidence = the->evidence;
    DoctorFinding *finding = add_leak(the, NULL, 1, load);
    gdouble expected = expected_samples(the);
    g_autofree char *samples = g_strdup_printf("%.0f", expected);

    if (evidence->profile == DOCTOR_PROFILE_WHOLE && expected >= SURE)
        case_say(finding,
                 case_sentence("the profile should contain about %s samples of it, but has none: jemalloc's profiler "
                               "misses successive short-lived threads; jescope's sampler does not (--record, with "
                               "the agent in the process)",
                               samples));
    if (load != NULL || evidence->unloaded == NULL || evidence->profile >= DOCTOR_PROFILE_YOUNG)
        return;
    finding->cause = CAUSE_UNLOADED_CODE;
    finding->confidence = HALF_SURE;
    case_say(finding, case_sentence("%s was unloaded during the watch; a profile would show whether it leaks",
                                    evidence->unloaded));
}

/* Judges growth that the exact counters show. */
static void
judge_growth_of_classes(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    g_autofree char *load = NULL;
    gdouble all = 0;
    gboolean named = FALSE;

    if (!the->classes->grows)
        return;
    find_load(the, &load);
    the->fills = load == NULL && !any_unloaded(evidence->growing) && fills(the);
    if (the->fills)
        return;
    for (guint i = 0; i < evidence->growing->len; i++)
        all += ((const DoctorStack *)evidence->growing->pdata[i])->grown;
    for (guint i = 0; i < evidence->growing->len; i++) {
        const DoctorStack *stack = evidence->growing->pdata[i];
        gdouble share = MIN(1, stack->grown / MAX(all, the->classes->rate * the->classes->seconds));
        if (stack->grown < NOTABLE_STACK * all || (i > 0 && stack->p >= SIGNIFICANT))
            continue;
        add_leak(the, stack, evidence->growing->len == 1 ? 1 : share, load);
        named = TRUE;
    }
    if (!named)
        add_nameless_leak(the, load);
}

static gboolean
is_found(const Case *the, const DoctorStack *stack)
{
    for (guint i = 0; i < the->ranked->len; i++) {
        const GPtrArray *functions = g_array_index(the->ranked, Ranked, i).finding->functions;
        if (functions->len > 0 && g_str_equal(functions->pdata[0], stack->functions->pdata[0]))
            return TRUE;
    }
    return FALSE;
}

/* Judges growth that the exact counters hide. Short watches are excluded, since what a cache stores at first is not
 * freed either. */
static void
judge_unfreed(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;

    for (guint i = 0; i < evidence->unfreed->len && evidence->profiled_seconds >= LONG_WATCH; i++) {
        const DoctorStack *stack = evidence->unfreed->pdata[i];
        if (evidence->profile != DOCTOR_PROFILE_WHOLE || stack->grown < STACK_LEAST || is_found(the, stack))
            continue;
        DoctorFinding *finding =
            case_add(the, RANK_GROWTH, stack->unloaded ? CAUSE_UNLOADED_CODE : CAUSE_HEAP_LEAK, stack->bytes);
        g_autofree char *p = g_strdup_printf("%.2g", stack->p);
        case_set_functions(finding, stack);
        set_growth_of_dumps(evidence, stack, finding);
        finding->confidence = HALF_SURE;
        case_say(finding,
                 case_sentence("it held %S more in the last dump than in the first, and almost nothing was freed; the "
                               "probability of this by chance is %s",
                               stack->grown, p));
        case_say(finding,
                 g_strdup("the counters of its size class do not show the leak, since other functions allocate "
                          "and free much in this class"));
        case_say_against(finding, CAUSE_CACHE, "new samples arrive until the end of the watch");
    }
}

void
judge_heap_growth(Case *the)
{
    if (the->sample == NULL || the->classes->seconds <= 0) {
        judge_growth_of_dumps(the);
        return;
    }
    judge_growth_of_classes(the);
    judge_unfreed(the);
}
