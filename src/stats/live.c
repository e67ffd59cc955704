/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/live.h"

#include "confine/account.h"
#include "stats/intern.h"
#include "stats/printed.h"
#include "target/own-room.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARENAS_MAX = 4096,
    FEW_ARENAS = 8,
    SAMPLE_S = 30, /* time limit; 1000 arenas with all their classes take 5 */
};

/* Controls that are read together, as a row of values. */
typedef struct {
    GString *names; /* as SampleRequest.names */
    guint n;
    int metrics[WIRE_SAMPLE_CONTROLS_MAX]; /* the metric, or -1 */
    gboolean settled;                      /* alternatives are chosen, absent ones removed */
} Batch;

/* The kinds of size classes and their controls. */
typedef struct {
    const char *count;  /* control with their number */
    const char *sizes;  /* "arenas.bin." */
    const char *values; /* "bins." */
    StatsScope scope;
} ClassKind;

/* jemalloc has one of each scope. */
static const ClassKind class_kinds[] = {
    {"2arenas.nbins", "arenas.bin.", "bins.", STATS_SCOPE_BIN},
    {"3arenas.nlextents", "arenas.lextent.", "lextents.", STATS_SCOPE_LARGE},
    {"3arenas.nlruns", "arenas.lrun.", "lruns.", STATS_SCOPE_LARGE},
    {"2arenas.nlextents", "arenas.lextent.", "lextents.", STATS_SCOPE_LARGE},
};

struct StatsLive {
    Target *target;
    StatsLiveParts parts;
    gint64 limit_us;
    const char *version;
    gboolean merged_is_last; /* before 5.0 the merged arena's number is narenas */
    Batch totals;
    Batch arena;
    Batch sizes;
    Batch both; /* totals and arena together, once they are settled and fit one exchange; n is 0 until then */
};

/* The minimum for the sizes: with a thousand arenas each metric costs a millisecond. */
static const StatsMetric size_metrics[] = {STATS_ARENA_SMALL_ALLOCATED, STATS_ARENA_LARGE_ALLOCATED,
                                           STATS_ARENA_PACTIVE, STATS_ARENA_MAPPED, STATS_ARENA_RESIDENT};

/* The values of a summary, those from which held is derived, and jemalloc's pages that resident does not include. */
static const StatsMetric figure_totals[] = {STATS_ALLOCATED,          STATS_ACTIVE, STATS_METADATA,
                                            STATS_RESIDENT,           STATS_MAPPED, STATS_RETAINED,
                                            STATS_SAMPLING_LG_PERIOD, STATS_ARENAS, STATS_PAGE};
static const StatsMetric figure_arena[] = {STATS_ARENA_SMALL_ALLOCATED, STATS_ARENA_TCACHE,
                                           STATS_ARENA_TCACHE_STASHED,  STATS_ARENA_LARGE_SMALLEST,
                                           STATS_ARENA_INTERNAL,        STATS_ARENA_METADATA_ALLOCATED,
                                           STATS_ARENA_PMUZZY};

static char
type_digit(StatsCType type)
{
    static const WireType types[] = {[STATS_CTYPE_SIZE] = WIRE_TYPE_SIZE,
                                     [STATS_CTYPE_U64] = WIRE_TYPE_U64,
                                     [STATS_CTYPE_UNSIGNED] = WIRE_TYPE_UNSIGNED,
                                     [STATS_CTYPE_SSIZE] = WIRE_TYPE_SSIZE};
    return (char)('0' + types[type]);
}

static void
batch_add_name(Batch *batch, int metric, char type, const char *name, gsize length)
{
    batch->metrics[batch->n++] = metric;
    g_string_append_c(batch->names, type);
    g_string_append_len(batch->names, name, (gssize)length);
    g_string_append_c(batch->names, '\0');
}

static void
batch_init(Batch *batch)
{
    batch->names = g_string_new(NULL);
}

static void
batch_clear(Batch *batch)
{
    g_string_free(batch->names, TRUE);
}

