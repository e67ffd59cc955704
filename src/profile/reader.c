/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of heap dumps (docs/formats.md), one line at a time. A line reader gets the start of a whole line and
 * returns the start of the next one; or it says what it expected where, and returns NULL.
 */
#include "profile/frame_scanner.h"
#include "profile/maps.h"
#include "profile/scan.h"
#include "profile/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct Reader Reader;
typedef const char *(*LineReader)(Reader *reader, const char *line);

struct Reader {
    ProfileBuilder *builder;
    ByteSource *source;
    const char *name;
    ProfileReadFlags flags;
    LineReader read_line; /* the section we are in */
    guint64 line;         /* number of the line being read */

    /* The stack whose rows are being read. */
    FrameScanner scanner;
    BuilderFrames frames;
    gboolean has_stack; /* the "@" line was read */
    gboolean has_total; /* its "t*" row too: the stack may be kept */
    gboolean has_thread;
    DumpCounts total;
    gsize site_bytes; /* of its "@" line */

    gboolean whole; /* MAPPED_LIBRARIES was reached */
    const char *fault;
    const char *expected;
    ProfileLoss loss;
    GError *first_loss;
};

static const char *read_first_line(Reader *reader, const char *line);
static const char *read_site(Reader *reader, const char *line);
static const char *read_mapping(Reader *reader, const char *line);

static const char *
fail(Reader *reader, const char *at, const char *expected)
{
    reader->fault = at;
    reader->expected = expected;
    return NULL;
}

/* Passes text that must be at `at`, or returns NULL. */
static const char *
pass(Reader *reader, const char *at, const char *text)
{
    gsize n = strlen(text);

    return strncmp(at, text, n) == 0 ? at + n : fail(reader, at, text);
}

static const char *
skip_line(const char *line)
{
    return (const char *)rawmemchr(line, '\n') + 1;
}

static const char *
skip_blanks(const char *at)
{
    while (*at == ' ') {
        at++;
    }
    return at;
}

/* " N", blanks before the number as some writers pad it, then the character that must follow. */
static inline const char *
read_count(Reader *reader, const char *at, char follower, guint64 *count)
{
    at = skip_blanks(at);
    const char *next = scan_decimal(at, count);
    if (G_UNLIKELY(next == NULL)) {
        return fail(reader, at, "a decimal number of at most 64 bits");
    }
    if (G_UNLIKELY(*next != follower)) {
        return fail(reader, next, follower == ':' ? "':'" : follower == ']' ? "']'" : "a blank");
    }
    return next + 1;
}

/* "N: N [N: N]" */
static const char *
read_counts(Reader *reader, const char *at, DumpCounts *counts)
{
    at = read_count(reader, at, ':', &counts->inuse_objects);
    if (at != NULL) {
        at = read_count(reader, at, ' ', &counts->inuse_bytes);
    }
    if (at != NULL) {
        at = skip_blanks(at);
        at = *at == '[' ? read_count(reader, at + 1, ':', &counts->alloc_objects) : fail(reader, at, "'['");
    }
    return at != NULL ? read_count(reader, at, ']', &counts->alloc_bytes) : NULL;
}

/* "@ 0xPC 0xPC ..." to the end of the line. */
static const char *
read_frames(Reader *reader, const char *at)
{
    const char *fault = NULL;

    if (*at != '@') {
        return fail(reader, at, "'@'");
    }
    at = frame_scanner_read(&reader->scanner, at + 1, &fault);
    if (at == NULL) {
        return fail(reader, fault, "an address 0x... of at most 64 bits");
    }
    if (*at != '\n') {
        return fail(reader, at, "a blank or the end of the line");
    }
    reader->frames = builder_frames(reader->builder, reader->scanner.frames, reader->scanner.depth);
    return at + 1;
}

static gboolean
add_stack(Reader *reader, guint32 thread, const DumpCounts *counts)
{
    ProfileWeight weight;
    guint32 stack = builder_stack(reader->builder, &reader->frames, thread);

    if (stack == PROFILE_NONE) {
        return FALSE;
    }
    weight_from_counts(counts, builder_period(reader->builder), &weight);
    builder_add_weight(reader->builder, stack, &weight);
    return TRUE;
}

