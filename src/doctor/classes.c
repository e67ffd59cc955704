/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/classes.h"

enum { NOTABLE_PART = 50 }; /* 1/NOTABLE_PART of all growth is notable */

static const gdouble STEADY_SHARE = 0.1; /* minimum share of steady growth while the rest slows down */

/* The metrics of a kind of classes. */
typedef struct {
    StatsMetric size, live, made;
} Kind;

static const Kind small_kind = {STATS_BIN_SIZE, STATS_BIN_CURREGS, STATS_BIN_NMALLOC};
static const Kind large_kind = {STATS_LARGE_SIZE, STATS_LARGE_CURLEXTENTS, STATS_LARGE_NMALLOC};

/* The moments that have statistics. */
typedef struct {
    gdouble *times, *values;
    gdouble *made;        /* bytes allocated so far in the class of values */
    gdouble *steady;      /* sum of the classes that grow, and neither slow down nor follow the load */
    gdouble *steady_made; /* bytes allocated so far in these classes */
    gdouble steady_noise; /* noise from their turnover */
    gdouble *all_made;
    const StatsSample **samples;
    gsize n;
    gboolean fills; /* all classes together slow down: then classes that slow down less count as filling, too */
    gdouble pace;   /* processor use in the last third of the watch relative to the whole watch; at most 1 */
} Moments;

static gdouble
processor_share(const DoctorMoment *from, const DoctorMoment *to)
{
    if (to->processor_ms == G_MAXUINT64 || to->processor_ms <= from->processor_ms || to->seconds <= from->seconds)
        return 0;
    return (gdouble)(to->processor_ms - from->processor_ms) / (to->seconds - from->seconds);
}

/* Processor use, since a program that does less grows more slowly. */
static gdouble
pace_of(const GArray *all)
{
    if (all->len < 3)
        return 1;
    const DoctorMoment *last = &g_array_index(all, DoctorMoment, all->len - 1);
    gdouble whole = processor_share(&g_array_index(all, DoctorMoment, 0), last);
    gdouble lately = processor_share(&g_array_index(all, DoctorMoment, all->len - 1 - all->len / 3), last);

    return whole > 0 ? MIN(1, lately / whole) : 1;
}

static void
moments_init(Moments *moments, const GArray *all)
{
    *moments = (Moments){.times = g_new(gdouble, all->len + 1),
                         .values = g_new(gdouble, all->len + 1),
                         .made = g_new0(gdouble, all->len + 1),
                         .steady = g_new0(gdouble, all->len + 1),
                         .steady_made = g_new0(gdouble, all->len + 1),
                         .all_made = g_new0(gdouble, all->len + 1),
                         .pace = pace_of(all),
                         .samples = g_new(const StatsSample *, all->len + 1)};
    for (guint i = 0; i < all->len; i++) {
        const DoctorMoment *moment = &g_array_index(all, DoctorMoment, i);
        if (moment->sample == NULL)
            continue;
        moments->samples[moments->n] = moment->sample;
        moments->times[moments->n++] = moment->seconds;
    }
}

static void
moments_clear(Moments *moments)
{
    g_free(moments->times);
    g_free(moments->values);
    g_free(moments->made);
    g_free(moments->steady);
    g_free(moments->steady_made);
    g_free(moments->all_made);
    g_free(moments->samples);
}

static const StatsTable *
table_of(const StatsSample *sample, const Kind *kind)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);

    if (merged == NULL)
        return NULL;
    return kind == &small_kind ? merged->bins : merged->large;
}

/* The row of a class, which is usually at NEAR: rows are in ascending order of sizes, but rows of classes that were
 * never used may be missing. */
static const StatsValues *
row_of(const StatsTable *table, const Kind *kind, guint64 size, guint near)
{
    if (table == NULL)
        return NULL;
    if (near < table->count && stats_values_or(stats_table_row(table, near), kind->size, 0) == size)
        return stats_table_row(table, near);
    for (guint i = 0; i < table->count; i++)
        if (stats_values_or(stats_table_row(table, i), kind->size, 0) == size)
            return stats_table_row(table, i);
    return NULL;
}

static uint64_t
live_bytes(const StatsValues *row, const Kind *kind)
{
    return row != NULL ? stats_values_or(row, kind->live, 0) * stats_values_or(row, kind->size, 0) : 0;
}

static void
add_growth(DoctorClasses *classes, const DoctorTrend *trend, gdouble bytes)
{
    classes->grows = TRUE;
    classes->rate += trend->rate;
    classes->recent += trend->recent;
    classes->low += trend->low;
    classes->high += trend->high;
    classes->onset = MIN(classes->onset, trend->onset);
    classes->bytes += bytes;
}

static gboolean
slows(const Moments *moments, const DoctorTrend *trend)
{
    return trend->recent < (moments->fills ? TREND_STEADY : TREND_SLOWER) * moments->pace * trend->rate;
}

