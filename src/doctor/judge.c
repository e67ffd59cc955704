/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/judge.h"

#include "stats/readable.h"
#include "stats/waste.h"

#include <math.h>
#include <string.h>

#define MIB ((gdouble)(1 << 20))

/* The thresholds of causes.def. */
static const gdouble WASTE_LEAST = 16 * MIB, WASTE_SHARE = 0.2, METADATA_SHARE = 0.1;
static const gdouble HOLDER_LEAST = 32 * MIB, HOLDER_SHARE = 0.4;
static const gdouble HOLDER_OF_PLACE = 0.5; /* of the bytes of a line: it may be this function's memory */
static const gdouble NAMELESS_LEAST = 48 * MIB, NAMELESS_SHARE = 0.6; /* a holder without a function */
static const gdouble GROWTH_LEAST = 4 * MIB, GROWTH_SHARE = 0.05;     /* of a line of the ledger, over the watch */
static const gdouble STACK_LEAST = 2 * MIB;                           /* of growth that dumps alone show */
static const gdouble URGENT_RATE = 0.2 * MIB; /* per second; or this share of the memory in a minute */
static const gdouble URGENT_SHARE = 0.01;
static const gdouble NOTABLE_STACK = 0.1; /* of the growth */
static const gdouble SIGNIFICANT = 0.05;
static const gdouble TOGETHER = 0.95;    /* correlation of memory and load */
static const gdouble LOAD_LEAST = 0.1;   /* by which the load has risen */
static const gdouble TURNOVER = 0.005;   /* allocated in a class during the watch, of what it holds */
static const gdouble TELLING = 2;        /* samples that would have come or gone, to conclude from those that did */
static const gdouble OTHERS_SHARE = 0.1; /* of these: if fewer did, other functions allocate in the class */
static const gdouble UNTOUCHED_SHARE = 0.25;
static const gdouble LONG_WATCH = 7200; /* seconds: then it is said in hours */
static const gdouble UNSURE = 0.15;     /* relative error of what a stack holds */
static const gdouble CONTRADICTION = 2; /* standard errors */
static const gdouble HINT = 0.6;        /* confidence in capacity by the shape of blocks alone */
static const gdouble FALLEN = 0.9;      /* of the unused pages at the start: they are being returned */
static const gdouble BURST_LEAST = 32 * MIB, BURST_SHARE = 1.0 / 3;
static const gdouble RETAINED_LEAST = 256 * MIB;
static const gdouble RETAINED_BEYOND_BURST = 2;
static const gdouble CHURN_REQUESTS = 100000, CHURN_BYTES = 64 * MIB; /* a second */
static const gdouble CHURN_BUSY =
    0.3; /* of one processor: then fewer requests are enough, as counters see a part of them */
static const gdouble CHURN_BUSY_SHARE = 0.2;

/* The order in which causes are reported: growth, then what could be given back, then what explains the rest. */
typedef enum { RANK_GROWTH, RANK_WASTE, RANK_HOLDER, RANK_PAST } Rank;

typedef struct {
    const DoctorEvidence *evidence;
    const DoctorClasses *classes;
    const DoctorMoment *first, *last;         /* or NULL */
    const StatsSample *first_sample, *sample; /* or NULL */
    StatsWaste waste, before;
    gdouble memory;   /* resident, and what the process holds beside it */
    gdouble resident; /* of jemalloc */
    gboolean fills;   /* the heap grows, ever more slowly */
    GArray *ranked;   /* Ranked */
} Case;

typedef struct {
    Rank rank;
    DoctorFinding *finding;
} Ranked;

/* "%S" stands for a size in bytes, of a gdouble; the other conversions are "%s", of a string, and "%u". */
static char *
sentence(const char *format, ...)
{
    g_autoptr(GString) text = g_string_new(NULL);
    va_list arguments;

    va_start(arguments, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            g_string_append_c(text, *at);
            continue;
        }
        at++;
        if (*at == 'S')
            readable_append_size(text, va_arg(arguments, gdouble), 0);
        else if (*at == 's')
            g_string_append(text, va_arg(arguments, const char *));
        else if (*at == 'u')
            g_string_append_printf(text, "%u", va_arg(arguments, guint));
        else
            g_string_append_c(text, *at);
    }
    va_end(arguments);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