/* Done with a stack; one that no thread claimed counts for all threads together. */
static const char *
end_stack(Reader *reader, const char *at)
{
    if (reader->has_stack && !reader->has_total) {
        return fail(reader, at, "the stack's \"t*:\" row");
    }
    gboolean unclaimed = reader->has_stack && !reader->has_thread;
    reader->has_stack = FALSE;
    if (unclaimed && !add_stack(reader, PROFILE_NONE, &reader->total)) {
        return fail(reader, at, "fewer stacks: the profile exceeds what one can hold");
    }
    return at;
}

/* "t*: COUNTS" or "tUID: COUNTS"; *total tells which. Stops behind the ']'. */
static const char *
read_row(Reader *reader, const char *at, gboolean *total, guint64 *uid, DumpCounts *counts)
{
    at = skip_blanks(at);
    if (*at != 't') {
        return fail(reader, at, "a row \"t*:\" or \"tN:\"");
    }
    at++;
    *total = *at == '*';
    const char *next = *total ? at + 1 : scan_decimal(at, uid);
    if (next == NULL || *next != ':') {
        return fail(reader, at, "\"*:\" or a thread's number and ':'");
    }
    return read_counts(reader, next + 1, counts);
}

/* A row of the header: names the threads. The sums in it are not the sums of the stacks, and not used. */
static const char *
read_header_row(Reader *reader, const char *line)
{
    DumpCounts counts;
    gboolean total = FALSE;
    guint64 uid = 0;

    if (*line != ' ') {
        reader->read_line = read_site;
        return read_site(reader, line);
    }
    const char *at = read_row(reader, line, &total, &uid, &counts);
    if (at == NULL) {
        return NULL;
    }
    const char *limit = skip_line(at) - 1;
    if (at < limit && (*at != ' ' || memchr(at, '\0', (gsize)(limit - at)) != NULL || limit[-1] == '\r')) {
        return fail(reader, at, "a blank and a thread name, or the end of the line");
    }
    if (!total) {
        g_autofree char *thread = g_strndup(at + 1, at < limit ? (gsize)(limit - at - 1) : 0);
        builder_thread(reader->builder, uid, thread);
    }
    return limit + 1;
}

static const char *
read_site_row(Reader *reader, const char *line)
{
    DumpCounts counts;
    gboolean total = FALSE;
    guint64 uid = 0;

    if (!reader->has_stack) {
        return fail(reader, line, "'@', a blank line or MAPPED_LIBRARIES");
    }
    const char *at = read_row(reader, line, &total, &uid, &counts);
    if (at == NULL || *at != '\n') {
        return at != NULL ? fail(reader, at, "the end of the line") : NULL;
    }
    if (total == reader->has_total) {
        return fail(reader, line, total ? "only one \"t*:\" row" : "the \"t*:\" row first");
    }
    if (total) {
        reader->total = counts;
        reader->has_total = TRUE;
    } else if ((reader->flags & PROFILE_READ_THREADS) != 0) {
        reader->has_thread = TRUE;
        if (!add_stack(reader, builder_thread(reader->builder, uid, ""), &counts)) {
            return fail(reader, line, "fewer stacks: the profile exceeds what one can hold");
        }
    }
    return at + 1;
}

static const char *
read_section_end(Reader *reader, const char *line)
{
    const char *at = pass(reader, line, "MAPPED_LIBRARIES:\n");

    if (at != NULL) {
        reader->whole = TRUE;
        reader->read_line = read_mapping;
    }
    return at;
}

/* A line among the stacks of heap_v2/N. */
static const char *
read_site(Reader *reader, const char *line)
{
    if (*line == ' ') {
        return read_site_row(reader, line);
    }
    if (end_stack(reader, line) == NULL) {
        return NULL;
    }
    if (*line == '@') {
        const char *next = read_frames(reader, line);
        reader->has_stack = next != NULL;
        reader->has_total = reader->has_thread = FALSE;
        reader->site_bytes = next != NULL ? (gsize)(next - line) : 0;
        return next;
    }
    return *line == '\n' ? line + 1 : read_section_end(reader, line);
}

