/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

static const gdouble BURST_OUTWEIGHS = 2, RETAINED_OUTWEIGHS = 4; /* times the holder's bytes */
static const gdouble BUSY = 0.05;                                 /* processors in use */
static const gdouble SMALL_HOLDER = 64 * MIB;                     /* churn is reported instead of a smaller holder */

/* Growth counts by its rate, waste by the bytes that its remedy frees, and everything else by its size. */
static gdouble
weight_of(const Ranked *ranked)
{
    const DoctorFinding *finding = ranked->finding;

    if (ranked->rank == RANK_GROWTH)
        return finding->rate;
    return ranked->rank == RANK_WASTE && finding->gives_back > 0 ? finding->gives_back : finding->bytes;
}

static gint
by_rank(gconstpointer a, gconstpointer b)
{
    const Ranked *left = a;
    const Ranked *right = b;
    gdouble one = weight_of(left), other = weight_of(right);

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (one != other)
        return one > other ? -1 : 1;
    return (left->finding->cause > right->finding->cause) - (left->finding->cause < right->finding->cause);
}

/* Whether a past event explains more than the holder; every program has one. */
static gboolean
outweighs(const DoctorFinding *past, const DoctorFinding *holder)
{
    switch (past->cause) {
    case CAUSE_BURST:
        return past->bytes >= BURST_OUTWEIGHS * holder->bytes;
    case CAUSE_RETAINED:
        return past->bytes >= RETAINED_OUTWEIGHS * holder->bytes;
    default:
        return holder->cause != CAUSE_CACHE && holder->bytes < SMALL_HOLDER;
    }
}

static void
prefer_the_past(Case *the)
{
    const DoctorFinding *holder = NULL;
    gboolean past = FALSE;

    for (guint i = 0; i < the->ranked->len && holder == NULL; i++)
        if (g_array_index(the->ranked, Ranked, i).rank == RANK_HOLDER)
            holder = g_array_index(the->ranked, Ranked, i).finding;
    for (guint i = 0; i < the->ranked->len && holder != NULL; i++) {
        const Ranked *ranked = &g_array_index(the->ranked, Ranked, i);
        past |= ranked->rank == RANK_PAST && outweighs(ranked->finding, holder);
    }
    for (guint i = the->ranked->len; past && i-- > 0;)
        if (g_array_index(the->ranked, Ranked, i).rank == RANK_HOLDER) {
            case_finding_free(g_array_index(the->ranked, Ranked, i).finding);
            g_array_remove_index(the->ranked, i);
        }
}

/* Holders are reported only if nothing is wrong, past events only if there is no holder either. */
static void
take_findings(Case *the, DoctorReport *report)
{
    g_array_sort(the->ranked, by_rank);
    prefer_the_past(the);
    for (guint i = 0; i < the->ranked->len; i++) {
        Ranked *ranked = &g_array_index(the->ranked, Ranked, i);
        Rank best = g_array_index(the->ranked, Ranked, 0).rank;
        if (ranked->rank >= RANK_HOLDER && best != ranked->rank)
            case_finding_free(ranked->finding);
        else
            g_ptr_array_add(report->findings, ranked->finding);
    }
}

/* Allocations from a thread cache that are freed to it do not change jemalloc's counters: churn is not seen then, and a
 * cache cannot be distinguished from memory that was allocated long ago. */
static gboolean
may_allocate_unseen(const Case *the, const DoctorReport *report)
{
    const DoctorFinding *first = report->findings->len > 0 ? report->findings->pdata[0] : NULL;
    guint n = the->evidence->moments->len;

    return (first == NULL || (first->cause == CAUSE_STARTUP && first->functions->len == 0)) && n > 0 &&
           the->evidence->born_objects <= 0 && case_processors(the, 0, n - 1) >= BUSY;
}

static void
add_notes(const Case *the, DoctorReport *report)
{
    static const char *const profiles[] = {
        [DOCTOR_PROFILE_NONE] =
            ("no heap profile, so functions cannot be named; start the program with 'jescope run', or use --record "
             "after 'jescope attach'"),
        [DOCTOR_PROFILE_READY] =
            "sampling is off; --record enables it during the watch, and names the functions that allocate then",
        [DOCTOR_PROFILE_YOUNG] = "sampling began only recently: functions that allocated earlier are unknown",
    };
    if (the->evidence->profile < G_N_ELEMENTS(profiles))
        g_ptr_array_add(report->notes, g_strdup(profiles[the->evidence->profile]));
    if (!case_saw_time_pass(the) && the->evidence->holder != NULL) {
        const DoctorStack *holder = the->evidence->holder;
        g_ptr_array_add(
            report->notes,
            case_sentence("%s holds the largest part, %S; only several readings over time show whether it grows",
                          (const char *)holder->functions->pdata[0], holder->bytes));
    }
    if (the->fills)
        g_ptr_array_add(
            report->notes,
            case_sentence("the heap grew by %S during the watch, at the end less than half as fast: a cache that "
                          "fills, or a warm-up; a longer watch (--for) shows whether it stops",
                          the->classes->rate * the->classes->seconds));
    if (the->evidence->without_arenas)
        g_ptr_array_add(report->notes,
                        g_strdup("the size classes of each arena could not be read in time; many-arenas cannot be "
                                 "recognised; a longer watch (--for) may help"));
    if (report->findings->len > 0 && the->evidence->born_objects <= 0 &&
        ((const DoctorFinding *)report->findings->pdata[0])->cause == CAUSE_CHURN)
        g_ptr_array_add(
            report->notes,
            g_strdup("the allocating function can be named only by births, which jescope's own sampler counts "
                     "(--record), and jemalloc's profiler with prof_accum:true"));
    if (may_allocate_unseen(the, report))
        g_ptr_array_add(
            report->notes,
            g_strdup("the process is busy, and jemalloc's counters omit allocations from thread caches; births "
                     "(--record) would show whether it allocates at a high rate, or replaces the contents of a cache"));
    if (the->evidence->last == NULL)
        g_ptr_array_add(report->notes, g_strdup("the memory of the process outside jemalloc is unknown here"));
}

void
doctor_judge(const DoctorEvidence *evidence, const DoctorClasses *classes, DoctorReport *report)
{
    Case the = {.evidence = evidence, .classes = classes, .ranked = g_array_new(FALSE, FALSE, sizeof(Ranked))};

    *report = (DoctorReport){
        .findings = g_ptr_array_new_with_free_func(case_finding_free),
        .notes = g_ptr_array_new_with_free_func(g_free),
        .detectable = classes->seconds > 0 ? classes->held.detectable : case_detectable(evidence),
    };
    case_prepare(&the);
    judge_heap_growth(&the);
    judge_waste(&the);
    judge_holder(&the);
    judge_places(&the);
    judge_past(&the);
    for (guint i = 0; i < the.ranked->len; i++)
        case_remedy(&the, g_array_index(the.ranked, Ranked, i).finding);
    take_findings(&the, report);
    add_notes(&the, report);
    g_array_unref(the.ranked);
}

void
doctor_report_clear(DoctorReport *report)
{
    g_clear_pointer(&report->findings, g_ptr_array_unref);
    g_clear_pointer(&report->notes, g_ptr_array_unref);
}
