/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keeping.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/size.h"

#include <string.h>

enum {
    EVERY_DEFAULT_MS = 10000,
    EVERY_MIN_MS = 100,
};

static const struct {
    const char *word;
    HistoryParts parts;
} details[] = {
    {"totals", HISTORY_TOTALS},
    {"arenas", HISTORY_TOTALS | HISTORY_ARENAS},
    {"classes", HISTORY_TOTALS | HISTORY_ARENAS | HISTORY_CLASSES},
    {"all", HISTORY_EVERYTHING},
};

gboolean
keeping_parse_detail(const char *text, HistoryParts *parts, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(details); i++)
        if (strcmp(text != NULL ? text : "arenas", details[i].word) == 0) {
            *parts = details[i].parts;
            return TRUE;
        }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--detail: unknown word '%s'; known: totals, arenas, classes, all",
                text);
    return FALSE;
}

gboolean
keeping_parse_every(const char *text, guint64 *every_us, GError **error)
{
    guint64 ms = EVERY_DEFAULT_MS;
    if (text != NULL && !duration_parse(text, "--every", &ms, error))
        return FALSE;
    if (ms < EVERY_MIN_MS) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--every: '%s' is too short; from %dms is possible", text,
                    EVERY_MIN_MS);
        return FALSE;
    }
    *every_us = ms * 1000;
    return TRUE;
}

static gboolean
parse_thin(const char *text, HistoryRetention *retention, GError **error)
{
    guint64 age_ms, step_ms;
    if (text == NULL)
        return TRUE;
    g_auto(GStrv) halves = g_strsplit(text, ":", 2);
    if (g_strv_length(halves) != 2) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--thin: '%s' is not AGE:STEP; write one like 7d:1m", text);
        return FALSE;
    }
    if (!duration_parse_up_to(halves[0], "--thin", KEEPING_MAX_DAYS, &age_ms, error) ||
        !duration_parse_up_to(halves[1], "--thin", KEEPING_MAX_DAYS, &step_ms, error))
        return FALSE;
    retention->thin_after_us = age_ms * 1000;
    retention->thin_step_us = step_ms * 1000;
    return TRUE;
}

gboolean
keeping_parse_limits(const KeepingLimits *limits, HistoryRetention *retention, GError **error)
{
    HistoryRetention parsed = {0};
    guint64 keep_ms = 0;
    if ((limits->keep != NULL && !duration_parse_up_to(limits->keep, "--keep", KEEPING_MAX_DAYS, &keep_ms, error)) ||
        !parse_thin(limits->thin, &parsed, error) ||
        (limits->max_size != NULL && !size_parse(limits->max_size, "--max-size", &parsed.max_bytes, error)))
        return FALSE;
    parsed.keep_us = keep_ms * 1000;
    *retention = parsed;
    return TRUE;
}
