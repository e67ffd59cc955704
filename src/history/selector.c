/* SPDX-License-Identifier: Apache-2.0 */
#include "history/selector.h"

#include <string.h>

static const HistoryParts parts[STATS_SCOPE_COUNT] = {
    [STATS_SCOPE_TOTALS] = HISTORY_TOTALS, [STATS_SCOPE_ARENA] = HISTORY_ARENAS,  [STATS_SCOPE_BIN] = HISTORY_CLASSES,
    [STATS_SCOPE_LARGE] = HISTORY_CLASSES, [STATS_SCOPE_MUTEX] = HISTORY_MUTEXES,
};

static const struct {
    const char *word;
    OwnerChoice choice;
    guint32 owner;
} owner_words[] = {
    {"all", OWNER_EACH, 0},
    {"merged", OWNER_ONE, STATS_ARENA_MERGED + 1},
    {"destroyed", OWNER_ONE, STATS_ARENA_DESTROYED + 1},
    {"global", OWNER_ONE, 0},
};

/* For the error message: a metric whose name contains NAME or is contained in it. */
static const char *
nearby_metric(const char *name)
{
    for (int i = 0; i < STATS_METRIC_COUNT; i++)
        if (strstr(stats_metrics[i].name, name) != NULL || strstr(name, stats_metrics[i].name) != NULL)
            return stats_metrics[i].name;
    return NULL;
}

static gboolean
parse_metric(const char *name, StatsMetric *metric, GError **error)
{
    if (stats_metric_by_name(name, metric))
        return TRUE;
    const char *near = *name != '\0' ? nearby_metric(name) : NULL;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "no metric '%s'; %s%s%s", name,
                near != NULL ? "did you mean '" : "'jescope series --metrics' lists them", near != NULL ? near : "",
                near != NULL ? "'?" : "");
    return FALSE;
}

static gboolean
parse_owner(const char *text, Selector *selector, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(owner_words); i++)
        if (strcmp(owner_words[i].word, text) == 0) {
            selector->choice = owner_words[i].choice;
            selector->owner = owner_words[i].owner;
            return TRUE;
        }
    guint64 number;
    if (!g_ascii_string_to_unsigned(text, 10, 0, STATS_ARENA_MERGED - 1, &number, NULL)) {
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING,
                    "'%s' is not an arena; write its number, 'merged', 'destroyed', 'all' or, for mutexes, 'global'",
                    text);
        return FALSE;
    }
    selector->choice = OWNER_ONE;
    selector->owner = (guint32)number + 1;
    return TRUE;
}

gboolean
selector_parse(const char *text, Selector *selector, GError **error)
{
    g_auto(GStrv) halves = g_strsplit(text, "@", 2);
    Selector parsed = {.choice = OWNER_TOGETHER};
    if (!parse_metric(halves[0] != NULL ? halves[0] : "", &parsed.metric, error))
        return FALSE;
    if (halves[0] != NULL && halves[1] != NULL) {
        StatsScope scope = stats_metrics[parsed.metric].scope;
        g_auto(GStrv) words = g_strsplit(halves[1], "/", 2);
        if (scope == STATS_SCOPE_TOTALS || (scope == STATS_SCOPE_ARENA && words[0] != NULL && words[1] != NULL)) {
            g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "'%s': '%s' is a value of %s; leave '%s' out",
                        text, halves[0], scope == STATS_SCOPE_TOTALS ? "the process" : "an arena as a whole",
                        scope == STATS_SCOPE_TOTALS ? strchr(text, '@') : strchr(text, '/'));
            return FALSE;
        }
        if (!parse_owner(words[0] != NULL ? words[0] : "", &parsed, error))
            return FALSE;
        if (words[1] != NULL && strcmp(words[1], "all") != 0)
            parsed.item = g_strdup(words[1]);
    }
    *selector = parsed;
    return TRUE;
}

void
selector_clear(Selector *selector)
{
    g_clear_pointer(&selector->item, g_free);
}

char *
selector_item(const History *history, const SectionKey *key)
{
    if (key->scope == STATS_SCOPE_MUTEX)
        return g_strdup(dictionary_word(history, key->item));
    if (key->scope == STATS_SCOPE_BIN || key->scope == STATS_SCOPE_LARGE)
        return g_strdup_printf("%" G_GUINT64_FORMAT, key->item);
    return NULL;
}

static gboolean
owner_matches(const Selector *selector, const SectionKey *key)
{
    gboolean global = stats_metrics[selector->metric].scope == STATS_SCOPE_TOTALS;
    if (selector->choice == OWNER_ONE)
        return key->owner == selector->owner;
    if (global || key->owner == 0)
        return global && key->owner == 0;
    if (selector->choice == OWNER_EACH)
        return key->owner <= STATS_ARENA_MERGED;
    return key->owner != STATS_ARENA_DESTROYED + 1;
}

gboolean
selector_matches(const Selector *selector, const History *history, const SectionKey *key)
{
    if (!owner_matches(selector, key))
        return FALSE;
    if (selector->item == NULL)
        return TRUE;
    g_autofree char *item = selector_item(history, key);
    return g_strcmp0(item, selector->item) == 0;
}

HistoryParts
selector_part(const Selector *selector)
{
    return parts[stats_metrics[selector->metric].scope];
}