finding_free(gpointer data)
{
    DoctorFinding *finding = data;
    g_ptr_array_unref(finding->functions);
    g_ptr_array_unref(finding->evidence);
    g_ptr_array_unref(finding->against);
    g_free(finding);
}

static DoctorFinding *
add(Case *the, Rank rank, CauseId cause, gdouble bytes)
{
    DoctorFinding *finding = g_new0(DoctorFinding, 1);
    finding->cause = cause;
    finding->bytes = bytes;
    finding->functions = g_ptr_array_new_with_free_func(g_free);
    finding->evidence = g_ptr_array_new_with_free_func(g_free);
    finding->against = g_ptr_array_new_with_free_func(g_free);
    Ranked ranked = {rank, finding};
    g_array_append_val(the->ranked, ranked);
    return finding;
}

/* Takes TEXT. */
static void
say(DoctorFinding *finding, char *text)
{
    g_ptr_array_add(finding->evidence, text);
}

static void
say_against(DoctorFinding *finding, CauseId other, const char *because)
{
    g_ptr_array_add(finding->against, g_strdup_printf("not %s, because %s", causes[other].name, because));
}

static void
set_functions(DoctorFinding *finding, const DoctorStack *stack)
{
    for (guint i = 0; stack != NULL && i < stack->functions->len; i++)
        g_ptr_array_add(finding->functions, g_strdup(stack->functions->pdata[i]));
}

static gdouble
line(const Ledger *ledger, LedgerId id)
{
    return ledger != NULL && ledger->lines[id].known ? (gdouble)ledger->lines[id].bytes : 0;
}

static gdouble
line_now(const Case *the, LedgerId id)
{
    return line(the->evidence->last, id);
}

static gboolean
is_waste(const Case *the, gdouble bytes)
{
    return bytes >= WASTE_LEAST && bytes >= WASTE_SHARE * the->memory;
}

static gboolean
is_holder(const Case *the, gdouble bytes)
{
    return bytes >= HOLDER_LEAST && bytes >= HOLDER_SHARE * the->memory;
}

/* ---- growth ---- */

static gdouble
value_of(const DoctorMoment *moment, gsize offset)
{
    guint64 value = *(const guint64 *)(const void *)((const char *)moment + offset);

    return value == G_MAXUINT64 ? NAN : (gdouble)value;
}

/* The correlation of what the program holds with threads or descriptors, if both have risen enough. */
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

static gboolean
find_load(const Case *the, char **evidence)
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
        *evidence = sentence("%s rose from %s in step with the heap: %S for each %s", loads[i].what, range, each,
                             loads[i].each);
        return TRUE;
    }
    return FALSE;
}

/* What a leak holds that has this SHARE of the growth. At least what it grew by during the watch; and where the samples
 * are few, what it would hold if it had leaked at this rate ever since the process began, unless they contradict. Where
 * sampling is younger than the growth, the profile holds only a part of what the stack does. */
static gdouble
held_by(const Case *the, const DoctorStack *stack, gdouble share)
{
    const DoctorClasses *classes = the->classes;
    gdouble grown = share * classes->rate * classes->seconds, ever = share * classes->rate * the->evidence->age;
    gboolean sampled = stack != NULL && the->evidence->profile == DOCTOR_PROFILE_WHOLE;
    gdouble most = classes->bytes > 0 ? share * classes->bytes : grown;

    if (!sampled) {
        gdouble least = MAX(grown, stack != NULL ? stack->bytes : 0);
        return ever > least && ever < most ? ever : MAX(least, most);
    }
    if (stack->error > UNSURE * stack->bytes && fabs(ever - stack->bytes) <= CONTRADICTION * stack->error)
        return MAX(grown, ever);
    return MAX(grown, stack->bytes);
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

    say(finding, sentence("live bytes rose by %S/s (95 %% between %S and %S) over %s, with rising low-water marks",
                          finding->rate, finding->low, finding->high, seconds));
    if (the->classes->slows)
        say(finding, g_strdup("the growth slowed down to less than half during the watch, as did the program"));
    else
        say_against(finding, CAUSE_CACHE, "the growth did not slow down");
}

