/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/event-text.h"

#include "stats/causes.h"

#include <string.h>

/* "%" is replaced with a blank and the subject's number. */
static const struct {
    const char *type;
    const char *words;
} phrases[] = {
    {"target-came", "the process was found"},
    {"target-gone", "the process ended"},
    {"profiling-on", "profiling was switched on"},
    {"profiling-off", "profiling was switched off"},
    {"control", "a control was written"},
    {"recording-started", "recording% began"},
    {"recording-ended", "recording% ended"},
    {"dump", "heap dump% was kept"},
    {"advice", "advice"},
    {"advice-off", "advice no longer holds"},
    {"ended", "the process"},
    {"rule-fired", "a rule fired"},
    {"rule-done", "the actions of a rule ended"},
};

static const char *
words_of(const char *type)
{
    for (gsize i = 0; i < G_N_ELEMENTS(phrases); i++)
        if (strcmp(phrases[i].type, type) == 0)
            return phrases[i].words;
    return NULL;
}

/* The detail to show; for advice, only the finding. */
static const char *
detail_of(const EventFacts *facts)
{
    for (gsize i = 0; g_str_has_prefix(facts->type, "advice") && i < CAUSES; i++)
        if (g_strcmp0(causes[i].name, facts->detail) == 0)
            return causes[i].finding;
    return facts->detail;
}

/* Appends an event type that only a newer jescope knows. */
static void
append_unknown(GString *text, const char *type)
{
    g_autofree char *words = g_strdelimit(g_strdup(type), "-_", ' ');
    g_string_append(text, words);
}

char *
event_text(const EventFacts *facts)
{
    GString *text = g_string_new(NULL);
    const char *words = words_of(facts->type);
    const char *detail = detail_of(facts);
    if (words == NULL)
        append_unknown(text, facts->type);
    for (; words != NULL && *words != '\0'; words++)
        if (*words != '%')
            g_string_append_c(text, *words);
        else if (facts->subject != 0)
            g_string_append_printf(text, " %" G_GUINT64_FORMAT, facts->subject);
    if (detail != NULL && detail[0] != '\0')
        g_string_append_printf(text, ": %s", detail);
    if (facts->who != NULL && facts->who[0] != '\0')
        g_string_append_printf(text, " (by %s)", facts->who);
    return g_string_free(text, FALSE);
}