/* A line among the stacks of the one-line format: "N: N [N: N] @ 0xPC ..." */
static const char *
read_one_line(Reader *reader, const char *line)
{
    DumpCounts counts;

    if (*line == '\n') {
        return line + 1;
    }
    if (*line == 'M') {
        return read_section_end(reader, line);
    }
    const char *at = read_counts(reader, line, &counts);
    if (at != NULL) {
        at = read_frames(reader, skip_blanks(at));
    }
    if (at != NULL && !add_stack(reader, PROFILE_NONE, &counts)) {
        return fail(reader, line, "fewer stacks: the profile exceeds what one can hold");
    }
    return at;
}

static void
add_mapping(Reader *reader, const MapsLine *map)
{
    g_autofree char *path = map->n_path > 0 ? g_strndup(map->path, map->n_path) : g_strdup("[anonymous]");
    ProfileObject object = {.path = path, .device = map->device, .inode = map->inode, .flags = map->flags};
    ProfileMapping mapping = {.start = map->start, .limit = map->limit, .file_offset = map->file_offset};

    if ((map->flags & PROFILE_OBJECT_ANONYMOUS) != 0) {
        mapping.file_offset = map->start; /* no file: an address tells two of them apart, an offset does not */
    }
    mapping.object = builder_object(reader->builder, &object);
    builder_mapping(reader->builder, &mapping);
}

static gboolean
is_attribute(const char *line)
{
    const char *at = line;

    while (g_ascii_isalpha(*at) || *at == '_') {
        at++;
    }
    return at > line && *at == '=';
}

static const char *
read_mapping(Reader *reader, const char *line)
{
    MapsLine map;
    const char *expected = NULL;

    if (*line == '\n' || is_attribute(line)) { /* gperftools may write "build=..." */
        return skip_line(line);
    }
    const char *fault = maps_line_parse(line, &map, &expected);
    if (fault != NULL) {
        return fail(reader, fault, expected);
    }
    if (map.executable) {
        add_mapping(reader, &map);
    }
    return skip_line(line);
}

static const char *
read_jemalloc_header(Reader *reader, const char *line)
{
    guint64 period = 0;
    const char *at = pass(reader, line, "heap_v2/");
    const char *next = at != NULL ? scan_decimal(at, &period) : NULL;

    if (next == NULL || *next != '\n' || period == 0) {
        return fail(reader, at != NULL ? at : line, "a sampling period from 1 on and the end of the line");
    }
    builder_set_format(reader->builder, PROFILE_FORMAT_JEMALLOC);
    builder_set_period(reader->builder, period);
    reader->read_line = read_header_row;
    return next + 1;
}

/* What may stand behind the '@' of a "heap profile:" header. */
typedef struct {
    const char *kind;
    gboolean sampled; /* "/PERIOD" follows */
    guint64 divisor;  /* of that number, to get bytes between samples */
} OneLineKind;

static const OneLineKind one_line_kinds[] = {
    {"heap_v2", TRUE, 1}, {"heapz_v2", TRUE, 1}, {"heap", TRUE, 2},           {"heapprofile", FALSE, 1},
    {"growth", FALSE, 1}, {"growthz", FALSE, 1}, {"fragmentation", FALSE, 1}, {"fragmentationz", FALSE, 1},
};

static const OneLineKind *
find_one_line_kind(const char *at, gsize n)
{
    for (gsize i = 0; i < G_N_ELEMENTS(one_line_kinds); i++) {
        if (strlen(one_line_kinds[i].kind) == n && memcmp(one_line_kinds[i].kind, at, n) == 0) {
            return &one_line_kinds[i];
        }
    }
    return NULL;
}

static const char *
read_one_line_header(Reader *reader, const char *line)
{
    DumpCounts counts;
    const char *at = pass(reader, line, "heap profile:");

    at = at != NULL ? read_counts(reader, at, &counts) : NULL;
    at = at != NULL ? pass(reader, skip_blanks(at), "@ ") : NULL;
    if (at == NULL) {
        return NULL;
    }
    gsize n = strcspn(at, "/\n ");
    const OneLineKind *kind = find_one_line_kind(at, n);
    if (kind == NULL) {
        return fail(reader, at, "heapprofile, heap_v2/N, growth or fragmentation");
    }
    guint64 period = 1;
    const char *next = at + n;
    if (kind->sampled) {
        next = *next == '/' ? scan_decimal(next + 1, &period) : NULL;
        period = MAX(1, period / kind->divisor) * (period > 0);
    }
    if (next == NULL || *next != '\n' || period == 0) {
        return fail(reader, at + n, kind->sampled ? "'/' and a sampling period from 1 on" : "the end of the line");
    }
    builder_set_format(reader->builder, PROFILE_FORMAT_ONE_LINE);
    builder_set_period(reader->builder, period);
    reader->read_line = read_one_line;
    return next + 1;
}