/* The exact counters are the proof that something grows; the samples of the profile only say who. */
static gdouble
confidence_in(const Case *the, const DoctorStack *stack)
{
    gdouble confidence = the->classes->slows ? 0.5 : 0.95;

    if (stack != NULL && stack->samples < 6)
        confidence -= 0.2;
    return confidence;
}

static void
say_unloaded(DoctorFinding *finding, const DoctorStack *stack)
{
    if (stack != NULL && stack->unloaded)
        say(finding, stack->object != NULL
                         ? sentence("it was allocated by code of %s, which is not loaded any more", stack->object)
                         : g_strdup("it was allocated by code that no file is mapped for"));
}

static void
add_leak(Case *the, const DoctorStack *stack, gdouble share, const char *load)
{
    CauseId cause = stack != NULL && stack->unloaded ? CAUSE_UNLOADED_CODE
                    : load != NULL                   ? CAUSE_LOAD
                                                     : CAUSE_HEAP_LEAK;
    gdouble bytes = held_by(the, stack, share);
    gdouble rate = share * the->classes->rate;
    gboolean urgent = rate >= URGENT_RATE || rate * 60 >= URGENT_SHARE * the->memory;
    DoctorFinding *finding = add(the, urgent ? RANK_GROWTH : RANK_WASTE, cause, bytes);

    set_functions(finding, stack);
    set_growth(the, finding, share);
    say_growth(the, finding);
    finding->confidence = confidence_in(the, stack);
    if (stack != NULL) {
        g_autofree char *percent = g_strdup_printf("%.0f %%", 100 * share);
        g_autofree char *samples = g_strdup_printf("%.0f", stack->samples);
        say(finding, sentence("%s of the growth is allocated through %s (about %s samples)", percent,
                              (const char *)stack->functions->pdata[0], samples));
        say_unloaded(finding, stack);
    }
    if (load != NULL)
        say(finding, g_strdup(load));
    else
        say_against(finding, CAUSE_LOAD, "neither threads nor open descriptors rose in step");
}

/* Growth that the dumps alone show: without statistics over time, by the stacks that grew significantly. */
static void
judge_growth_of_dumps(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;

    for (guint i = 0; i < evidence->growing->len; i++) {
        const DoctorStack *stack = evidence->growing->pdata[i];
        if (stack->p >= SIGNIFICANT / 5 || stack->grown < STACK_LEAST || evidence->profiled_seconds <= 0)
            continue;
        DoctorFinding *finding =
            add(the, RANK_GROWTH, stack->unloaded ? CAUSE_UNLOADED_CODE : CAUSE_HEAP_LEAK, stack->bytes);
        gdouble error = sqrt(MAX(stack->grown, 1) * stack->grown / MAX(stack->samples, 1));
        g_autofree char *p = g_strdup_printf("%.2g", stack->p);
        set_functions(finding, stack);
        finding->grows = TRUE;
        finding->rate = stack->grown / evidence->profiled_seconds;
        finding->low = MAX(0, stack->grown - 1.96 * error) / evidence->profiled_seconds;
        finding->high = (stack->grown + 1.96 * error) / evidence->profiled_seconds;
        finding->confidence = evidence->profile == DOCTOR_PROFILE_YOUNG ? 0.5 : 0.9;
        say(finding, sentence("%S more at the last dump than at the first, by chance with a probability of %s",
                              stack->grown, p));
    }
}

/* Processors that were used from moment FROM to moment TO; 0: unknown. */
static gdouble
processors(const Case *the, guint from, guint to)
{
    const DoctorMoment *first = &g_array_index(the->evidence->moments, DoctorMoment, from);
    const DoctorMoment *last = &g_array_index(the->evidence->moments, DoctorMoment, to);

    if (last->processor_ms == G_MAXUINT64 || last->processor_ms <= first->processor_ms ||
        last->seconds <= first->seconds)
        return 0;
    return (gdouble)(last->processor_ms - first->processor_ms) / 1000 / (last->seconds - first->seconds);
}

