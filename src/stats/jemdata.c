/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/jemdata.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *path;
    guint line;
    StatsSample *sample;
    StatsArena *arena;
    StatsSampleFunc func;
    gpointer data;
} JemData;

static gboolean
hand_out(JemData *jem, GError **error)
{
    g_autoptr(StatsSample) sample = g_steal_pointer(&jem->sample);
    return sample == NULL || jem->func(sample, jem->data, error);
}

static gboolean
refuse(const JemData *jem, const char *what, GError **error)
{
    g_set_error(error, STATS_ERROR, STATS_ERROR_FORMAT, "%s line %u: %s", jem->path, jem->line, what);
    return FALSE;
}

static gboolean
on_arenas(JemData *jem, const char *value, GError **error)
{
    if (g_str_equal(value, "'sum'")) {
        if (!hand_out(jem, error))
            return FALSE;
        jem->sample = stats_sample_new(STATS_SOURCE_JEMDATA);
        jem->sample->line = jem->line;
        jem->arena = stats_sample_arena(jem->sample, STATS_ARENA_MERGED);
        return TRUE;
    }
    guint64 index;
    if (jem->sample == NULL)
        return refuse(jem, "an arena before the first iteration, arenas('sum')", error);
    if (!g_ascii_string_to_unsigned(value, 10, 0, STATS_ARENA_MERGED - 1, &index, NULL))
        return refuse(jem, "arenas() wants 'sum' or a number", error);
    jem->arena = stats_sample_arena(jem->sample, (guint)index);
    jem->arena->values->present = 0;
    return TRUE;
}

static gboolean
on_value(JemData *jem, StatsMetric metric, const char *value, GError **error)
{
    guint64 number;
    if (jem->arena == NULL)
        return refuse(jem, "a value before the first iteration, arenas('sum')", error);
    if (!g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT64, &number, NULL))
        return refuse(jem, "not a number of bytes", error);
    stats_values_set(jem->arena->values, metric, number);
    return TRUE;
}

static gboolean
on_call(JemData *jem, const char *name, const char *value, GError **error)
{
    static const struct {
        const char *name;
        StatsMetric metric;
    } values[] = {{"total", STATS_ARENA_ALLOCATED}, {"active", STATS_ARENA_ACTIVE}, {"mapped", STATS_ARENA_MAPPED}};
    if (g_str_equal(name, "arenas"))
        return on_arenas(jem, value, error);
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (g_str_equal(name, values[i].name))
            return on_value(jem, values[i].metric, value, error);
    return TRUE;
}

/* "    name(value) ": anything else is Python that we do not need. */
static gboolean
on_line(JemData *jem, char *line, GError **error)
{
    jem->line++;
    char *open = strchr(line, '(');
    char *close = open != NULL ? strchr(open, ')') : NULL;
    if (close == NULL || g_str_has_prefix(line, "def "))
        return TRUE;
    *open = *close = '\0';
    return on_call(jem, g_strstrip(line), g_strstrip(open + 1), error);
}

static FILE *
open_file(const char *path, GError **error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot open %s: %s", path, g_strerror(errno));
    return file;
}

static gboolean
read_lines(JemData *jem, FILE *file, GError **error)
{
    char line[256]; /* a longer line is no call: its pieces are passed over or refused like any */
    while (fgets(line, sizeof line, file) != NULL)
        if (!on_line(jem, line, error))
            return FALSE;
    if (ferror(file)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot read %s: %s", jem->path,
                    g_strerror(errno));
        return FALSE;
    }
    return hand_out(jem, error);
}

gboolean
jemdata_read_file(const char *path, StatsSampleFunc func, gpointer data, GError **error)
{
    FILE *file = open_file(path, error);
    if (file == NULL)
        return FALSE;
    JemData jem = {.path = path, .func = func, .data = data};
    gboolean fine = read_lines(&jem, file, error);
    g_clear_pointer(&jem.sample, stats_sample_unref);
    fclose(file);
    return fine;
}

static gboolean
is_selected(const char *line, gsize length)
{
    static const char *const starts[] = {"arenas", "total:", "active:", "mapped:"};
    for (gsize i = 0; i < G_N_ELEMENTS(starts); i++)
        if (length >= strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
            return TRUE;
    return FALSE;
}

/* The first "[N]" becomes " N". */
static void
unbracket(GString *text)
{
    for (char *open = strchr(text->str, '['); open != NULL; open = strchr(open + 1, '[')) {
        gsize digits = strspn(open + 1, "0123456789");
        if (open[1 + digits] != ']')
            continue;
        *open = ' ';
        g_string_erase(text, open + 1 + digits - text->str, 1);
        return;
    }
}

static const char *
next_word(const char *text, gsize *length)
{
    text += strspn(text, " \t");
    *length = strcspn(text, " \t");
    return text;
}

void
jemdata_extract_line(const char *line, gsize length, GString *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (memmem(line, length, "Begin", strlen("Begin")) != NULL)
        g_string_assign(text, "arenas 'sum'");
    else if (is_selected(line, length))
        g_string_append_len(text, line, (gssize)length);
    else
        return;
    g_string_replace(text, ":", "", 0);
    unbracket(text);
    gsize name_length, value_length;
    const char *name = next_word(text->str, &name_length);
    const char *value = next_word(name + name_length, &value_length);
    /* What is not a number here is a line of another kind, which would make the file no Python. */
    if (value_length == 0 ||
        (strspn(value, "0123456789") != value_length && strncmp(value, "'sum'", value_length) != 0))
        return;
    g_string_append_printf(out, "    %.*s(%.*s) \n", (int)name_length, name, (int)value_length, value);
}
