/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

/* The thresholds of causes.def. */
static const gdouble METADATA_SHARE = 0.1;
static const gdouble PLACE_SHARE = 0.25;    /* minimum for static data, files and shared memory, which are not waste */
static const gdouble HOLDER_OF_PLACE = 0.5; /* share of a line's bytes: a holder with more is named */
static const gdouble GROWTH_LEAST = 4 * MIB, GROWTH_SHARE = 0.05; /* minimum growth of a ledger line during the watch */
static const gdouble FALLEN = 0.9; /* of the unused pages at the start: if there are fewer, they are being returned */

/* ---- lines of the ledger ---- */

/* A cause whose bytes are lines of the ledger. */
typedef struct {
    CauseId cause;
    Rank rank;
    LedgerId lines[4];
    guint n;
} Place;

static const Place places[] = {
    {CAUSE_ANON_MMAP, RANK_WASTE, {LEDGER_OTHER_ANONYMOUS}, 1},
    {CAUSE_OTHER_ALLOCATOR, RANK_WASTE, {LEDGER_OTHER_ALLOCATORS}, 1},
    {CAUSE_STACKS, RANK_WASTE, {LEDGER_STACKS}, 1},
    {CAUSE_TMPFS, RANK_WASTE, {LEDGER_TMPFS_FILES}, 1},
    {CAUSE_KERNEL, RANK_WASTE, {LEDGER_SOCKETS, LEDGER_PIPES, LEDGER_KERNEL_STACKS, LEDGER_PAGE_TABLES}, 4},
    {CAUSE_THP, RANK_WASTE, {LEDGER_HUGE_PAGES, LEDGER_RETAINED}, 2},
    {CAUSE_FORK, RANK_WASTE, {LEDGER_CHILDREN}, 1},
    {CAUSE_PROGRAM_DATA, RANK_HOLDER, {LEDGER_STATIC_DATA}, 1},
    {CAUSE_FILES, RANK_HOLDER, {LEDGER_FILE_MAPPINGS}, 1},
    {CAUSE_SHARED, RANK_HOLDER, {LEDGER_SHARED_MEMORY}, 1},
};

static gdouble
bytes_at(const Ledger *ledger, const Place *place)
{
    gdouble sum = 0;

    for (guint i = 0; i < place->n; i++)
        sum += MAX(0, case_line(ledger, place->lines[i]));
    return sum;
}

static void
say_lines(DoctorFinding *finding, const Ledger *ledger, const Place *place)
{
    for (guint i = 0; i < place->n; i++)
        if (case_line(ledger, place->lines[i]) > 0)
            case_say(finding, case_sentence("%s: %S (%s)", ledger_lines[place->lines[i]].title,
                                            case_line(ledger, place->lines[i]), ledger_lines[place->lines[i]].meaning));
}

static void
judge_place(Case *the, const Place *place)
{
    const DoctorEvidence *evidence = the->evidence;
    gdouble now = bytes_at(evidence->last, place), before = bytes_at(evidence->first, place);
    gdouble seconds = the->last != NULL && the->first != NULL ? the->last->seconds - the->first->seconds : 0;
    gboolean grows = evidence->first != NULL && seconds > 0 && now - before >= MAX(GROWTH_LEAST, GROWTH_SHARE * before);

    if (!(case_is_waste(the, now) && (place->rank == RANK_WASTE || now >= PLACE_SHARE * the->memory)) &&
        !(grows && now >= WASTE_LEAST))
        return;
    DoctorFinding *finding = case_add(the, grows ? RANK_GROWTH : place->rank, place->cause, now);
    finding->confidence = 0.9;
    say_lines(finding, evidence->last, place);
    if (place->cause == CAUSE_THP && evidence->holder != NULL && evidence->holder->bytes >= HOLDER_OF_PLACE * now)
        case_set_functions(finding, evidence->holder);
    if (!grows)
        return;
    finding->grows = TRUE;
    finding->rate = finding->low = finding->high = (now - before) / seconds;
    case_say(finding, case_sentence("it grew by %S during the watch", now - before));
}

void
judge_places(Case *the)
{
    for (gsize i = 0; the->evidence->last != NULL && i < G_N_ELEMENTS(places); i++)
        judge_place(the, &places[i]);
}

/* ---- memory that jemalloc holds and the program does not use ---- */

/* The minimum over the watch: one arena may be purging while another, whose threads sleep, keeps its pages. */
static gdouble
least_unused(const Case *the)
{
    const GArray *moments = the->evidence->moments;
    uint64_t least = the->waste.unused;

    for (guint i = 0; i < moments->len; i++) {
        const StatsSample *sample = g_array_index(moments, DoctorMoment, i).sample;
        uint64_t page = sample != NULL ? stats_values_or(sample->totals, STATS_PAGE, 0) : 0;
        uint64_t pages = case_merged(sample, STATS_ARENA_PDIRTY) + case_merged(sample, STATS_ARENA_PMUZZY);
        if (sample != NULL)
            least = MIN(least, pages * page);
    }
    return (gdouble)least;
}