/* What slows down although the program works as before fills: a cache, a warm-up. */
static gboolean
fills(const Case *the)
{
    guint n = the->evidence->moments->len;

    if (!the->classes->slows)
        return FALSE;
    gdouble all = processors(the, 0, n - 1), lately = processors(the, n - 1 - n / 3, n - 1);
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

static void
judge_heap_growth(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    g_autofree char *load = NULL;
    gdouble all = 0;
    gboolean named = FALSE;

    if (the->sample == NULL || the->classes->seconds <= 0) {
        judge_growth_of_dumps(the);
        return;
    }
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
        add_leak(the, NULL, 1, load);
}

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
        sum += MAX(0, line(ledger, place->lines[i]));
    return sum;
}

static void
say_lines(DoctorFinding *finding, const Ledger *ledger, const Place *place)
{
    for (guint i = 0; i < place->n; i++)
        if (line(ledger, place->lines[i]) > 0)
            say(finding, sentence("%s: %S (%s)", ledger_lines[place->lines[i]].title, line(ledger, place->lines[i]),
                                  ledger_lines[place->lines[i]].meaning));
}

static void
judge_place(Case *the, const Place *place)
{
    const DoctorEvidence *evidence = the->evidence;
    gdouble now = bytes_at(evidence->last, place), before = bytes_at(evidence->first, place);
    gdouble seconds = the->last != NULL && the->first != NULL ? the->last->seconds - the->first->seconds : 0;
    gboolean grows = evidence->first != NULL && seconds > 0 && now - before >= MAX(GROWTH_LEAST, GROWTH_SHARE * before);

    if (!(is_waste(the, now) && (place->rank == RANK_WASTE || now >= HOLDER_SHARE * the->memory)) &&
        !(grows && now >= WASTE_LEAST))
        return;
    DoctorFinding *finding = add(the, grows ? RANK_GROWTH : place->rank, place->cause, now);
    finding->confidence = 0.9;
    say_lines(finding, evidence->last, place);
    if (place->cause == CAUSE_THP && evidence->holder != NULL && evidence->holder->bytes >= HOLDER_OF_PLACE * now)
        set_functions(finding, evidence->holder);
    if (!grows)
        return;
    finding->grows = TRUE;
    finding->rate = finding->low = finding->high = (now - before) / seconds;
    say(finding, sentence("it grew by %S during the watch", now - before));
}

/* ---- what jemalloc holds and the program does not use ---- */

static uint64_t
merged_value(const StatsSample *sample, StatsMetric metric)
{
    const StatsArena *merged = sample != NULL ? stats_sample_find(sample, STATS_ARENA_MERGED) : NULL;

    return merged != NULL ? stats_values_or(merged->values, metric, 0) : 0;
}

/* At any moment of the watch: one arena may sweep while another one, whose threads sleep, keeps its pages. */
static gdouble
least_unused(const Case *the)
{
    const GArray *moments = the->evidence->moments;
    uint64_t least = the->waste.unused;

    for (guint i = 0; i < moments->len; i++) {
        const StatsSample *sample = g_array_index(moments, DoctorMoment, i).sample;
        uint64_t page = sample != NULL ? stats_values_or(sample->totals, STATS_PAGE, 0) : 0;
        uint64_t pages = merged_value(sample, STATS_ARENA_PDIRTY) + merged_value(sample, STATS_ARENA_PMUZZY);
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

    if (!is_waste(the, least_unused(the)) || falls)
        return;
    DoctorFinding *finding = add(the, RANK_WASTE, CAUSE_DIRTY, (gdouble)waste->unused);
    finding->confidence = waste->never > 0 || watched ? 0.95 : 0.6;
    say(finding, sentence("%S of dirty and muzzy pages are resident and unused", (gdouble)waste->unused));
    if (waste->never > 0)
        say(finding,
            g_strdup_printf("dirty_decay_ms is -1 in arena %u: such pages are never returned", waste->never_arena));
    else if (watched)
        say(finding, sentence("there were at least %S of them at every moment of the watch", least_unused(the)));
    say_against(finding, CAUSE_HEAP_LEAK, "the program has freed this memory");
}

static void
judge_fragmentation(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)waste->slabs;

    if (!is_waste(the, bytes))
        return;
    DoctorFinding *finding = add(the, RANK_WASTE, CAUSE_FRAGMENTATION, bytes);
    const DoctorStack *holder = the->evidence->class_holder;
    g_autofree char *class = g_strdup_printf("%" G_GUINT64_FORMAT, waste->class_size);
    set_functions(finding, holder);
    finding->confidence = 0.9;
    say(finding, sentence("packed, the live regions would need %S of slabs less; %S of that in size class %s", bytes,
                          (gdouble)waste->class_slabs, class));
    if (holder != NULL && the->evidence->pinned > 0)
        say(finding,
            sentence(the->evidence->slabs_known
                         ? "%S of free regions are in slabs that objects of %s keep"
                         : "%S of free regions are charged to %s by the number of its objects in each size class",
                     the->evidence->pinned, (const char *)holder->functions->pdata[0]));
    else if (holder != NULL)
        say(finding,
            sentence("most live objects of that class are allocated by %s", (const char *)holder->functions->pdata[0]));
    say_against(finding, CAUSE_ARENAS, "the slabs of each arena are empty themselves");
}

