/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/dump-reader.h"
#include "profile/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { DUMPS_MAX = 4096 }; /* in one file */

/* The bytes found where others were expected, printable for a message. */
static char *
describe_found(const char *at)
{
    enum { LONGEST = 24 };
    gsize n = 0;

    while (n < LONGEST && at[n] != '\n' && at[n] != ' ')
        n++;
    if (n == 0)
        return g_strdup(*at == ' ' ? "a blank" : "the end of the line");
    g_autoptr(GString) text = g_string_new("\"");
    for (gsize i = 0; i < n; i++) {
        guchar c = (guchar)at[i];
        if (c >= 0x20 && c < 0x7f && c != '"')
            g_string_append_c(text, (char)c);
        else
            g_string_append_printf(text, "\\x%02x", c);
    }
    g_string_append_c(text, '"');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
report_fault(const DumpReader *reader, const char *line, GError **error)
{
    g_autofree char *found = describe_found(reader->fault);

    if (reader->read_line == grammar_first_line && reader->fault == line) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE,
                    "%s is not a heap profile: it begins with %s, not with %s", reader->name, found, reader->expected);
        return;
    }
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_MALFORMED,
                "%s:%" G_GUINT64_FORMAT ":%" G_GSIZE_FORMAT ": found %s, expected %s", reader->name, reader->line,
                (gsize)(reader->fault - line) + 1, found, reader->expected);
}

/* Keeps the first reason of a loss; takes ownership of error. */
static void
note_loss(DumpReader *reader, gsize bytes, GError *error)
{
    reader->loss.bytes += bytes;
    reader->loss.lines += bytes > 0;
    if (reader->first_loss == NULL)
        reader->first_loss = error;
    else
        g_error_free(error);
}

/* A stack without its row is useless. */
static void
drop_stack(DumpReader *reader)
{
    reader->has_stack = FALSE;
    reader->loss.bytes += reader->site_bytes;
    reader->loss.lines++;
}

/* After an error: gives up, or (PARTIAL) counts the lost part and returns where to continue. */
static const char *
recover(DumpReader *reader, const char *line, GError **error)
{
    const gboolean before = grammar_is_before_dump(reader);
    GError *fault = NULL;

    report_fault(reader, line, &fault);
    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || before) {
        g_propagate_error(error, fault);
        return NULL;
    }
    if (reader->has_stack && !reader->has_total) {
        drop_stack(reader);
        if (*line != ' ') { /* only the preceding stack was incomplete */
            note_loss(reader, 0, fault);
            reader->line--;
            return line;
        }
    }
    const char *next = scan_next_line(line);
    note_loss(reader, (gsize)(next - line), fault);
    return next;
}

static gboolean
read_run(DumpReader *reader, const TextRun *run, GError **error)
{
    for (const char *line = run->start; line < run->limit;) {
        reader->line++;
        const char *next = reader->read_line(reader, line);
        if (G_UNLIKELY(next == NULL)) {
            next = recover(reader, line, error);
            if (next == NULL)
                return FALSE;
        }
        line = next;
    }
    return TRUE;
}

/* The input ends at place; an incomplete line is lost. */
static gboolean
end_early(DumpReader *reader, const TextRun *place, const char *what, GError **error)
{
    GError *fault =
        g_error_new(PROFILE_ERROR, PROFILE_ERROR_TRUNCATED, "%s:%" G_GUINT64_FORMAT ":%" G_GSIZE_FORMAT ": %s",
                    reader->name, reader->line, (gsize)(place->limit - place->start) + 1, what);

    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || reader->read_line == grammar_first_line) {
        g_propagate_error(error, fault);
        return FALSE;
    }
    if (reader->has_stack && !reader->has_total)
        drop_stack(reader);
    note_loss(reader, (gsize)(place->limit - place->start), fault);
    return TRUE;
}

/* The end of the input: every dump ends with its mappings. */
static gboolean
read_end(DumpReader *reader, const TextRun *run, GError **error)
{
    if (reader->line == 0 && run->start == run->limit) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE, "%s is empty, not a heap profile", reader->name);
        return FALSE;
    }
    if (run->cut) {
        reader->line++;
        return end_early(reader, run, "the file ends within a line", error);
    }
    if (!reader->whole) {
        reader->line++;
        return end_early(reader, run, "the file ends before MAPPED_LIBRARIES", error);
    }
    return TRUE;
}

