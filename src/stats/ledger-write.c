/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ledger-write.h"

#include "stats/readable.h"

enum {
    TITLE_WIDTH = 36,
    BYTES_WIDTH = 12,
    SHOWN_BYTES = 1024, /* smaller lines would print as "0.0 KiB" */
    LARGEST_LINES = 3,
    LARGEST_SHARE = 100,
};

/* The total of LEVEL's lines; FALSE if they do not add up to one, or it is unknown. */
static gboolean
total_of(const Ledger *ledger, LedgerLevel level, guint64 *total)
{
    *total = level == LEDGER_LEVEL_RSS ? ledger->rss : level == LEDGER_LEVEL_GROUP ? ledger->group : G_MAXUINT64;
    return *total != G_MAXUINT64;
}

static gboolean
is_rest(LedgerId id)
{
    return id == LEDGER_UNEXPLAINED || id == LEDGER_GROUP_UNEXPLAINED;
}

static gboolean
is_shown(const Ledger *ledger, LedgerId id, LedgerWrite flags)
{
    const LedgerLine *line = &ledger->lines[id];
    return line->known && ((flags & LEDGER_WRITE_ALL) != 0 || is_rest(id) || ABS(line->bytes) >= SHOWN_BYTES ||
                           (line->bytes == 0 && line->high >= SHOWN_BYTES));
}

static void
append_range(GString *out, const LedgerLine *line)
{
    if (line->low == line->bytes && line->high == line->bytes)
        return;
    g_string_append(out, "  (");
    readable_append_size(out, (double)line->low, 0);
    g_string_append(out, " to ");
    readable_append_size(out, (double)line->high, 0);
    g_string_append_c(out, ')');
}

static void
append_line(GString *out, const Ledger *ledger, LedgerId id)
{
    const LedgerLine *line = &ledger->lines[id];
    guint64 total;
    g_string_append_printf(out, "  %-*s", TITLE_WIDTH, ledger_lines[id].title);
    readable_append_size(out, (double)line->bytes, BYTES_WIDTH);
    if (total_of(ledger, ledger_lines[id].level, &total) && total > 0)
        g_string_append_printf(out, " %6.1f %%", 100 * (double)line->bytes / (double)total);
    append_range(out, line);
    g_string_append_c(out, '\n');
}

static void
append_heading(GString *out, const Ledger *ledger, LedgerLevel level)
{
    static const char *const headings[LEDGER_LEVELS] = {
        [LEDGER_LEVEL_RSS] = "Resident set",
        [LEDGER_LEVEL_OWN] = "Outside of the resident set",
        [LEDGER_LEVEL_GROUP] = "Control group",
        [LEDGER_LEVEL_SHARING] = "Of the resident set",
    };
    guint64 total;
    g_string_append_printf(out, "%s%s", level == LEDGER_LEVEL_RSS ? "" : "\n", headings[level]);
    if (total_of(ledger, level, &total)) {
        g_string_append(out, level == LEDGER_LEVEL_GROUP ? ", charged for " : ", ");
        readable_append_size(out, (double)total, 0);
    }
    g_string_append_c(out, '\n');
}

static void
append_level(GString *out, const Ledger *ledger, LedgerLevel level, LedgerWrite flags)
{
    gboolean any = FALSE;
    for (LedgerId id = 0; id < LEDGER_LINES; id++) {
        if (ledger_lines[id].level != level || !is_shown(ledger, id, flags))
            continue;
        if (!any)
            append_heading(out, ledger, level);
        append_line(out, ledger, id);
        any = TRUE;
    }
}

static void
append_classes(GString *out, const LedgerTaken *taken)
{
    for (guint i = 0; i < taken->n_classes && taken->classes[i].holes >= SHOWN_BYTES; i++) {
        if (i == 0)
            g_string_append(out, "\nHoles in slabs by size class\n");
        g_string_append_printf(out, "  %8" G_GUINT64_FORMAT " bytes", taken->classes[i].size);
        readable_append_size(out, (double)taken->classes[i].holes, TITLE_WIDTH + BYTES_WIDTH - 14);
        g_string_append(out, "  beside ");
        readable_append_size(out, (double)taken->classes[i].live, 0);
        g_string_append(out, " live\n");
    }
}

static void
append_method(GString *out, const LedgerTaken *taken)
{
    static const char *const sentences[] = {
        [LEDGER_BY_NOTHING] = "No statistics of jemalloc: anonymous memory is not divided.",
        [LEDGER_BY_FLAG] = "jemalloc's mappings were recognised by MAP_NORESERVE.",
        [LEDGER_BY_SUBTRACTION] =
            "jemalloc's mappings cannot be told from others: what its statistics do not explain is taken for others'.",
    };
    g_string_append_printf(out, "\n%s Read within %.1f ms", sentences[taken->ledger.method],
                           (double)taken->skew_us / 1000);
    if (taken->attempts > 1)
        g_string_append_printf(out, ", the best of %u attempts: the process allocates meanwhile", taken->attempts);
    g_string_append(out, ".\n");
    if (taken->cut)
        g_string_append(out, "The list of mappings is too long: its rest is unexplained.\n");
}