static void
judge_arenas(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)(waste->spread + waste->arena_data);

    if (!is_waste(the, bytes))
        return;
    DoctorFinding *finding = add(the, RANK_WASTE, CAUSE_ARENAS, bytes);
    finding->confidence = 0.9;
    say(finding, sentence("%u arenas: one would need %S less of slabs, and %S less for its own data", waste->arenas,
                          (gdouble)waste->spread, (gdouble)waste->arena_data));
}

static void
judge_thread_caches(Case *the)
{
    gdouble bytes = (gdouble)the->waste.cached;

    if (!is_waste(the, bytes))
        return;
    DoctorFinding *finding = add(the, RANK_WASTE, CAUSE_THREAD_CACHES, bytes);
    finding->confidence = 0.95;
    say(finding, sentence("thread caches hold %S that the program has freed", bytes));
    if (the->last != NULL && the->last->threads != G_MAXUINT64)
        say(finding,
            sentence("%u threads, %S each", (guint)the->last->threads, bytes / MAX((gdouble)the->last->threads, 1)));
    say_against(finding, CAUSE_HEAP_LEAK, "the program has freed this memory");
}

static void
judge_metadata(Case *the)
{
    const StatsWaste *waste = &the->waste;
    gdouble bytes = (gdouble)waste->metadata;

    if (bytes < WASTE_LEAST || bytes < METADATA_SHARE * the->memory)
        return;
    DoctorFinding *finding = add(the, RANK_WASTE, CAUSE_METADATA, bytes);
    finding->advice = stats_waste_metadata_remedy(waste);
    finding->confidence = 0.9;
    say(finding, sentence("jemalloc's own data is %S: %S are its allocations from arenas (the profiler, thread "
                          "caches), %S the data of %u arenas",
                          bytes, (gdouble)waste->internal, (gdouble)waste->arena_data, waste->arenas));
}

/* ---- what holds the memory, if nothing is wrong with it ---- */

/* How much was allocated in the classes of these objects during the watch, of what they hold. */
static gdouble
turnover(const Case *the, guint64 block)
{
    const DoctorClass *class = doctor_class_of(the->classes, block);
    gdouble allocated = 0, bytes = 0;

    if (class != NULL && block > 0)
        return class->bytes > 0 ? class->allocated / class->bytes : 0;
    for (guint i = 0; i < the->classes->classes->len; i++) {
        allocated += g_array_index(the->classes->classes, DoctorClass, i).allocated;
        bytes += g_array_index(the->classes->classes, DoctorClass, i).bytes;
    }
    return bytes > 0 ? allocated / bytes : 0;
}

/* Blocks of a power of two are what containers have that double. */
static gboolean
is_doubled(guint64 block)
{
    enum { LEAST = 4096 };
    gdouble exponent = block >= LEAST ? log2((gdouble)block) : 0.5;

    return fabs(exponent - round(exponent)) < 0.01;
}

/* Where samples show it, by those of the holder itself: its size classes may be those of others as well. */
static gboolean
turns_over(const Case *the, const DoctorStack *holder, gdouble renewed)
{
    if (holder == NULL)
        return renewed >= TURNOVER;
    gdouble samples = holder->error > 0 ? holder->bytes * holder->bytes / (holder->error * holder->error) : 0;
    gdouble expected = MIN(renewed, 1);
    if (the->evidence->profile == DOCTOR_PROFILE_WHOLE && the->evidence->profiled_seconds > 0 &&
        expected * samples >= TELLING)
        return holder->moved >= OTHERS_SHARE * expected * holder->bytes;
    return renewed >= TURNOVER || holder->moved > 0;
}