/* Adds all alternatives of METRIC's controls, in the short form for arenas. */
static void
batch_add(Batch *batch, StatsMetric metric)
{
    static const char arena[] = "stats.arenas.<i>";
    const StatsMetricInfo *info = &stats_metrics[metric];
    for (const char *name = info->controls; *name != '\0';) {
        gsize length = strcspn(name, " ");
        gsize skipped = strncmp(name, arena, strlen(arena)) == 0 ? strlen(arena) : 0;
        batch_add_name(batch, (int)metric, type_digit(info->ctype), name + skipped, length - skipped);
        name += length + strspn(name + length, " ");
    }
}

/* Drops the metrics that are absent in the first row of values. */
static void
batch_settle(Batch *batch, guint64 present)
{
    Batch left;
    batch_init(&left);
    left.n = 0;
    const char *name = batch->names->str;
    for (guint i = 0; i < batch->n; i++, name += strlen(name) + 1)
        if (present & (G_GUINT64_CONSTANT(1) << i))
            batch_add_name(&left, batch->metrics[i], name[0], name + 1, strlen(name + 1));
    batch_clear(batch);
    *batch = left;
    batch->settled = TRUE;
}

/* Sets METRIC unless it is set: of several controls for a metric, the first that jemalloc has is used. */
static void
take_value(StatsValues *values, StatsMetric metric, guint64 value)
{
    uint64_t taken;
    if (!stats_values_get(values, metric, &taken))
        stats_values_set(values, metric, value);
}

static void
row_take(const Batch *batch, const guint64 *row, StatsValues *values)
{
    for (guint i = 0; i < batch->n; i++)
        if (batch->metrics[i] >= 0 && (row[0] & (G_GUINT64_CONSTANT(1) << i)))
            take_value(values, (StatsMetric)batch->metrics[i], row[1 + i]);
}

/* The size classes of one scope, the same in all arenas. */
typedef struct {
    gboolean sought;
    const ClassKind *kind; /* NULL: none */
    guint count;
} Classes;

static const StatsScope class_scopes[] = {STATS_SCOPE_BIN, STATS_SCOPE_LARGE};

/* One sample being taken. */
typedef struct {
    StatsLive *live;
    StatsSample *sample;
    Classes classes[STATS_SCOPE_COUNT]; /* see classes_of() */
    gint64 until;                       /* its end, as of target_wait_until() */
    guint64 spent_ns;                   /* time spent inside jemalloc */
    gboolean refreshed;
    gboolean printed; /* the arenas are read from jemalloc's JSON */
} Take;

static void
set_late(const Take *take, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT, "%s did not give all of its statistics in time",
                target_label(take->live->target));
}

/* A target chooses how many requests there are, and could answer each just in time. */
static guint64 *
read_rows(Take *take, const Batch *batch, guint first, guint count, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (g_get_monotonic_time() >= take->until) {
        set_late(take, error);
        return NULL;
    }
    g_autofree guint64 *rows = g_new0(guint64, (gsize)count * (1 + batch->n));
    SampleRequest request = {
        .names = batch->names->str, .n = batch->n, .first = first, .count = count, .refresh = !take->refreshed};
    if (!target_sample(take->live->target, &request, rows, &take->spent_ns, &cause)) {
        if (g_error_matches(cause, TARGET_ERROR, OUTCOME_SILENT) && g_get_monotonic_time() >= take->until)
            set_late(take, error);
        else
            g_propagate_error(error, g_steal_pointer(&cause));
        return NULL;
    }
    take->refreshed = TRUE;
    return g_steal_pointer(&rows);
}

static gboolean
no_statistics(const StatsLive *live, GError **error)
{
    g_set_error(error, STATS_ERROR, STATS_ERROR_FORMAT,
                "the jemalloc of %s was built without statistics (--disable-stats)", target_label(live->target));
    return FALSE;
}

static gboolean
check_statistics(const Take *take, GError **error)
{
    uint64_t allocated, arenas;
    if (!stats_values_get(take->sample->totals, STATS_ALLOCATED, &allocated))
        return no_statistics(take->live, error);
    if (!stats_values_get(take->sample->totals, STATS_ARENAS, &arenas) || arenas <= ARENAS_MAX)
        return TRUE;
    g_set_error(error, STATS_ERROR, STATS_ERROR_FORMAT,
                "%s says that it has %" G_GUINT64_FORMAT " arenas; jemalloc has %d at most",
                target_label(take->live->target), (guint64)arenas, ARENAS_MAX);
    return FALSE;
}