/* The line between "---" and the dump itself: "--- heap". */
static const char *
read_raw_marker(Reader *reader, const char *line)
{
    const char *at = pass(reader, line, "--- ");

    if (at != NULL) {
        reader->read_line = read_first_line;
        at = skip_line(at);
    }
    return at;
}

/* "0xADDRESS NAME[--INLINED CALLER]..." or "binary=PATH" */
static const char *
read_symbol(Reader *reader, const char *line)
{
    guint64 address = 0;

    if (strncmp(line, "---", 3) == 0) {
        reader->read_line = read_raw_marker;
        return line[3] == '\n' ? line + 4 : read_raw_marker(reader, line);
    }
    if (is_attribute(line)) {
        return skip_line(line);
    }
    const char *at = pass(reader, line, "0x");
    const char *next = at != NULL ? scan_hex(at, &address) : NULL;
    if (next == NULL || *next != ' ') {
        return fail(reader, line, "an address 0x..., a blank and a name");
    }
    next = skip_blanks(next);
    gsize n = strcspn(next, "\n");
    if (n == 0 || next[n] != '\n') {
        return fail(reader, next + n, "a name without NUL");
    }
    g_autofree char *name = g_strndup(next, n);
    g_autofree char *valid = g_utf8_make_valid(name, (gssize)n);
    builder_symbol(reader->builder, address, valid);
    return next + n + 1;
}

static const char *
read_first_line(Reader *reader, const char *line)
{
    if (g_str_has_prefix(line, "heap_v2/")) {
        return read_jemalloc_header(reader, line);
    }
    if (g_str_has_prefix(line, "heap profile:")) {
        return read_one_line_header(reader, line);
    }
    if (reader->line == 1 && g_str_has_prefix(line, "--- symbol")) {
        reader->read_line = read_symbol;
        return skip_line(line);
    }
    if (g_str_has_prefix(line, "<jemalloc>: ")) { /* the leak summary, when both went to one stream */
        return skip_line(line);
    }
    return fail(reader, line, "heap_v2/N, \"heap profile:\" or \"--- symbol\"");
}

/* The bytes found where something else was expected, fit for a message. */
static char *
describe_found(const char *at)
{
    enum { LONGEST = 24 };
    gsize n = 0;

    while (n < LONGEST && at[n] != '\n' && at[n] != ' ') {
        n++;
    }
    if (n == 0) {
        return g_strdup(*at == ' ' ? "a blank" : "the end of the line");
    }
    g_autoptr(GString) text = g_string_new("\"");
    for (gsize i = 0; i < n; i++) {
        guchar c = (guchar)at[i];
        if (c >= 0x20 && c < 0x7f && c != '"') {
            g_string_append_c(text, (char)c);
        } else {
            g_string_append_printf(text, "\\x%02x", c);
        }
    }
    g_string_append_c(text, '"');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
report_fault(const Reader *reader, const char *line, GError **error)
{
    g_autofree char *found = describe_found(reader->fault);

    if (reader->read_line == read_first_line && reader->fault == line) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE,
                    "%s is not a heap profile: it begins with %s, not with %s", reader->name, found, reader->expected);
        return;
    }
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_MALFORMED,
                "%s:%" G_GUINT64_FORMAT ":%" G_GSIZE_FORMAT ": found %s, expected %s", reader->name, reader->line,
                (gsize)(reader->fault - line) + 1, found, reader->expected);
}

/* Keeps the first reason of a loss; takes error. */
static void
note_loss(Reader *reader, gsize bytes, GError *error)
{
    reader->loss.bytes += bytes;
    reader->loss.lines += bytes > 0;
    if (reader->first_loss == NULL) {
        reader->first_loss = error;
    } else {
        g_error_free(error);
    }
}

/* A stack without its row says nothing. */
static void
drop_stack(Reader *reader)
{
    reader->has_stack = FALSE;
    reader->loss.bytes += reader->site_bytes;
    reader->loss.lines++;
}