static void
add_holder(Case *the, const DoctorStack *holder, gdouble bytes, gdouble confidence)
{
    gdouble untouched = -line_now(the, LEDGER_UNTOUCHED), renewed = turnover(the, holder != NULL ? holder->block : 0);
    gboolean unwritten = untouched >= UNTOUCHED_SHARE * bytes;
    gboolean roomy =
        holder == NULL ? unwritten : holder->buckets || (holder->container && (unwritten || is_doubled(holder->block)));
    CauseId cause = holder != NULL && holder->unloaded ? CAUSE_UNLOADED_CODE
                    : the->fills                       ? CAUSE_CACHE
                    : turns_over(the, holder, renewed) ? CAUSE_CACHE
                    : roomy                            ? CAUSE_CAPACITY
                                                       : CAUSE_STARTUP;
    DoctorFinding *finding = add(the, RANK_HOLDER, cause, bytes);
    g_autofree char *percent = g_strdup_printf("%.1f %%", 100 * renewed);
    g_autofree char *share = g_strdup_printf("%.0f %%", 100 * bytes / the->memory);

    set_functions(finding, holder);
    finding->confidence = confidence;
    say(finding,
        sentence(the->fills ? "it holds %S, %s of the memory; the heap grew during the watch, and slowed down to "
                              "less than half of its speed"
                            : "it holds %S, %s of the memory, and did not grow",
                 bytes, share));
    say(finding, sentence("allocations in its size classes during the watch: %s of what they hold", percent));
    say_unloaded(finding, holder);
    if (cause == CAUSE_CAPACITY && unwritten)
        say(finding, sentence(holder != NULL ? "a container asked for it, and %S of the heap were never written"
                                             : "%S of the heap were never written",
                              untouched));
    else if (cause == CAUSE_CAPACITY && holder->buckets)
        say(finding, g_strdup("most of it is the array of a hash table, which is larger than all of its entries"));
    else if (cause == CAUSE_CAPACITY)
        say(finding, sentence("a container asked for it, in blocks of %S: each time it is full it doubles",
                              (gdouble)holder->block));
    if (cause == CAUSE_CAPACITY && !unwritten)
        finding->confidence = HINT;
    say_against(finding, CAUSE_HEAP_LEAK, the->fills ? "the growth slows down" : "it did not grow");
}

/* Whether it is known that nothing grew: by statistics, or by dumps that are long enough apart. */
static gboolean
saw_time_pass(const Case *the)
{
    enum { LONG_ENOUGH = 10 };

    return (the->sample != NULL && the->classes->seconds > 0) || the->evidence->profiled_seconds >= LONG_ENOUGH;
}

static void
judge_holder(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    const DoctorStack *holder = evidence->holder;
    uint64_t held = 0;

    if ((the->classes->grows && !the->fills) || !saw_time_pass(the))
        return;
    if (holder != NULL && is_holder(the, holder->bytes)) {
        add_holder(the, holder, holder->bytes, 0.8);
        return;
    }
    if (the->sample == NULL || !stats_values_get(the->sample->totals, STATS_HELD, &held))
        return;
    gdouble nameless = (gdouble)held - evidence->profiled;
    /* A profile of the whole run leaves nothing unexplained: then many functions hold the rest. */
    if (evidence->profile != DOCTOR_PROFILE_WHOLE && nameless >= NAMELESS_LEAST &&
        nameless >= NAMELESS_SHARE * the->memory)
        add_holder(the, NULL, nameless, 0.4);
}

/* ---- what was ---- */

/* What was resident once and is not any more; 0: not worth a word. */
static gdouble
past_burst(const Case *the)
{
    if (the->last == NULL || the->last->peak == G_MAXUINT64 || the->last->rss == G_MAXUINT64)
        return 0;
    gdouble peak = (gdouble)the->last->peak, gone = peak - (gdouble)the->last->rss;
    return gone >= BURST_LEAST && gone >= BURST_SHARE * peak && !the->classes->grows ? gone : 0;
}