static gboolean
take_totals(Take *take, GError **error)
{
    Batch *batch = &take->live->totals;
    g_autofree guint64 *row = read_rows(take, batch, 0, 1, error);
    if (row == NULL)
        return FALSE;
    row_take(batch, row, take->sample->totals);
    if (!check_statistics(take, error))
        return FALSE;
    if (!batch->settled)
        batch_settle(batch, row[0]);
    return TRUE;
}

static void
join_batches(StatsLive *live)
{
    gsize length = live->totals.names->len + live->arena.names->len;
    guint n = live->totals.n + live->arena.n;
    if (live->merged_is_last || length >= WIRE_SAMPLE_NAMES_SIZE || n > WIRE_SAMPLE_CONTROLS_MAX)
        return;
    g_string_append_len(live->both.names, live->totals.names->str, (gssize)live->totals.names->len);
    g_string_append_len(live->both.names, live->arena.names->str, (gssize)live->arena.names->len);
    memcpy(live->both.metrics, live->totals.metrics, live->totals.n * sizeof(int));
    memcpy(live->both.metrics + live->totals.n, live->arena.metrics, live->arena.n * sizeof(int));
    live->both.n = n;
}

/* Takes the values of ROW that belong to SCOPE. */
static void
row_take_scope(const Batch *batch, const guint64 *row, StatsScope scope, StatsValues *values)
{
    for (guint i = 0; i < batch->n; i++)
        if (stats_metrics[batch->metrics[i]].scope == scope && (row[0] & (G_GUINT64_CONSTANT(1) << i)))
            take_value(values, (StatsMetric)batch->metrics[i], row[1 + i]);
}

static gboolean
take_both(Take *take, GError **error)
{
    const Batch *batch = &take->live->both;
    g_autofree guint64 *row = read_rows(take, batch, STATS_ARENA_MERGED, 1, error);
    if (row == NULL)
        return FALSE;
    row_take_scope(batch, row, STATS_SCOPE_TOTALS, take->sample->totals);
    row_take_scope(batch, row, STATS_SCOPE_ARENA, stats_sample_arena(take->sample, STATS_ARENA_MERGED)->values);
    return check_statistics(take, error);
}

static guint
arena_limit(const Take *take)
{
    return (guint)stats_values_or(take->sample->totals, STATS_ARENAS, 0); /* check_statistics() */
}

static guint
merged_number(const Take *take)
{
    return take->live->merged_is_last ? arena_limit(take) : STATS_ARENA_MERGED;
}

static gboolean
take_arena(Take *take, guint number, guint index, GError **error)
{
    Batch *batch = &take->live->arena;
    g_autofree guint64 *row = read_rows(take, batch, number, 1, error);
    if (row == NULL)
        return FALSE;
    if (row[0] == 0)
        return TRUE;
    row_take(batch, row, stats_sample_arena(take->sample, index)->values);
    if (!batch->settled)
        batch_settle(batch, row[0]);
    return TRUE;
}

/* Whether the arena was ever used: unused arenas have only zeros, used ones have at least their base resident. */
static gboolean
in_use(const Batch *batch, const guint64 *row)
{
    for (guint i = 0; i < batch->n; i++)
        if (row[1 + i] != 0 && (row[0] & (G_GUINT64_CONSTANT(1) << i)) &&
            batch->metrics[i] != STATS_ARENA_DIRTY_DECAY && batch->metrics[i] != STATS_ARENA_MUZZY_DECAY)
            return TRUE;
    return FALSE;
}

static void
drop_never(StatsArena *arena)
{
    static const StatsMetric decay[] = {STATS_ARENA_DIRTY_DECAY, STATS_ARENA_MUZZY_DECAY};
    for (gsize i = 0; arena != NULL && i < G_N_ELEMENTS(decay); i++)
        arena->values->present &= ~(UINT64_C(1) << (decay[i] - stats_scope_first(STATS_SCOPE_ARENA)));
}

