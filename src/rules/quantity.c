/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/quantity.h"

#include "history/selector.h"
#include "routes/values.h"
#include "text/suggest.h"

#include <string.h>

enum { NEEDS_MAX = 3 };

/* A quantity that is computed from several metrics, or is a share. */
typedef struct {
    const char *name;
    StatsMetric needs[NEEDS_MAX];
    guint n_needs;
    gboolean (*compute)(const StatsValues *totals, gdouble *value);
} Derived;

struct QuantitySource {
    Probe *probe;           /* NULL: samples have it */
    const Derived *derived; /* NULL: it is a metric, or has a probe */
    Selector selector;
    guint64 size; /* of the selector's class */
};

/* ---- reading ---- */

static gboolean
compute_working_set(const StatsValues *totals, gdouble *value)
{
    uint64_t used, limit;
    if (!stats_values_get(totals, STATS_CGROUP_CURRENT, &used) || !stats_values_get(totals, STATS_CGROUP_MAX, &limit) ||
        limit == 0)
        return FALSE;
    used -= MIN(used, stats_values_or(totals, STATS_CGROUP_INACTIVE_FILE, 0));
    *value = (gdouble)used / (gdouble)limit;
    return TRUE;
}

static gboolean
compute_fragmentation(const StatsValues *totals, gdouble *value)
{
    uint64_t allocated, active;
    if (!stats_values_get(totals, STATS_ALLOCATED, &allocated) || !stats_values_get(totals, STATS_ACTIVE, &active) ||
        active == 0)
        return FALSE;
    *value = allocated < active ? 1 - (gdouble)allocated / (gdouble)active : 0;
    return TRUE;
}

static const Derived derived_rows[] = {
    {"working-set", {STATS_CGROUP_CURRENT, STATS_CGROUP_MAX, STATS_CGROUP_INACTIVE_FILE}, 3, compute_working_set},
    {"fragmentation", {STATS_ALLOCATED, STATS_ACTIVE}, 2, compute_fragmentation},
};

static const StatsValues *
find_class(const StatsTable *table, StatsMetric size_metric, guint64 size)
{
    uint64_t found;
    for (guint i = 0; table != NULL && i < table->count; i++)
        if (stats_values_get(stats_table_row(table, i), size_metric, &found) && found == size)
            return stats_table_row(table, i);
    return NULL;
}

/* The values of the selector's scope in ARENA (NULL: of the process), or NULL. */
static const StatsValues *
find_values(const QuantitySource *source, const StatsSample *sample, const StatsArena *arena)
{
    const StatsTable *mutexes = arena != NULL ? arena->mutexes : sample->mutexes;
    switch (stats_metrics[source->selector.metric].scope) {
    case STATS_SCOPE_TOTALS:
        return sample->totals;
    case STATS_SCOPE_ARENA:
        return arena != NULL ? arena->values : NULL;
    case STATS_SCOPE_BIN:
        return arena != NULL ? find_class(arena->bins, STATS_BIN_SIZE, source->size) : NULL;
    case STATS_SCOPE_LARGE:
        return arena != NULL ? find_class(arena->large, STATS_LARGE_SIZE, source->size) : NULL;
    default:
        return mutexes != NULL ? stats_table_find(mutexes, source->selector.item) : NULL;
    }
}

static gboolean
read_of(const QuantitySource *source, const StatsSample *sample, const StatsArena *arena, uint64_t *value)
{
    const StatsValues *values = find_values(source, sample, arena);
    return values != NULL && stats_values_get(values, source->selector.metric, value);
}

static gboolean
read_sum(const QuantitySource *source, const StatsSample *sample, uint64_t *value)
{
    gboolean found = FALSE;
    *value = 0;
    for (guint i = 0; i < stats_sample_arena_count(sample); i++) {
        uint64_t one;
        if (!read_of(source, sample, sample->arenas->pdata[i], &one))
            continue;
        *value += one;
        found = TRUE;
    }
    return found;
}

static gboolean
read_metric(const QuantitySource *source, const StatsSample *sample, uint64_t *value)
{
    const Selector *selector = &source->selector;
    if (stats_metrics[selector->metric].scope == STATS_SCOPE_TOTALS ||
        (selector->choice == OWNER_ONE && selector->owner == 0))
        return read_of(source, sample, NULL, value);
    guint wanted = selector->choice == OWNER_ONE ? selector->owner - 1 : STATS_ARENA_MERGED;
    const StatsArena *arena = stats_sample_find(sample, wanted);
    if (arena != NULL && read_of(source, sample, arena, value))
        return TRUE;
    return selector->choice == OWNER_TOGETHER && read_sum(source, sample, value);
}

/* The factor from UNIT to the unit of its AmountKind. */
static gdouble
unit_scale(StatsUnit unit)
{
    return unit == STATS_UNIT_NANOSECONDS ? 1e-9 : unit == STATS_UNIT_MILLISECONDS ? 1e-3 : 1;
}