static void
judge_burst(Case *the)
{
    gdouble gone = past_burst(the);

    if (gone <= 0)
        return;
    gdouble peak = (gdouble)the->last->peak, rss = (gdouble)the->last->rss;
    DoctorFinding *finding = add(the, RANK_PAST, CAUSE_BURST, gone);
    finding->confidence = 0.85;
    say(finding, sentence("%S are resident, and %S were at most (VmHWM)", rss, peak));
}

static void
judge_retained(Case *the)
{
    uint64_t retained = the->sample != NULL ? stats_values_or(the->sample->totals, STATS_RETAINED, 0) : 0;

    /* A burst leaves address space behind: it is the cause, unless there is much more of it. */
    if ((gdouble)retained < RETAINED_LEAST || (gdouble)retained < 2 * the->memory ||
        (gdouble)retained < RETAINED_BEYOND_BURST * past_burst(the))
        return;
    DoctorFinding *finding = add(the, RANK_PAST, CAUSE_RETAINED, (gdouble)retained);
    finding->confidence = 0.8;
    say(finding, sentence("%S of address space are retained; %S are resident", (gdouble)retained, the->memory));
}

static void
judge_churn(Case *the)
{
    static const StatsMetric metrics[] = {STATS_ARENA_SMALL_NREQUESTS, STATS_ARENA_LARGE_NREQUESTS};
    gdouble requests = 0, bytes = 0;

    if (the->first_sample == NULL || the->classes->seconds <= 0)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
        requests +=
            (gdouble)merged_value(the->sample, metrics[i]) - (gdouble)merged_value(the->first_sample, metrics[i]);
    for (guint i = 0; i < the->classes->classes->len; i++)
        bytes += g_array_index(the->classes->classes, DoctorClass, i).allocated;
    /* Counters miss what thread caches serve. */
    requests = MAX(requests / the->classes->seconds, the->evidence->born_objects);
    bytes = MAX(bytes / the->classes->seconds, the->evidence->born_bytes);
    gdouble used = processors(the, 0, the->evidence->moments->len - 1);
    gdouble enough = used >= CHURN_BUSY ? CHURN_BUSY_SHARE * CHURN_REQUESTS : CHURN_REQUESTS;
    if (requests < enough && bytes < CHURN_BYTES)
        return;
    uint64_t held = stats_values_or(the->sample->totals, STATS_HELD, 0);
    DoctorFinding *finding = add(the, RANK_PAST, CAUSE_CHURN, (gdouble)held);
    g_autofree char *count = g_strdup_printf("%.0f", requests);
    finding->confidence = 0.8;
    set_functions(finding, the->evidence->mover);
    say(finding, sentence("%s allocations and at least %S a second, while what is held stays the same", count, bytes));
}

/* ---- all ---- */

static gint
by_rank(gconstpointer a, gconstpointer b)
{
    const Ranked *left = a;
    const Ranked *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->rank == RANK_GROWTH && left->finding->rate != right->finding->rate)
        return left->finding->rate > right->finding->rate ? -1 : 1;
    if (left->finding->bytes != right->finding->bytes)
        return left->finding->bytes > right->finding->bytes ? -1 : 1;
    return (left->finding->cause > right->finding->cause) - (left->finding->cause < right->finding->cause);
}

/* What only explains is of interest if nothing is wrong: the past, if nothing holds the memory. */
static void
take_findings(Case *the, DoctorReport *report)
{
    g_array_sort(the->ranked, by_rank);
    for (guint i = 0; i < the->ranked->len; i++) {
        Ranked *ranked = &g_array_index(the->ranked, Ranked, i);
        Rank best = g_array_index(the->ranked, Ranked, 0).rank;
        if (ranked->rank >= RANK_HOLDER && best != ranked->rank)
            finding_free(ranked->finding);
        else
            g_ptr_array_add(report->findings, ranked->finding);
    }
}

