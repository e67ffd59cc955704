/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ledger-read.h"

#include "text/printable.h"

#include <string.h>

/* Small enough that sums and differences of lines do not overflow. */
#define BYTES_MAX (G_GINT64_CONSTANT(1) << 56)

enum {
    SKEW_MAX_S = 1000000,
};

static gboolean
read_bytes(const json_t *object, const char *key, gint64 *bytes)
{
    const json_t *given = json_object_get(object, key);
    *bytes = json_integer_value(given);
    return json_is_integer(given) && *bytes >= -BYTES_MAX && *bytes <= BYTES_MAX;
}

static gboolean
read_size(const json_t *object, const char *key, guint64 *bytes)
{
    gint64 given;
    gboolean sound = read_bytes(object, key, &given) && given >= 0;
    *bytes = (guint64)given;
    return sound;
}

/* *TEXT is NULL for null. */
static gboolean
read_text(const json_t *object, const char *key, char **text)
{
    const json_t *given = json_object_get(object, key);
    *text = g_strdup(json_string_value(given));
    if (*text != NULL)
        text_clean_line(*text, strlen(*text) + 1);
    return json_is_string(given) || json_is_null(given);
}

static gboolean
read_time(const json_t *object, gint64 *time_us)
{
    const char *text = json_string_value(json_object_get(object, "time"));
    g_autoptr(GDateTime) time = text != NULL ? g_date_time_new_from_iso8601(text, NULL) : NULL;
    if (time == NULL)
        return FALSE;
    *time_us = g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time);
    return *time_us >= 0;
}

static gboolean
read_method(const json_t *object, LedgerMethod *method)
{
    const char *name = json_string_value(json_object_get(object, "method"));
    for (*method = LEDGER_BY_NOTHING; *method <= LEDGER_BY_SUBTRACTION; ++*method)
        if (g_strcmp0(name, ledger_method_name(*method)) == 0)
            return TRUE;
    return FALSE;
}

static LedgerLine *
find_line(Ledger *ledger, const char *name)
{
    for (LedgerId id = 0; id < LEDGER_LINES; id++)
        if (g_strcmp0(name, ledger_lines[id].name) == 0)
            return &ledger->lines[id];
    return NULL;
}

static gboolean
read_lines(const json_t *rows, Ledger *ledger)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        LedgerLine *line = find_line(ledger, json_string_value(json_object_get(row, "line")));
        if (line == NULL || line->known || !read_bytes(row, "bytes", &line->bytes) ||
            !read_bytes(row, "low", &line->low) || !read_bytes(row, "high", &line->high))
            return FALSE;
        line->known = TRUE;
    }
    return json_is_array(rows);
}

static gboolean
adds_up(const Ledger *ledger, LedgerLevel level, guint64 total)
{
    gint64 sum = 0;
    for (LedgerId id = 0; id < LEDGER_LINES; id++)
        if (ledger_lines[id].level == level)
            sum += ledger->lines[id].bytes;
    return total == G_MAXUINT64 || sum == (gint64)total;
}

static gboolean
read_classes(const json_t *rows, LedgerTaken *taken)
{
    size_t i;
    const json_t *row;
    if (!json_is_array(rows) || json_array_size(rows) > LEDGER_CLASSES_MAX)
        return FALSE;
    json_array_foreach(rows, i, row)
    {
        LedgerClass *class = &taken->classes[i];
        if (!read_size(row, "size", &class->size) || !read_size(row, "holes", &class->holes) ||
            !read_size(row, "live", &class->live))
            return FALSE;
    }
    taken->n_classes = (guint)json_array_size(rows);
    return TRUE;
}

static gboolean
read_ledger(const json_t *document, Ledger *ledger)
{
    ledger->group = G_MAXUINT64;
    return read_method(document, &ledger->method) && read_size(document, "rss", &ledger->rss) &&
           (json_is_null(json_object_get(document, "group")) || read_size(document, "group", &ledger->group)) &&
           read_lines(json_object_get(document, "lines"), ledger) && adds_up(ledger, LEDGER_LEVEL_RSS, ledger->rss) &&
           adds_up(ledger, LEDGER_LEVEL_GROUP, ledger->group);
}

static gboolean
read_circumstances(const json_t *document, LedgerTaken *taken)
{
    const json_t *skew = json_object_get(document, "skew_seconds"), *complete = json_object_get(document, "complete");
    gint64 attempts;
    if (!read_time(document, &taken->time_us) || !read_bytes(document, "attempts", &attempts) || attempts < 1 ||
        attempts > G_MAXINT || !json_is_number(skew) || !json_is_boolean(complete))
        return FALSE;
    taken->attempts = (guint)attempts;
    taken->skew_us =
        (gint64)CLAMP(json_number_value(skew) * G_USEC_PER_SEC + 0.5, 0, (double)SKEW_MAX_S * G_USEC_PER_SEC);
    taken->cut = json_is_false(complete);
    return read_text(document, "target", &taken->label) && taken->label != NULL &&
           read_text(document, "notice", &taken->notice);
}

gboolean
ledger_read_json(const json_t *document, LedgerTaken *taken)
{
    *taken = (LedgerTaken){0};
    if (read_circumstances(document, taken) && read_ledger(document, &taken->ledger) &&
        read_classes(json_object_get(document, "classes"), taken))
        return TRUE;
    ledger_taken_clear(taken);
    *taken = (LedgerTaken){0};
    return FALSE;
}