const Probe *
quantity_probe(const Quantity *quantity)
{
    return quantity->source->probe;
}

static gboolean
read_probed(const Quantity *quantity, GHashTable *probed, gdouble *value)
{
    const gdouble *found = probed != NULL ? g_hash_table_lookup(probed, quantity->base) : NULL;
    if (found != NULL)
        *value = *found;
    return found != NULL;
}

gboolean
quantity_read(const Quantity *quantity, const StatsSample *sample, GHashTable *probed, gdouble *value)
{
    const QuantitySource *source = quantity->source;
    uint64_t number;
    if (source->probe != NULL)
        return read_probed(quantity, probed, value);
    if (source->derived != NULL)
        return source->derived->compute(sample->totals, value);
    if (!read_metric(source, sample, &number))
        return FALSE;
    const StatsMetricInfo *info = &stats_metrics[source->selector.metric];
    *value = (info->ctype == STATS_CTYPE_SSIZE ? (gdouble)(int64_t)number : (gdouble)number) * unit_scale(info->unit);
    return TRUE;
}

HistoryParts
quantity_needs(const Quantity *quantity, GArray *metrics)
{
    const QuantitySource *source = quantity->source;
    if (source->probe != NULL)
        return (HistoryParts)0;
    if (source->derived != NULL) {
        g_array_append_vals(metrics, source->derived->needs, source->derived->n_needs);
        return HISTORY_TOTALS;
    }
    StatsScope scope = stats_metrics[source->selector.metric].scope;
    StatsMetric size = scope == STATS_SCOPE_LARGE ? STATS_LARGE_SIZE : STATS_BIN_SIZE;
    g_array_append_val(metrics, source->selector.metric);
    if (scope == STATS_SCOPE_BIN || scope == STATS_SCOPE_LARGE)
        g_array_append_val(metrics, size);
    return selector_part(&source->selector);
}

/* ---- parsing ---- */

static AmountKind
kind_of(const QuantitySource *source)
{
    static const AmountKind kinds[] = {[STATS_UNIT_BYTES] = AMOUNT_BYTES,
                                       [STATS_UNIT_PAGES] = AMOUNT_COUNT,
                                       [STATS_UNIT_COUNT] = AMOUNT_COUNT,
                                       [STATS_UNIT_NANOSECONDS] = AMOUNT_TIME,
                                       [STATS_UNIT_MILLISECONDS] = AMOUNT_TIME};
    if (source->probe != NULL)
        return AMOUNT_BYTES;
    return source->derived != NULL ? AMOUNT_SHARE : kinds[stats_metrics[source->selector.metric].unit];
}

static char *
describe_unknown(const char *text, const GError *cause)
{
    const char *names[STATS_METRIC_COUNT + G_N_ELEMENTS(derived_rows) + 2];
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(derived_rows); i++)
        names[n++] = derived_rows[i].name;
    names[n++] = "pressure";
    for (guint i = 0; i < STATS_METRIC_COUNT; i++)
        names[n++] = stats_metrics[i].name;
    names[n] = NULL;
    const char *near = strchr(text, '@') == NULL ? suggest(text, names) : NULL;
    if (near != NULL)
        return g_strdup_printf("no quantity '%s'; did you mean '%s'?", text, near);
    return g_strdup_printf("%s", cause->message);
}

/* Returns a sentence, to be freed, unless the selector has one value per sample: "all" and a class without its size
 * have several. */
static char *
check_single(const char *text, QuantitySource *source)
{
    StatsScope scope = stats_metrics[source->selector.metric].scope;
    uint64_t size = 0;
    gboolean has_items = scope != STATS_SCOPE_TOTALS && scope != STATS_SCOPE_ARENA;
    if (source->selector.choice == OWNER_EACH)
        return g_strdup_printf("'%s' is several values; name one arena, or 'merged'", text);
    if (has_items && source->selector.item == NULL)
        return g_strdup_printf("'%s' is several values; write the %s after a '/', as in '%s@merged/%s'", text,
                               scope == STATS_SCOPE_MUTEX ? "name of the mutex" : "size of the class",
                               stats_metrics[source->selector.metric].name,
                               scope == STATS_SCOPE_MUTEX ? "extents_dirty" : "64");
    if (scope == STATS_SCOPE_BIN || scope == STATS_SCOPE_LARGE) {
        if (!value_size(source->selector.item, &size))
            return g_strdup_printf("'%s': '%s' is not the size of a class in bytes", text, source->selector.item);
        source->size = size;
    }
    return NULL;
}

static void
free_source(QuantitySource *source)
{
    selector_clear(&source->selector);
    probe_free(source->probe);
    g_free(source);
}