static gboolean
take_each_arena(Take *take, const Batch *batch, GError **error)
{
    guint count = arena_limit(take);
    g_autofree guint64 *rows = count > 0 ? read_rows(take, batch, 0, count, error) : NULL;
    for (guint i = 0; rows != NULL && i < count; i++) {
        const guint64 *row = rows + (gsize)i * (1 + batch->n);
        if (in_use(batch, row))
            row_take(batch, row, stats_sample_arena(take->sample, i)->values);
    }
    return rows != NULL || count == 0;
}

/* Reads a number that is not a metric. FALSE if jemalloc does not have it. */
static gboolean
read_one(Take *take, const char *typed_name, guint64 *number)
{
    Batch batch = {0};
    batch_init(&batch);
    batch_add_name(&batch, -1, typed_name[0], typed_name + 1, strlen(typed_name + 1));
    g_autofree guint64 *row = read_rows(take, &batch, 0, 1, NULL);
    gboolean there = row != NULL && (row[0] & 1) != 0;
    if (there)
        *number = row[1];
    batch_clear(&batch);
    return there;
}

/* Adds the controls of METRIC of KIND for arena NUMBER, with "*" for the class. */
static void
class_batch_add(Batch *batch, const ClassKind *kind, guint number, StatsMetric metric)
{
    const StatsMetricInfo *info = &stats_metrics[metric];
    g_autofree char *arena = g_strdup_printf("stats.arenas.%u.%s*.", number, kind->values);
    g_autofree char *sizes = g_strconcat(kind->sizes, "*.", NULL);

    for (const char *name = info->controls; *name != '\0';) {
        gsize length = strcspn(name, " ");
        gboolean of_arena = strncmp(name, "stats.", 6) == 0;
        g_autofree char *pattern = g_strndup(name, length);
        const char *leaf = strrchr(pattern, '.') + 1;
        const char *table = of_arena ? kind->values : kind->sizes;
        if (strstr(pattern, table) != NULL) {
            g_autofree char *full = g_strconcat(of_arena ? arena : sizes, leaf, NULL);
            batch_add_name(batch, (int)metric, type_digit(info->ctype), full, strlen(full));
        }
        name += length + strspn(name + length, " ");
    }
}

/* Adds all metrics of KIND. */
static void
class_batch(Batch *batch, const ClassKind *kind, guint number)
{
    StatsMetric first = stats_scope_first(kind->scope);

    batch_init(batch);
    for (guint i = 0; i < stats_scope_count(kind->scope); i++)
        class_batch_add(batch, kind, number, first + i);
}

static void
slab_batch(Batch *batch, const ClassKind *kind, guint number)
{
    static const StatsMetric metrics[] = {STATS_BIN_SIZE,    STATS_BIN_NREGS,    STATS_BIN_SLAB_SIZE,
                                          STATS_BIN_CURREGS, STATS_BIN_CURSLABS, STATS_BIN_NONFULL};

    batch_init(batch);
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
        class_batch_add(batch, kind, number, metrics[i]);
}

static gboolean
class_used(StatsScope scope, const StatsValues *row)
{
    if (scope == STATS_SCOPE_BIN)
        return stats_values_or(row, STATS_BIN_NMALLOC, 0) != 0 || stats_values_or(row, STATS_BIN_CURREGS, 0) != 0;
    return stats_values_or(row, STATS_LARGE_NMALLOC, 0) != 0 || stats_values_or(row, STATS_LARGE_CURLEXTENTS, 0) != 0;
}

/* Takes ownership of BATCH. */
static gboolean
take_kind(Take *take, const Classes *classes, Batch *batch, StatsArena *arena, GError **error)
{
    const StatsScope scope = classes->kind->scope;
    g_autofree guint64 *rows = read_rows(take, batch, 0, classes->count, error);
    StatsTable **table = scope == STATS_SCOPE_BIN ? &arena->bins : &arena->large;
    if (rows != NULL && *table == NULL)
        *table = stats_table_new(scope);
    for (guint i = 0; rows != NULL && i < classes->count; i++) {
        StatsValues *row = stats_table_add(*table, NULL);
        row_take(batch, rows + (gsize)i * (1 + batch->n), row);
        if (!class_used(scope, row))
            (*table)->count--;
    }
    batch_clear(batch);
    return rows != NULL;
}