/* After a fault: gives up, or (PARTIAL) counts what is lost and returns where to go on. */
static const char *
recover(Reader *reader, const char *line, GError **error)
{
    gboolean headless = reader->read_line == read_first_line || reader->read_line == read_raw_marker;
    GError *fault = NULL;

    report_fault(reader, line, &fault);
    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || headless) {
        g_propagate_error(error, fault);
        return NULL;
    }
    if (reader->has_stack && !reader->has_total) {
        drop_stack(reader);
        if (*line != ' ') { /* only the stack before it lacked something */
            note_loss(reader, 0, fault);
            reader->line--;
            return line;
        }
    }
    const char *next = skip_line(line);
    note_loss(reader, (gsize)(next - line), fault);
    return next;
}

static gboolean
read_run(Reader *reader, const TextRun *run, GError **error)
{
    for (const char *line = run->start; line < run->limit;) {
        reader->line++;
        const char *next = reader->read_line(reader, line);
        if (G_UNLIKELY(next == NULL)) {
            next = recover(reader, line, error);
            if (next == NULL) {
                return FALSE;
            }
        }
        line = next;
    }
    return TRUE;
}

/* The input ends at place; what stands there and is not a whole line is lost. */
static gboolean
end_early(Reader *reader, const TextRun *place, const char *what, GError **error)
{
    GError *fault =
        g_error_new(PROFILE_ERROR, PROFILE_ERROR_TRUNCATED, "%s:%" G_GUINT64_FORMAT ":%" G_GSIZE_FORMAT ": %s",
                    reader->name, reader->line, (gsize)(place->limit - place->start) + 1, what);

    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || reader->read_line == read_first_line) {
        g_propagate_error(error, fault);
        return FALSE;
    }
    if (reader->has_stack && !reader->has_total) {
        drop_stack(reader);
    }
    note_loss(reader, (gsize)(place->limit - place->start), fault);
    return TRUE;
}

/* The end of the input: every dump ends with its mappings. */
static gboolean
read_end(Reader *reader, const TextRun *run, GError **error)
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

/* A source that fails midway: with PARTIAL, what came before it counts. */
static gboolean
source_failed(Reader *reader, GError *fault, GError **error)
{
    if (reader->line == 0 && g_error_matches(fault, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE)) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE,
                    "%s is not a heap profile: its first line has no end", reader->name);
        g_error_free(fault);
        return FALSE;
    }
    if ((reader->flags & PROFILE_READ_PARTIAL) == 0 || reader->read_line == read_first_line ||
        fault->domain != PROFILE_ERROR) {
        g_propagate_error(error, fault);
        return FALSE;
    }
    if (reader->has_stack && !reader->has_total) {
        drop_stack(reader);
    }
    note_loss(reader, 0, fault);
    return TRUE;
}

static gboolean
read_runs(Reader *reader, GError **error)
{
    TextRun run = {0};

    for (;;) {
        GError *fault = NULL;
        if (!byte_source_next(reader->source, &run, &fault)) {
            return source_failed(reader, fault, error);
        }
        if (run.cut || run.start == run.limit) {
            return read_end(reader, &run, error);
        }
        if (!read_run(reader, &run, error)) {
            return FALSE;
        }
    }
}

static Profile *
finish(Reader *reader)
{
    if (reader->has_stack && !reader->has_thread && reader->has_total) {
        add_stack(reader, PROFILE_NONE, &reader->total);
    }
    if (reader->first_loss != NULL) {
        reader->loss.reason = reader->first_loss->message;
        builder_add_loss(reader->builder, &reader->loss);
    }
    builder_resolve(reader->builder);
    return builder_finish(reader->builder);
}

/* Takes source. */
static Profile *
read_profile(ByteSource *source, const char *name, ProfileReadFlags flags, GError **error)
{
    g_autoptr(ProfileBuilder) builder = builder_new();
    Reader reader = {.builder = builder, .source = source, .name = name, .flags = flags, .read_line = read_first_line};

    frame_scanner_init(&reader.scanner, builder);
    Profile *profile = read_runs(&reader, error) ? finish(&reader) : NULL;

    byte_source_free(source);
    frame_scanner_clear(&reader.scanner);
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