static QuantitySource *
parse_source(const char *text, char **why)
{
    g_autoptr(GError) error = NULL;
    QuantitySource *source = g_new0(QuantitySource, 1);
    if (probe_is(text)) {
        source->probe = probe_parse(text, why);
        if (source->probe != NULL)
            return source;
        free_source(source);
        return NULL;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(derived_rows); i++)
        if (strcmp(derived_rows[i].name, text) == 0) {
            source->derived = &derived_rows[i];
            return source;
        }
    if (!selector_parse(text, &source->selector, &error))
        *why = describe_unknown(text, error);
    else
        *why = check_single(text, source);
    if (*why == NULL)
        return source;
    free_source(source);
    return NULL;
}

static gboolean
parse_window(const char *text, gint64 *window_us, char **why)
{
    gdouble ms;
    if (value_duration(text, &ms) && ms >= 1000 && ms <= QUANTITY_WINDOW_MAX_DAYS * 86400e3) {
        *window_us = (gint64)(ms * 1000);
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a time from 1s to %dd; write one like 10m", text, QUANTITY_WINDOW_MAX_DAYS);
    return FALSE;
}

static const struct {
    const char *word;
    QuantityForm form;
    gboolean window;
} forms[] = {
    {"rate", QUANTITY_RATE, FALSE},
    {"slope", QUANTITY_SLOPE, TRUE},
    {"grows", QUANTITY_GROWS, TRUE},
};

/* Parses "slope(held,10m)". TEXT has no blanks; BEHIND is its parenthesis. */
static gboolean
parse_form(const char *text, const char *behind, Quantity *quantity, char **why)
{
    g_autofree char *word = g_strndup(text, (gsize)(behind - text));
    gsize length = strlen(behind);
    g_autofree char *inner = length >= 2 && behind[length - 1] == ')' ? g_strndup(behind + 1, length - 2) : NULL;
    const char *comma = inner != NULL ? strrchr(inner, ',') : NULL; /* a regular expression may contain others */
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
        if (strcmp(forms[i].word, word) != 0)
            continue;
        if (inner == NULL || (forms[i].window ? comma == NULL : comma != NULL && !probe_is(inner))) {
            *why = g_strdup_printf("write it as %s(held%s)", word, forms[i].window ? ", 10m" : "");
            return FALSE;
        }
        quantity->form = forms[i].form;
        quantity->base = forms[i].window ? g_strndup(inner, (gsize)(comma - inner)) : g_strdup(inner);
        return !forms[i].window || parse_window(comma + 1, &quantity->window_us, why);
    }
    *why = g_strdup_printf("no function '%s'; there are rate, slope, grows, ledger, function and stack", word);
    return FALSE;
}

/* Removes blanks, except in a regular expression: "function(std::map<int, char>)". To be freed. */
static char *
without_blanks(const char *text)
{
    GString *kept = g_string_new(NULL);
    guint depth = 0; /* of parentheses, counted from that of a probe */
    for (const char *word = text; *text != '\0'; text++) {
        if (*text == '(' && (depth > 0 || probe_is(word)))
            depth++;
        if (depth > 0 || !g_ascii_isspace(*text))
            g_string_append_c(kept, *text);
        depth -= depth > 0 && *text == ')';
        word = g_ascii_isalpha(*text) ? word : text + 1;
    }
    return g_string_free(kept, FALSE);
}

gboolean
quantity_parse(const char *text, Quantity *quantity, char **why)
{
    Quantity parsed = {.text = without_blanks(text)};
    const char *behind = strchr(parsed.text, '(');
    gboolean pressure = strcmp(parsed.text, "pressure") == 0;
    gboolean sound = TRUE;
    *why = NULL;
    if (behind != NULL && !probe_is(parsed.text))
        sound = parse_form(parsed.text, behind, &parsed, why);
    else
        parsed.base = g_strdup(pressure ? stats_metrics[STATS_CGROUP_STALLED].name : parsed.text);
    parsed.source = sound ? parse_source(parsed.base, why) : NULL;
    if (parsed.source != NULL && parsed.form == QUANTITY_GROWS && kind_of(parsed.source) != AMOUNT_BYTES)
        *why = g_strdup_printf("grows() takes a quantity in bytes; '%s' is another, use slope()", parsed.base);
    if (parsed.source == NULL || *why != NULL) {
        quantity_clear(&parsed);
        return FALSE;
    }
    parsed.unit = (AmountUnit){kind_of(parsed.source), parsed.form == QUANTITY_RATE || parsed.form == QUANTITY_SLOPE};
    if (pressure) {
        /* Seconds of waiting per second are a share. */
        parsed.form = QUANTITY_RATE;
        parsed.unit = (AmountUnit){AMOUNT_SHARE, FALSE};
    }
    *quantity = parsed;
    return TRUE;
}

void
quantity_clear(Quantity *quantity)
{
    g_clear_pointer(&quantity->text, g_free);
    g_clear_pointer(&quantity->base, g_free);
    g_clear_pointer(&quantity->source, free_source);
}