static void
add_class(DoctorClasses *classes, Moments *moments, const Kind *kind, guint number)
{
    const StatsTable *table = table_of(moments->samples[moments->n - 1], kind);
    const StatsValues *last = stats_table_row(table, number);
    DoctorClass class = {.size = stats_values_or(last, kind->size, 0)};
    const StatsValues *first = row_of(table_of(moments->samples[0], kind), kind, class.size, number);
    DoctorTrend trend;

    for (gsize i = 0; i < moments->n; i++) {
        const StatsValues *row = row_of(table_of(moments->samples[i], kind), kind, class.size, number);
        moments->values[i] = (gdouble)live_bytes(row, kind);
        moments->made[i] = row ? (gdouble)stats_values_or(row, kind->made, 0) * (gdouble) class.size : 0;
        moments->all_made[i] += moments->made[i];
    }
    uint64_t made = stats_values_or(last, kind->made, 0);
    uint64_t before = first != NULL ? stats_values_or(first, kind->made, 0) : 0;
    class.bytes = moments->values[moments->n - 1];
    class.allocated = made > before ? (gdouble)(made - before) * (gdouble) class.size : 0;
    class.risen = class.bytes - moments->values[0];
    doctor_trend_among(moments->times, moments->values, moments->n, table->count, &trend);
    DoctorTurnover turnover = {
        .size = (gdouble) class.size,
        .births = class.allocated / (gdouble) class.size,
        .deaths = MAX(0, class.allocated - class.risen) / (gdouble) class.size,
        .live = (class.bytes - class.risen / 2) / (gdouble) class.size,
    };
    doctor_trend_doubt(&trend, &turnover, classes->seconds, table->count);
    if (trend.grows && !(moments->fills && trend.behind)) {
        class.grown = trend.last - trend.first;
        doctor_trend_widen(&trend, class.grown * (gdouble) class.size, classes->seconds);
        DoctorLoad load = {0};
        class.fills = slows(moments, &trend);
        class.follows =
            !class.fills && doctor_follows(moments->times, moments->values, moments->made, moments->n, &load);
        classes->load.from += class.follows ? load.from : 0;
        classes->load.to += class.follows ? load.to : 0;
        moments->steady_noise += class.fills || class.follows ? 0 : doctor_turnover_noise(&turnover, classes->seconds);
        for (gsize i = 0; !class.fills && !class.follows && i < moments->n; i++) {
            moments->steady[i] += moments->values[i];
            moments->steady_made[i] += moments->made[i];
        }
        add_growth(classes, &trend, class.bytes);
    }
    g_array_append_val(classes->classes, class);
}

static void
add_classes(DoctorClasses *classes, Moments *moments, const Kind *kind)
{
    const StatsTable *table = moments->n > 0 ? table_of(moments->samples[moments->n - 1], kind) : NULL;

    for (guint i = 0; table != NULL && i < table->count; i++)
        add_class(classes, moments, kind, i);
}

/* The variance of what was added to the classes that hold more than at first: the sum of the squared sizes of
 * objects. */
static gdouble
squares_of_risen(const DoctorClasses *classes)
{
    gdouble sum = 0;

    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        sum += MAX(0, class->risen) * (gdouble) class->size;
    }
    return sum;
}

/* The bytes held by the classes that have a notable part of the growth. */
static gdouble
held_by_risen(const DoctorClasses *classes)
{
    gdouble least = (classes->held.last - classes->held.first) / NOTABLE_PART, sum = 0;

    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        sum += class->risen >= least ? class->bytes : 0;
    }
    return sum > 0 ? sum : classes->held.last;
}

static void
forget_growth(DoctorClasses *classes)
{
    classes->grows = FALSE;
    classes->rate = classes->recent = classes->low = classes->high = classes->bytes = 0;
    classes->onset = G_MAXDOUBLE;
}

/* Excludes caches that fill beside a leak, and classes that follow the load, if the remaining classes together grow
 * steadily. */
static void
set_apart(DoctorClasses *classes, const Moments *moments)
{
    gdouble filling = 0, following = 0, bytes = 0, squares = 0, all = classes->rate;
    DoctorTrend steady;
    DoctorLoad load;

    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        filling += class->fills ? class->grown : 0;
        following += class->follows ? class->grown : 0;
        bytes += class->grown > 0 && !class->fills && !class->follows ? class->bytes : 0;
        squares += class->fills || class->follows ? 0 : class->grown * (gdouble) class->size;
    }
    doctor_trend(moments->times, moments->steady, moments->n, &steady);
    gboolean rest = steady.grows && !slows(moments, &steady) &&
                    !doctor_follows(moments->times, moments->steady, moments->steady_made, moments->n, &load);
    classes->follows = following > 0 && !rest;
    if (filling + following <= 0 || !rest || (filling > 0 && steady.rate < STEADY_SHARE * all))
        return;
    forget_growth(classes);
    doctor_trend_widen(&steady, squares, classes->seconds);
    add_growth(classes, &steady, bytes);
    classes->apart = MAX(0, all - steady.rate);
    for (guint i = 0; i < classes->classes->len; i++) {
        DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        class->grown = class->fills || class->follows ? 0 : class->grown;
    }
}