/* Asks for their number once: it is the same in all arenas. */
static const Classes *
classes_of(Take *take, StatsScope scope)
{
    Classes *classes = &take->classes[scope];
    for (gsize i = 0; !classes->sought && classes->kind == NULL && i < G_N_ELEMENTS(class_kinds); i++) {
        guint64 count;
        if (class_kinds[i].scope == scope && read_one(take, class_kinds[i].count, &count) && count > 0)
            *classes = (Classes){.kind = &class_kinds[i], .count = (guint)MIN(count, STATS_CLASSES_MAX)};
    }
    classes->sought = TRUE;
    return classes;
}

static gboolean
take_classes(Take *take, guint number, guint index, GError **error)
{
    StatsArena *arena = stats_sample_find(take->sample, index);
    for (gsize i = 0; arena != NULL && i < G_N_ELEMENTS(class_scopes); i++) {
        const Classes *classes = classes_of(take, class_scopes[i]);
        Batch batch = {0};
        if (classes->kind == NULL)
            continue;
        class_batch(&batch, classes->kind, number);
        if (!take_kind(take, classes, &batch, arena, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
take_slabs(Take *take, GError **error)
{
    StatsArena *arena = stats_sample_find(take->sample, STATS_ARENA_MERGED);
    const Classes *classes = classes_of(take, STATS_SCOPE_BIN);
    Batch batch = {0};
    if (arena == NULL || classes->kind == NULL)
        return TRUE;
    slab_batch(&batch, classes->kind, merged_number(take));
    return take_kind(take, classes, &batch, arena, error);
}

/* The rows that one arena may have. */
static guint
class_rows(Take *take)
{
    guint rows = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(class_scopes); i++)
        rows += classes_of(take, class_scopes[i])->count;
    return rows;
}

/* Whether there is memory left for the size classes of ARENAS arenas. If so, they are charged to the user of the
 * process until the sample is freed: several of his may be taken at once, or wait to be stored. */
static gboolean
charge_classes(Take *take, guint arenas)
{
    const uid_t account = account_of(target_user(take->live->target));
    const guint64 rows = MIN((guint64)arenas * class_rows(take), STATS_ROWS_MAX);
    stats_sample_charge(take->sample, account, rows * (1 + stats_scope_count(STATS_SCOPE_BIN)) * sizeof(uint64_t));
    if (own_room_may_hold(own_room_held(account)))
        return TRUE;
    stats_sample_charge(take->sample, account, 0);
    return FALSE;
}

static guint
table_rows(const StatsTable *table)
{
    return table != NULL ? table->count : 0;
}

/* The size classes of each arena, as many as a sample may have. */
static gboolean
take_single_classes(Take *take, GError **error)
{
    StatsSample *sample = take->sample;
    const guint count = stats_sample_arena_count(sample);
    guint left = charge_classes(take, count) ? STATS_ROWS_MAX : 0;
    for (guint i = 0; i < count; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        if (left < class_rows(take)) {
            sample->unread = count - i;
            break;
        }
        if (!take_classes(take, arena->index, arena->index, error))
            return FALSE;
        left -= table_rows(arena->bins) + table_rows(arena->large);
    }
    if (sample->charged > 0)
        stats_sample_charge(sample, sample->account, stats_sample_bytes(sample));
    return TRUE;
}

/* Like print_arenas(), for the merged arena. */
static gboolean
print_classes(Take *take)
{
    gint64 before = g_get_monotonic_time();
    gboolean done =
        target_via(take->live->target) == TARGET_VIA_ATTACH && printed_classes(take->live->target, take->sample);
    take->spent_ns += (guint64)(g_get_monotonic_time() - before) * 1000;
    return done;
}

static gboolean
take_all_classes(Take *take, GError **error)
{
    if ((take->live->parts & (STATS_LIVE_CLASSES | STATS_LIVE_ARENA_CLASSES)) != 0 && !print_classes(take) &&
        !take_classes(take, merged_number(take), STATS_ARENA_MERGED, error))
        return FALSE;
    if ((take->live->parts & STATS_LIVE_SLABS) != 0 && !take_slabs(take, error))
        return FALSE;
    const gboolean single = (take->live->parts & STATS_LIVE_ARENA_CLASSES) != 0 && !take->printed;
    return !single || take_single_classes(take, error);
}

static gboolean
take_mutex(Take *take, const char *name, GError **error)
{
    StatsMetric first = stats_scope_first(STATS_SCOPE_MUTEX);
    Batch batch = {0};
    batch_init(&batch);
    for (guint i = 0; i < stats_scope_count(STATS_SCOPE_MUTEX); i++) {
        const StatsMetricInfo *info = &stats_metrics[first + i];
        g_autofree char *full = g_strdup_printf("stats.mutexes.%s%s", name, info->controls + strlen("<m>"));
        batch_add_name(&batch, (int)(first + i), type_digit(info->ctype), full, strlen(full));
    }
    g_autofree guint64 *row = read_rows(take, &batch, 0, 1, error);
    if (row != NULL && row[0] != 0) {
        if (take->sample->mutexes == NULL)
            take->sample->mutexes = stats_table_new(STATS_SCOPE_MUTEX);
        row_take(&batch, row, stats_table_add(take->sample->mutexes, name));
    }
    batch_clear(&batch);
    return row != NULL;
}

static gboolean
take_mutexes(Take *take, GError **error)
{
    static const char *const names[] = {
        "background_thread", "max_per_bg_thd",   "ctl",       "prof", "prof_thds_data", "prof_dump",
        "prof_recent_alloc", "prof_recent_dump", "prof_stats"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (!take_mutex(take, names[i], error))
            return FALSE;
    return TRUE;
}

/* Takes the values of destroyed arenas, if there are any. */
static gboolean
take_destroyed(Take *take, GError **error)
{
    guint64 initialized = 0;
    g_autofree char *flag = g_strdup_printf("%darena.%u.initialized", WIRE_TYPE_BOOL, STATS_ARENA_DESTROYED);
    if (take->live->merged_is_last || !read_one(take, flag, &initialized) || initialized == 0)
        return TRUE;
    return take_arena(take, STATS_ARENA_DESTROYED, STATS_ARENA_DESTROYED, error);
}

static gboolean
take_merged(Take *take, GError **error)
{
    StatsLive *live = take->live;
    if (live->both.n > 0)
        return take_both(take, error);
    if (!take_totals(take, error) || !take_arena(take, merged_number(take), STATS_ARENA_MERGED, error))
        return FALSE;
    join_batches(live);
    return TRUE;
}

/* Without an agent each control is a call by a stopped thread: a hundred per arena, and ten per size class of it.
 * malloc_stats_print is a single call. */
static gboolean
print_arenas(Take *take)
{
    StatsLiveParts parts = take->live->parts;
    gboolean classes = (parts & STATS_LIVE_ARENA_CLASSES) != 0;
    if ((parts & STATS_LIVE_ARENAS) == 0 || target_via(take->live->target) != TARGET_VIA_ATTACH ||
        arena_limit(take) <= FEW_ARENAS)
        return FALSE;
    gint64 before = g_get_monotonic_time();
    const gboolean charged = classes && charge_classes(take, arena_limit(take));
    gboolean done = charged && printed_arenas(take->live->target, PRINTED_ARENAS_AND_CLASSES, take->sample);
    if (!done) {
        done = printed_arenas(take->live->target, PRINTED_ARENAS, take->sample);
        take->sample->unread = done && classes ? stats_sample_arena_count(take->sample) : 0;
    }
    if (charged)
        stats_sample_charge(take->sample, take->sample->account, stats_sample_bytes(take->sample));
    take->spent_ns += (guint64)(g_get_monotonic_time() - before) * 1000;
    return done;
}

static gboolean
take_sample(Take *take, GError **error)
{
    StatsLiveParts parts = take->live->parts;
    if (!take_merged(take, error))
        return FALSE;
    take->printed = print_arenas(take);
    if (take->printed) {
        if (!take_destroyed(take, error))
            return FALSE;
    } else if (parts & STATS_LIVE_ARENAS) {
        if (!take_each_arena(take, &take->live->arena, error) || !take_destroyed(take, error))
            return FALSE;
    } else if ((parts & STATS_LIVE_ARENA_SIZES) && !take_each_arena(take, &take->live->sizes, error)) {
        return FALSE;
    }
    drop_never(stats_sample_find(take->sample, STATS_ARENA_MERGED));
    drop_never(stats_sample_find(take->sample, STATS_ARENA_DESTROYED));
    return take_all_classes(take, error) && ((parts & STATS_LIVE_MUTEXES) == 0 || take_mutexes(take, error));
}

StatsSample *
stats_live_sample(StatsLive *live, GError **error)
{
    g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
    const gint64 limit = target_waits_until(live->target), until = g_get_monotonic_time() + live->limit_us;
    Take take = {.live = live, .sample = sample, .until = limit != 0 ? MIN(limit, until) : until};
    target_wait_until(live->target, take.until);
    const gboolean taken = take_sample(&take, error);
    target_wait_until(live->target, limit);
    if (!taken)
        return NULL;
    sample->time_us = g_get_real_time();
    sample->version = stats_intern_ref(live->version);
    stats_values_set(sample->totals, STATS_SAMPLE_COST, take.spent_ns);
    stats_sample_derive(sample, STATS_DERIVE_PLAIN);
    return g_steal_pointer(&sample);
}

/* Reads the profiler's controls only if it is known to be initialized (docs/protocol.md). */
static void
add_totals(StatsLive *live, StatsMetric metric, gboolean profiling)
{
    if (profiling || metric != STATS_SAMPLING_LG_PERIOD)
        batch_add(&live->totals, metric);
}

static void
add_all(StatsLive *live, gboolean profiling)
{
    for (guint i = 0; i < stats_scope_count(STATS_SCOPE_TOTALS); i++)
        add_totals(live, stats_scope_first(STATS_SCOPE_TOTALS) + i, profiling);
    for (guint i = 0; i < stats_scope_count(STATS_SCOPE_ARENA); i++)
        batch_add(&live->arena, stats_scope_first(STATS_SCOPE_ARENA) + i);
    for (gsize i = 0; i < G_N_ELEMENTS(size_metrics); i++)
        batch_add(&live->sizes, size_metrics[i]);
}

static void
add_figures(StatsLive *live, gboolean profiling)
{
    for (gsize i = 0; i < G_N_ELEMENTS(figure_totals); i++)
        add_totals(live, figure_totals[i], profiling);
    for (gsize i = 0; i < G_N_ELEMENTS(figure_arena); i++)
        batch_add(&live->arena, figure_arena[i]);
    join_batches(live);
}

static void
init_batches(StatsLive *live, gboolean profiling)
{
    batch_init(&live->totals);
    batch_init(&live->arena);
    batch_init(&live->sizes);
    batch_init(&live->both);
    if (live->parts == STATS_LIVE_FIGURES)
        add_figures(live, profiling);
    else
        add_all(live, profiling);
}

StatsLive *
stats_live_new(Target *target, StatsLiveParts parts, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return NULL;
    StatsLive *live = g_new0(StatsLive, 1);
    live->target = target;
    live->parts = parts;
    live->limit_us = SAMPLE_S * G_USEC_PER_SEC;
    live->version = stats_intern(hello.jemalloc_version, strlen(hello.jemalloc_version));
    int major = atoi(hello.jemalloc_version);
    live->merged_is_last = major > 0 && major < 5;
    init_batches(live, (hello.flags & WIRE_FLAG_OPT_PROF) != 0);
    return live;
}

void
stats_live_limit(StatsLive *live, gint64 us)
{
    live->limit_us = us;
}

void
stats_live_free(StatsLive *live)
{
    if (live == NULL)
        return;
    batch_clear(&live->totals);
    batch_clear(&live->arena);
    batch_clear(&live->sizes);
    batch_clear(&live->both);
    stats_intern_unref(live->version);
    g_free(live);
}