/* If the source fails midway: with PARTIAL, the preceding part is used. */
static gboolean
source_failed(DumpReader *reader, GError *fault, GError **error)
{
    if (reader->line == 0 && g_error_matches(fault, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE)) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE,
                    "%s is not a heap profile: its first line has no end", reader->name);
        g_error_free(fault);
        return FALSE;
    }
    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || reader->read_line == grammar_first_line ||
        fault->domain != PROFILE_ERROR) {
        g_propagate_error(error, fault);
        return FALSE;
    }
    if (reader->has_stack && !reader->has_total)
        drop_stack(reader);
    note_loss(reader, 0, fault);
    return TRUE;
}

static gboolean
read_runs(DumpReader *reader, GError **error)
{
    TextRun run = {0};

    for (;;) {
        GError *fault = NULL;
        if (!byte_source_next(reader->source, &run, &fault))
            return source_failed(reader, fault, error);
        if (run.cut || run.start == run.limit)
            return read_end(reader, &run, error);
        if (!read_run(reader, &run, error))
            return FALSE;
    }
}

static void
begin_lives(DumpReader *reader)
{
    reader->has_sampler = FALSE;
    reader->samples = g_array_new(FALSE, FALSE, sizeof(ProfileSample));
    reader->deaths = g_array_new(FALSE, FALSE, sizeof(ProfileDeaths));
}

static Profile *
finish(DumpReader *reader)
{
    if (reader->has_stack && reader->has_total)
        grammar_close_stack(reader);
    if (reader->first_loss != NULL) {
        reader->loss.reason = reader->first_loss->message;
        builder_add_loss(reader->builder, &reader->loss);
    }
    builder_resolve(reader->builder);
    builder_set_known(reader->builder, grammar_known_values(reader));
    if (reader->has_sampler) {
        builder_set_lives(reader->builder, &reader->sampler, g_steal_pointer(&reader->samples),
                          g_steal_pointer(&reader->deaths));
        begin_lives(reader);
    }
    return builder_finish(reader->builder);
}

static gboolean
begin_next(DumpReader *reader)
{
    if (reader->earlier->len >= DUMPS_MAX)
        return FALSE;
    g_ptr_array_add(reader->earlier, finish(reader));
    builder_free(reader->builder);
    frame_scanner_clear(&reader->scanner);
    reader->builder = builder_new();
    frame_scanner_init(&reader->scanner, reader->builder);
    g_clear_pointer(&reader->places, g_free);
    reader->has_stack = reader->has_total = reader->has_thread = reader->whole = reader->has_alloc = FALSE;
    reader->has_classes = FALSE;
    reader->at_start = TRUE;
    reader->read_line = grammar_first_line;
    return TRUE;
}

/* Takes ownership of the last dump of the file. */
static Profile *
join(DumpReader *reader, Profile *last, GError **error)
{
    g_ptr_array_add(reader->earlier, last);
    if (reader->earlier->len == 1)
        return g_ptr_array_steal_index(reader->earlier, 0);
    Profile *whole = profile_merge((const Profile *const *)(void *)reader->earlier->pdata, reader->earlier->len, error);
    if (whole != NULL) {
        whole->n_dumps = reader->earlier->len;
        capture_join(whole, reader->earlier);
    }
    return whole;
}

/* Takes ownership of source. */
static Profile *
read_profile(ByteSource *source, const char *name, ProfileReadFlags flags, GError **error)
{
    DumpReader reader = {.builder = builder_new(),
                         .source = source,
                         .name = name,
                         .flags = flags,
                         .read_line = grammar_first_line,
                         .at_start = TRUE,
                         .begin_next = begin_next,
                         .earlier = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free)};

    frame_scanner_init(&reader.scanner, reader.builder);
    begin_lives(&reader);
    Profile *profile = read_runs(&reader, error) ? join(&reader, finish(&reader), error) : NULL;

    byte_source_free(source);
    frame_scanner_clear(&reader.scanner);
    g_array_unref(reader.samples);
    g_array_unref(reader.deaths);
    g_free(reader.places);
    builder_free(reader.builder);
    g_ptr_array_unref(reader.earlier);
    g_clear_error(&reader.first_loss);
    return profile;
}

Profile *
profile_read_fd(int fd, const char *name, ProfileReadFlags flags, GError **error)
{
    return read_profile(byte_source_new_fd(fd, name), name, flags, error);
}

Profile *
profile_read_bytes(GBytes *bytes, const char *name, ProfileReadFlags flags, GError **error)
{
    return read_profile(byte_source_new_bytes(bytes, name), name, flags, error);
}

Profile *
profile_read_file(const char *path, ProfileReadFlags flags, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        int saved = errno;
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(saved), "cannot open %s: %s", path, g_strerror(saved));
        return NULL;
    }
    Profile *profile = profile_read_fd(fd, path, flags, error);
    close(fd);
    return profile;
}