void
ledger_append_text(GString *out, const LedgerTaken *taken, LedgerWrite flags)
{
    g_string_append_printf(out, "%s\n", taken->label);
    if (taken->notice != NULL)
        g_string_append_printf(out, "NOTE: %s\n", taken->notice);
    g_string_append_c(out, '\n');
    for (LedgerLevel level = 0; level < LEDGER_LEVELS; level++)
        append_level(out, &taken->ledger, level, flags);
    append_classes(out, taken);
    append_method(out, taken);
}

/* The next smaller line, in list order if equal; LEDGER_LINES if there is none left. */
static LedgerId
largest_after(const Ledger *ledger, LedgerId previous)
{
    LedgerId largest = LEDGER_LINES;
    for (LedgerId id = LEDGER_RETAINED; id < LEDGER_UNEXPLAINED; id++) {
        gint64 bytes = ledger->lines[id].bytes,
               before = previous < LEDGER_LINES ? ledger->lines[previous].bytes : G_MAXINT64;
        gboolean follows = bytes < before || (bytes == before && id > previous);
        if (follows && (largest == LEDGER_LINES || bytes > ledger->lines[largest].bytes))
            largest = id;
    }
    return largest;
}

void
ledger_append_largest(GString *out, const Ledger *ledger)
{
    LedgerId id = largest_after(ledger, LEDGER_LINES);
    for (guint n = 0; n < LARGEST_LINES && id < LEDGER_LINES && ledger->lines[id].bytes > 0; n++) {
        if ((guint64)ledger->lines[id].bytes < ledger->rss / LARGEST_SHARE)
            return;
        g_string_append(out, n > 0 ? ", " : "");
        readable_append_size(out, (double)ledger->lines[id].bytes, 0);
        g_string_append_printf(out, " %s", ledger_lines[id].title);
        id = largest_after(ledger, id);
    }
}

/* "2026-11-22T12:00:00.123456Z" */
static void
append_time(GString *out, gint64 time_us)
{
    g_autoptr(GDateTime) whole = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    g_autofree char *text = g_date_time_format(whole, "%Y-%m-%dT%H:%M:%S");
    g_string_append_printf(out, "\"time\":\"%s.%06dZ\"", text, (int)(time_us % G_USEC_PER_SEC));
}

/* TEXT must be UTF-8 without control characters. */
static void
append_string(GString *out, const char *name, const char *text)
{
    g_string_append_printf(out, ",\"%s\":", name);
    if (text == NULL) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c(out, '\\');
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

static void
append_json_lines(GString *out, const Ledger *ledger)
{
    const char *separator = "";
    g_string_append(out, ",\"lines\":[");
    for (LedgerId id = 0; id < LEDGER_LINES; id++) {
        const LedgerLine *line = &ledger->lines[id];
        if (!line->known)
            continue;
        g_string_append_printf(out,
                               "%s{\"line\":\"%s\",\"level\":\"%s\",\"bytes\":%" G_GINT64_FORMAT
                               ",\"low\":%" G_GINT64_FORMAT ",\"high\":%" G_GINT64_FORMAT "}",
                               separator, ledger_lines[id].name, ledger_level_name(ledger_lines[id].level), line->bytes,
                               line->low, line->high);
        separator = ",";
    }
    g_string_append_c(out, ']');
}

/* A target says the numbers, and readers refuse a document with an integer above G_MAXINT64. */
static gint64
readable(guint64 number)
{
    return (gint64)MIN(number, G_MAXINT64);
}

static void
append_json_classes(GString *out, const LedgerTaken *taken)
{
    g_string_append(out, ",\"classes\":[");
    for (guint i = 0; i < taken->n_classes; i++)
        g_string_append_printf(
            out, "%s{\"size\":%" G_GINT64_FORMAT ",\"holes\":%" G_GINT64_FORMAT ",\"live\":%" G_GINT64_FORMAT "}",
            i > 0 ? "," : "", readable(taken->classes[i].size), readable(taken->classes[i].holes),
            readable(taken->classes[i].live));
    g_string_append_c(out, ']');
}

void
ledger_append_json(GString *out, const LedgerTaken *taken)
{
    const Ledger *ledger = &taken->ledger;
    append_time(out, taken->time_us);
    append_string(out, "target", taken->label);
    append_string(out, "notice", taken->notice);
    append_string(out, "method", ledger_method_name(ledger->method));
    g_string_append_printf(out, ",\"skew_seconds\":%" G_GINT64_FORMAT ".%06d", taken->skew_us / G_USEC_PER_SEC,
                           (int)(taken->skew_us % G_USEC_PER_SEC));
    g_string_append_printf(out, ",\"attempts\":%u,\"complete\":%s,\"rss\":%" G_GINT64_FORMAT, taken->attempts,
                           taken->cut ? "false" : "true", readable(ledger->rss));
    g_string_append_printf(out, ",\"tolerance\":%" G_GINT64_FORMAT ",\"group\":", readable(ledger_tolerance(ledger)));
    if (ledger->group != G_MAXUINT64)
        g_string_append_printf(out, "%" G_GINT64_FORMAT, readable(ledger->group));
    else
        g_string_append(out, "null");
    append_json_lines(out, ledger);
    append_json_classes(out, taken);
}
