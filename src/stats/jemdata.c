/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/jemdata.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 256 * 1024,
    LINE_KEPT = 4096, /* no call is as long; pieces of longer lines are treated as lines */
};

typedef struct {
    const char *path;
    guint line;
    StatsSample *sample;
    StatsArena *arena;
    StatsSampleFunc func;
    gpointer data;
} JemData;

/* A part of a line. */
typedef struct {
    const char *text;
    gsize length;
} Word;

static gboolean
word_is(Word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static gboolean
word_number(Word word, guint64 maximum, guint64 *number)
{
    guint64 value = 0;
    for (gsize i = 0; i < word.length; i++) {
        guchar digit = (guchar)(word.text[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return FALSE;
    }
    *number = value;
    return word.length > 0 && value <= maximum;
}

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
on_arenas(JemData *jem, Word value, GError **error)
{
    if (word_is(value, "'sum'")) {
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
    if (!word_number(value, STATS_ARENA_MERGED - 1, &index))
        return refuse(jem, "arenas() wants 'sum' or a number", error);
    jem->arena = stats_sample_arena(jem->sample, (guint)index);
    jem->arena->values->present = 0;
    return TRUE;
}

static gboolean
on_value(JemData *jem, StatsMetric metric, Word value, GError **error)
{
    guint64 number;
    if (jem->arena == NULL)
        return refuse(jem, "a value before the first iteration, arenas('sum')", error);
    if (!word_number(value, G_MAXUINT64, &number))
        return refuse(jem, "not a number of bytes", error);
    stats_values_set(jem->arena->values, metric, number);
    return TRUE;
}

static gboolean
on_call(JemData *jem, Word name, Word value, GError **error)
{
    static const struct {
        const char *name;
        StatsMetric metric;
    } values[] = {{"total", STATS_ARENA_ALLOCATED}, {"active", STATS_ARENA_ACTIVE}, {"mapped", STATS_ARENA_MAPPED}};
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (word_is(name, values[i].name))
            return on_value(jem, values[i].metric, value, error);
    return word_is(name, "arenas") ? on_arenas(jem, value, error) : TRUE;
}

/* Handles " name(value) "; other Python code is skipped. */
static gboolean
on_line(JemData *jem, const char *line, gsize length, GError **error)
{
    const char *end = line + length;
    jem->line++;
    while (line < end && *line == ' ')
        line++;
    const char *open = memchr(line, '(', (gsize)(end - line));
    const char *close = open != NULL ? memchr(open, ')', (gsize)(end - open)) : NULL;
    if (close == NULL)
        return TRUE;
    return on_call(jem, (Word){line, (gsize)(open - line)}, (Word){open + 1, (gsize)(close - open - 1)}, error);
}

/* Handles the complete lines in BYTES; returns their length, or -1 with ERROR. */
static gssize
on_bytes(JemData *jem, const char *bytes, gsize length, GError **error)
{
    const char *at = bytes;
    const char *end = bytes + length;
    const char *newline;
    while ((newline = memchr(at, '\n', (gsize)(end - at))) != NULL) {
        if (!on_line(jem, at, (gsize)(newline - at), error))
            return -1;
        at = newline + 1;
    }
    return at - bytes;
}

static gboolean
read_failed(const JemData *jem, GError **error)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot read %s: %s", jem->path,
                g_strerror(errno));
    return FALSE;
}

static gboolean
read_lines(JemData *jem, int fd, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    gsize kept = 0;
    for (;;) {
        gssize got = read(fd, chunk + kept, CHUNK - kept);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return read_failed(jem, error);
        gsize length = kept + (gsize)got;
        gssize taken = on_bytes(jem, chunk, length, error);
        if (taken < 0)
            return FALSE;
        kept = length - (gsize)taken;
        if (got == 0 || kept > LINE_KEPT) {
            if (kept > 0 && !on_line(jem, chunk + taken, kept, error))
                return FALSE;
            kept = 0;
        }
        if (got == 0)
            return hand_out(jem, error);
        memmove(chunk, chunk + taken, kept);
    }
}

gboolean
jemdata_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, GError **error)
{
    JemData jem = {.path = file->path, .func = func, .data = data};
    gboolean fine = read_lines(&jem, file->fd, error);
    g_clear_pointer(&jem.sample, stats_sample_unref);
    return fine;
}

/* Appends the LENGTH bytes of LINE but its colons. */
static void
append_without_colons(GString *text, const char *line, gsize length)
{
    const char *const end = line + length;
    while (line < end) {
        const char *colon = memchr(line, ':', (gsize)(end - line));
        const char *stop = colon != NULL ? colon : end;
        g_string_append_len(text, line, stop - line);
        line = stop + 1;
    }
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

/* Replaces the first "[N]" with " N". */
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

static Word
next_word(const char *text)
{
    text += strspn(text, " \t");
    return (Word){text, strcspn(text, " \t")};
}

/* Validates NAME and VALUE: Python executes the file, so unchecked text could be any code. */
static gboolean
is_call(Word name, Word value)
{
    static const char *const names[] = {"arenas", "total", "active", "mapped"};
    gboolean known = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        known = known || word_is(name, names[i]);
    return known && value.length > 0 && (word_is(value, "'sum'") || strspn(value.text, "0123456789") == value.length);
}

void
jemdata_extract_line(const char *line, gsize length, GString *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (memmem(line, length, "Begin", strlen("Begin")) != NULL)
        g_string_assign(text, "arenas 'sum'");
    else if (is_selected(line, length))
        append_without_colons(text, line, length);
    else
        return;
    unbracket(text);
    Word name = next_word(text->str);
    Word value = next_word(name.text + name.length);
    if (is_call(name, value))
        g_string_append_printf(out, "    %.*s(%.*s) \n", (int)name.length, name.text, (int)value.length, value.text);
}