static void
add_notes(const Case *the, DoctorReport *report)
{
    static const char *const profiles[] = {
        [DOCTOR_PROFILE_NONE] =
            ("no heap profile: functions cannot be named; start the program with 'jescope run' to have one, or use "
             "--record after 'jescope attach'"),
        [DOCTOR_PROFILE_READY] =
            "sampling is off: --record switches it on for the watch, and names the functions that allocate then",
        [DOCTOR_PROFILE_YOUNG] = "sampling began shortly ago: functions that allocated earlier are not known",
    };
    if (the->evidence->profile < G_N_ELEMENTS(profiles))
        g_ptr_array_add(report->notes, g_strdup(profiles[the->evidence->profile]));
    if (!saw_time_pass(the) && the->evidence->holder != NULL) {
        const DoctorStack *holder = the->evidence->holder;
        g_ptr_array_add(report->notes,
                        sentence("%s holds the largest part, %S; only several looks over time tell whether it grows",
                                 (const char *)holder->functions->pdata[0], holder->bytes));
    }
    if (the->fills)
        g_ptr_array_add(
            report->notes,
            sentence("the heap grew by %S during the watch, and slowed down to less than half of its speed: "
                     "a cache that fills, or a warm-up; watch for longer (--for) to see whether it ends",
                     the->classes->rate * the->classes->seconds));
    if (the->evidence->without_arenas)
        g_ptr_array_add(report->notes,
                        g_strdup("the size classes of each arena were not read, since that would have taken too long: "
                                 "many-arenas could not be told; watch for longer (--for)"));
    if (report->findings->len > 0 && the->evidence->born_objects <= 0 &&
        ((const DoctorFinding *)report->findings->pdata[0])->cause == CAUSE_CHURN)
        g_ptr_array_add(report->notes, g_strdup("who allocates is known by births, which jescope's own sampler counts "
                                                "(--record --sampler=jescope), and jemalloc's profiler with "
                                                "prof_accum:true"));
    if (the->evidence->last == NULL)
        g_ptr_array_add(report->notes, g_strdup("the memory of the process outside of jemalloc is not known here"));
}

static void
prepare(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    const GArray *moments = evidence->moments;
    static const LedgerId beside[] = {LEDGER_TMPFS_FILES,   LEDGER_SOCKETS,     LEDGER_PIPES,
                                      LEDGER_KERNEL_STACKS, LEDGER_PAGE_TABLES, LEDGER_CHILDREN};

    for (guint i = 0; i < moments->len; i++) {
        const DoctorMoment *moment = &g_array_index(moments, DoctorMoment, i);
        the->first = i == 0 ? moment : the->first;
        the->last = moment;
        if (moment->sample != NULL) {
            the->first_sample = the->first_sample != NULL ? the->first_sample : moment->sample;
            the->sample = moment->sample;
        }
    }
    if (the->sample != NULL) {
        stats_waste(the->sample, &the->waste);
        stats_waste(the->first_sample, &the->before);
        the->resident = (gdouble)stats_values_or(the->sample->totals, STATS_RESIDENT, 0);
    }
    the->memory = evidence->last != NULL ? (gdouble)evidence->last->rss : 0;
    for (gsize i = 0; i < G_N_ELEMENTS(beside); i++)
        the->memory += line_now(the, beside[i]);
    if (the->memory <= 0 && the->last != NULL && the->last->rss != G_MAXUINT64)
        the->memory = (gdouble)the->last->rss;
    the->memory = the->memory > 0 ? the->memory : MAX(the->resident, evidence->profiled);
}

void
doctor_judge(const DoctorEvidence *evidence, const DoctorClasses *classes, DoctorReport *report)
{
    static void (*const judges[])(Case * the) = {
        judge_heap_growth, judge_dirty,  judge_fragmentation, judge_arenas,   judge_thread_caches,
        judge_metadata,    judge_holder, judge_burst,         judge_retained, judge_churn,
    };
    Case the = {.evidence = evidence, .classes = classes, .ranked = g_array_new(FALSE, FALSE, sizeof(Ranked))};

    *report = (DoctorReport){
        .findings = g_ptr_array_new_with_free_func(finding_free),
        .notes = g_ptr_array_new_with_free_func(g_free),
        .detectable = classes->held.detectable,
    };
    prepare(&the);
    for (gsize i = 0; i < G_N_ELEMENTS(judges); i++)
        judges[i](&the);
    for (gsize i = 0; evidence->last != NULL && i < G_N_ELEMENTS(places); i++)
        judge_place(&the, &places[i]);
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