/* Computes the trend of what all classes hold together. Returns the number of its values. */
static gsize
look_at_all(DoctorClasses *classes, Moments *moments)
{
    static const StatsMetric metrics[] = {STATS_HELD, STATS_ALLOCATED};
    gsize n = 0;

    for (guint j = 0; j < G_N_ELEMENTS(metrics) && n < moments->n; j++) {
        for (n = 0; n < moments->n; n++) {
            uint64_t value;
            if (!stats_values_get(moments->samples[n]->totals, metrics[j], &value))
                break;
            moments->values[n] = (gdouble)value;
        }
    }
    doctor_trend(moments->times, moments->values, n, &classes->held);
    return n;
}

/* Whether the classes that grow steadily leak although all classes together grow faster: the others fill or follow the
 * load, and these do not. */
static gboolean
leaks_beside_load(const Moments *moments, gsize n)
{
    g_autofree gdouble *others = g_new(gdouble, n + 1), *others_made = g_new(gdouble, n + 1);
    DoctorTrend steady, rest;
    DoctorLoad load;

    for (gsize i = 0; i < n; i++) {
        others[i] = moments->values[i] - moments->steady[i];
        others_made[i] = moments->all_made[i] - moments->steady_made[i];
    }
    doctor_trend(moments->times, moments->steady, n, &steady);
    doctor_trend(moments->times, others, n, &rest);
    return steady.grows && !slows(moments, &steady) &&
           !doctor_follows(moments->times, moments->steady, moments->steady_made, n, &load) &&
           (slows(moments, &rest) || doctor_follows(moments->times, others, others_made, n, &load)) &&
           doctor_outgrows(moments->times, moments->steady, others, n, moments->steady_noise);
}

/* Judges by the counters of all classes together: if objects have many sizes, only some classes or none may grow by
 * themselves. */
static void
judge_held(DoctorClasses *classes, Moments *moments)
{
    gsize n = look_at_all(classes, moments);

    if (classes->held.grows && classes->held.low > classes->rate + classes->apart) {
        if (leaks_beside_load(moments, n))
            classes->apart = classes->held.rate - classes->rate;
        else
            forget_growth(classes);
    }
    if (classes->held.grows && !classes->grows) {
        doctor_trend_widen(&classes->held, squares_of_risen(classes), classes->seconds);
        add_growth(classes, &classes->held, held_by_risen(classes));
        classes->follows = doctor_follows(moments->times, moments->values, moments->all_made, n, &classes->load);
    }
}

static gdouble
cached_bytes(const StatsSample *sample)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);

    return merged != NULL ? (gdouble)stats_values_or(merged->values, STATS_ARENA_TCACHE, 0) : 0;
}

/* Whether thread caches that fill explain the growth of size classes, which count what is in the caches as live. */
static gboolean
is_in_caches(const DoctorClasses *classes, const Moments *moments)
{
    static const gdouble EXPLAINED = 0.5;

    if (!classes->grows || classes->held.grows)
        return FALSE;
    gdouble risen = cached_bytes(moments->samples[moments->n - 1]) - cached_bytes(moments->samples[0]);
    return risen >= EXPLAINED * classes->rate * classes->seconds;
}

void
doctor_classes(const GArray *all, DoctorClasses *classes)
{
    Moments moments;

    moments_init(&moments, all);
    *classes = (DoctorClasses){.classes = g_array_new(FALSE, FALSE, sizeof(DoctorClass)), .onset = G_MAXDOUBLE};
    classes->seconds = moments.n > 0 ? moments.times[moments.n - 1] - moments.times[0] : 0;
    look_at_all(classes, &moments);
    moments.fills = classes->held.slows && classes->held.rate * classes->seconds >= TREND_LEAST;
    add_classes(classes, &moments, &small_kind);
    add_classes(classes, &moments, &large_kind);
    set_apart(classes, &moments);
    judge_held(classes, &moments);
    if (is_in_caches(classes, &moments))
        forget_growth(classes);
    classes->slows = classes->grows && classes->recent < (moments.fills ? TREND_STEADY : TREND_SLOWER) * classes->rate;
    moments_clear(&moments);
}

void
doctor_classes_clear(DoctorClasses *classes)
{
    g_clear_pointer(&classes->classes, g_array_unref);
}

const DoctorClass *
doctor_class_of(const DoctorClasses *classes, guint64 size)
{
    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        if (class->size >= size)
            return class;
    }
    return NULL;
}