static void
judge_dirty(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gboolean watched = the->first_sample != NULL && the->first_sample != the->sample;
    gboolean falls = watched && (gdouble)waste->unused < FALLEN * (gdouble)the->before.unused;

    if (!case_is_waste(the, least_unused(the)) || falls)
        return;
    DoctorFinding *finding = case_add(the, RANK_WASTE, CAUSE_DIRTY, (gdouble)waste->unused);
    finding->confidence = waste->never > 0 || watched ? 0.95 : 0.6;
    case_say(finding, case_sentence("%S of dirty and muzzy pages are resident and unused", (gdouble)waste->unused));
    if (waste->never > 0)
        case_say(finding, g_strdup_printf("dirty_decay_ms is -1 in arena %u: such pages are never returned",
                                          waste->never_arena));
    else if (watched)
        case_say(finding,
                 case_sentence("at no time during the watch were there less than %S of them", least_unused(the)));
    case_say_against(finding, CAUSE_HEAP_LEAK, "the program has freed this memory");
}

static void
judge_fragmentation(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)waste->slabs;

    if (!case_is_waste(the, bytes))
        return;
    DoctorFinding *finding = case_add(the, RANK_WASTE, CAUSE_FRAGMENTATION, bytes);
    const DoctorStack *holder = the->evidence->class_holder;
    g_autofree char *class = g_strdup_printf("%" G_GUINT64_FORMAT, waste->class_size);
    case_set_functions(finding, holder);
    finding->confidence = 0.9;
    case_say(finding,
             case_sentence("if the live regions were packed, slabs would take %S less, of which %S in size class %s",
                           bytes, (gdouble)waste->class_slabs, class));
    if (holder != NULL && the->evidence->pinned > 0)
        case_say(
            finding,
            case_sentence(the->evidence->slabs_known
                              ? "%S of free regions are in slabs that contain objects of %s"
                              : "%S of free regions are charged to %s in proportion to its objects in each size class",
                          the->evidence->pinned, (const char *)holder->functions->pdata[0]));
    else if (holder != NULL)
        case_say(finding, case_sentence("most live objects of that class are allocated by %s",
                                        (const char *)holder->functions->pdata[0]));
    case_say_against(finding, CAUSE_ARENAS, "the slabs of each arena are mostly empty themselves");
}

static void
judge_arenas(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)(waste->spread + waste->arena_data);

    /* If most of it is the arenas' own data, judge_metadata() reports it. */
    if (!case_is_waste(the, bytes) || waste->spread < waste->arena_data)
        return;
    DoctorFinding *finding = case_add(the, RANK_WASTE, CAUSE_ARENAS, (gdouble)waste->spread);
    finding->confidence = 0.9;
    case_say(finding, case_sentence("%u arenas: a single one would need %S less for slabs, and %S less for metadata",
                                    waste->arenas, (gdouble)waste->spread, (gdouble)waste->arena_data));
}

static void
judge_thread_caches(Case *the)
{
    gdouble bytes = (gdouble)the->waste.cached;

    if (!case_is_waste(the, bytes))
        return;
    DoctorFinding *finding = case_add(the, RANK_WASTE, CAUSE_THREAD_CACHES, bytes);
    finding->confidence = 0.95;
    case_say(finding, case_sentence("thread caches hold %S that the program has freed", bytes));
    if (the->last != NULL && the->last->threads != G_MAXUINT64)
        case_say(finding, case_sentence("%u threads, %S each", (guint)the->last->threads,
                                        bytes / MAX((gdouble)the->last->threads, 1)));
    case_say_against(finding, CAUSE_HEAP_LEAK, "the program has freed this memory");
}

static void
judge_metadata(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)waste->metadata;

    if (bytes < WASTE_LEAST || bytes < METADATA_SHARE * the->memory)
        return;
    DoctorFinding *finding = case_add(the, RANK_WASTE, CAUSE_METADATA, bytes);
    finding->confidence = 0.9;
    case_say(finding,
             case_sentence("metadata is %S: %S are internal allocations (profiler, thread caches), %S belong to %u "
                           "arenas",
                           bytes, (gdouble)waste->internal, (gdouble)waste->arena_data, waste->arenas));
}

void
judge_waste(Case *the)
{
    if (the->sample == NULL)
        return;
    judge_dirty(the);
    judge_fragmentation(the);
    judge_arenas(the);
    judge_thread_caches(the);
    judge_metadata(the);
}
