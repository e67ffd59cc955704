/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of heap dumps (docs/formats.md), one line at a time. */
#include "profile/dump-reader.h"
#include "profile/lives.h"
#include "profile/maps.h"
#include "profile/scan.h"
#include "profile/size-class.h"

#include <limits.h>
#include <string.h>

static const char *read_site(DumpReader *reader, const char *line);
static const char *read_mapping(DumpReader *reader, const char *line);

static const char *
fail(DumpReader *reader, const char *at, const char *expected)
{
    reader->fault = at;
    reader->expected = expected;
    return NULL;
}

/* Skips the given text at `at`, or returns NULL if it is not there. */
static const char *
pass(DumpReader *reader, const char *at, const char *text)
{
    gsize n = strlen(text);

    return strncmp(at, text, n) == 0 ? at + n : fail(reader, at, text);
}

static const char *
skip_blanks(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

/* " N", blanks before the number as some writers pad it, then the character that must follow. */
static inline const char *
read_count(DumpReader *reader, const char *at, char follower, guint64 *count)
{
    at = skip_blanks(at);
    const char *next = scan_decimal(at, count);
    if (G_UNLIKELY(next == NULL))
        return fail(reader, at, "a decimal number of at most 64 bits");
    if (G_UNLIKELY(*next != follower))
        return fail(reader, next, follower == ':' ? "':'" : follower == ']' ? "']'" : "a blank");
    return next + 1;
}

/* "N: N [N: N]" */
static const char *
read_counts(DumpReader *reader, const char *at, DumpCounts *counts)
{
    at = read_count(reader, at, ':', &counts->inuse_objects);
    if (at != NULL)
        at = read_count(reader, at, ' ', &counts->inuse_bytes);
    if (at != NULL) {
        at = skip_blanks(at);
        at = *at == '[' ? read_count(reader, at + 1, ':', &counts->alloc_objects) : fail(reader, at, "'['");
    }
    return at != NULL ? read_count(reader, at, ']', &counts->alloc_bytes) : NULL;
}

/* "@ 0xPC 0xPC ..." to the end of the line. */
static const char *
read_frames(DumpReader *reader, const char *at)
{
    const char *fault = NULL;

    if (*at != '@')
        return fail(reader, at, "'@'");
    at = frame_scanner_read(&reader->scanner, at + 1, &fault);
    if (at == NULL)
        return fail(reader, fault, "an address 0x... of at most 64 bits");
    if (*at != '\n')
        return fail(reader, at, "a blank or the end of the line");
    reader->frames = builder_frames(reader->builder, reader->scanner.frames, reader->scanner.depth);
    return at + 1;
}

static gboolean
add_stack(DumpReader *reader, guint32 thread, const DumpCounts *counts)
{
    ProfileWeight weight;
    guint32 stack = builder_stack(reader->builder, &reader->frames, (BuilderPart){thread, PROFILE_NONE});

    if (stack == PROFILE_NONE)
        return FALSE;
    weight_from_counts(counts, builder_period(reader->builder), &weight);
    builder_add_weight(reader->builder, stack, &weight);
    reader->has_alloc = reader->has_alloc || counts->alloc_objects > 0 || counts->alloc_bytes > 0;
    return TRUE;
}

static gdouble
seconds_lived(const DumpReader *reader, const ProfileSample *sample)
{
    enum { US_PER_S = 1000000 };

    return sample->born < reader->sampler.window ? (gdouble)(reader->sampler.window - sample->born) / US_PER_S : 0;
}

/* For one sampled object, or several of one size. */
static BuilderPart
part_of(const DumpReader *reader, guint32 thread, guint64 size)
{
    return (BuilderPart){thread, (reader->flags & PROFILE_READ_SIZES) != 0 ? size_class_of(size) : PROFILE_NONE};
}

static gboolean
add_live(DumpReader *reader, ProfileSample *sample)
{
    ProfileWeight weight = {0};
    gboolean by_thread = (reader->flags & PROFILE_READ_THREADS) != 0;
    guint32 thread = by_thread ? builder_thread(reader->builder, sample->thread, "") : PROFILE_NONE;

    sample->stack = builder_stack(reader->builder, &reader->frames, part_of(reader, thread, sample->size));
    if (sample->stack == PROFILE_NONE)
        return FALSE;
    weight_add_live(&weight, sample->size, seconds_lived(reader, sample), builder_period(reader->builder));
    if (!by_thread) /* the number freed by a thread is unknown, so the number it allocated is as well */
        weight_set_alloc(&weight);
    builder_add_weight(reader->builder, sample->stack, &weight);
    return TRUE;
}

static gboolean
add_deaths(DumpReader *reader, ProfileDeaths *deaths)
{
    enum { US_PER_S = 1000000 };
    ProfileWeight weight = {0};

    deaths->stack = builder_stack(reader->builder, &reader->frames, part_of(reader, PROFILE_NONE, deaths->size));
    if (deaths->stack == PROFILE_NONE)
        return FALSE;
    weight_add_deaths(&weight, deaths, builder_period(reader->builder));
    weight_set_alloc(&weight);
    weight_set_churn(&weight, (gdouble)reader->sampler.window / US_PER_S);
    builder_add_weight(reader->builder, deaths->stack, &weight);
    return TRUE;
}

/* Adds the samples of the current stack, which replace its row. */
static gboolean
add_lives(DumpReader *reader)
{
    gboolean fits = TRUE;

    for (guint i = reader->first_sample; i < reader->samples->len && fits; i++)
        fits = add_live(reader, &g_array_index(reader->samples, ProfileSample, i));
    for (guint i = reader->first_death; i < reader->deaths->len && fits; i++)
        fits = add_deaths(reader, &g_array_index(reader->deaths, ProfileDeaths, i));
    if (!fits) {
        g_array_set_size(reader->samples, reader->first_sample);
        g_array_set_size(reader->deaths, reader->first_death);
    }
    return fits;
}

/* Finishes a stack that has its row; one that no thread claimed counts for all threads together. */
gboolean
grammar_close_stack(DumpReader *reader)
{
    reader->has_stack = FALSE;
    if (reader->has_sampler)
        return add_lives(reader);
    return reader->has_thread || add_stack(reader, PROFILE_NONE, &reader->total);
}

static const char *
end_stack(DumpReader *reader, const char *at)
{
    if (reader->has_stack && !reader->has_total)
        return fail(reader, at, "the stack's \"t*:\" row");
    if (reader->has_stack && !grammar_close_stack(reader))
        return fail(reader, at, "fewer stacks: a profile holds " PROFILE_LIMITS);
    return at;
}

/* Handles the result of a parser of lives.h for LINE. */
static const char *
after_lives(DumpReader *reader, const char *line, const char *fault, const char *expected)
{
    return fault == NULL ? scan_next_line(line) : fail(reader, fault, expected);
}

/* A comment in the header: names the sampler that wrote the dump; others are ignored. */
static const char *
read_header_comment(DumpReader *reader, const char *line)
{
    const char *expected = NULL;
    ProfileSampler sampler = {0};

    if (lives_kind(line) != LIVES_SAMPLER)
        return scan_next_line(line);
    const char *fault = lives_parse_sampler(line, &sampler, &expected);
    if (fault == NULL && sampler.window == 0)
        return fail(reader, line, "\"window=\" and a number from 1 on");
    if (fault == NULL) {
        reader->sampler = sampler;
        reader->has_sampler = TRUE;
    }
    return after_lives(reader, line, fault, expected);
}

static const char *
read_live(DumpReader *reader, const char *line)
{
    ProfileSample sample = {.stack = PROFILE_NONE};
    const char *expected = NULL;
    const char *fault = lives_parse_live(line, &sample, &expected);

    if (fault == NULL)
        g_array_append_val(reader->samples, sample);
    return after_lives(reader, line, fault, expected);
}

static const char *
read_died(DumpReader *reader, const char *line)
{
    ProfileDeaths deaths = {.stack = PROFILE_NONE};
    const char *expected = NULL;
    const char *fault = lives_parse_died(line, &deaths, &expected);

    if (fault == NULL)
        g_array_append_val(reader->deaths, deaths);
    return after_lives(reader, line, fault, expected);
}

/* A comment among the stacks. */
static const char *
read_site_comment(DumpReader *reader, const char *line)
{
    LivesKind kind = lives_kind(line);

    if (kind != LIVES_LIVE && kind != LIVES_DIED)
        return scan_next_line(line);
    if (!reader->has_sampler)
        return fail(reader, line, "\"#sampler jescope 1\" in the second line of such a dump");
    if (!reader->has_stack || !reader->has_total)
        return fail(reader, line, "a stack's \"t*:\" row first");
    if (reader->samples->len + reader->deaths->len >= PROFILE_MAX_SAMPLES)
        return fail(reader, line, "no more than 2^24 lines of samples");
    return kind == LIVES_LIVE ? read_live(reader, line) : read_died(reader, line);
}

/* "t*: COUNTS" or "tUID: COUNTS"; *total tells which. Stops after the ']'. */
static const char *
read_row(DumpReader *reader, const char *at, gboolean *total, guint64 *uid, DumpCounts *counts)
{
    at = skip_blanks(at);
    if (*at != 't')
        return fail(reader, at, "a row \"t*:\" or \"tN:\"");
    at++;
    *total = *at == '*';
    const char *next = *total ? at + 1 : scan_decimal(at, uid);
    if (next == NULL || *next != ':')
        return fail(reader, at, "\"*:\" or a thread's number and ':'");
    return read_counts(reader, next + 1, counts);
}

/* A row of the header: names the threads. Its sums differ from the sums of the stacks, and are not used. */
static const char *
read_header_row(DumpReader *reader, const char *line)
{
    DumpCounts counts;
    gboolean total = FALSE;
    guint64 uid = 0;

    if (*line == '#')
        return read_header_comment(reader, line);
    if (*line != ' ') {
        reader->read_line = read_site;
        return read_site(reader, line);
    }
    const char *at = read_row(reader, line, &total, &uid, &counts);
    if (at == NULL)
        return NULL;
    const char *limit = scan_next_line(at) - 1;
    if (at < limit && (*at != ' ' || memchr(at, '\0', (gsize)(limit - at)) != NULL || limit[-1] == '\r'))
        return fail(reader, at, "a blank and a thread name, or the end of the line");
    if (!total) {
        g_autofree char *thread = g_strndup(at + 1, at < limit ? (gsize)(limit - at - 1) : 0);
        builder_thread(reader->builder, uid, thread);
    }
    return limit + 1;
}

static const char *
read_site_row(DumpReader *reader, const char *line)
{
    DumpCounts counts;
    gboolean total = FALSE;
    guint64 uid = 0;

    if (!reader->has_stack)
        return fail(reader, line, "'@', a blank line or MAPPED_LIBRARIES");
    const char *at = read_row(reader, line, &total, &uid, &counts);
    if (at == NULL || *at != '\n')
        return at != NULL ? fail(reader, at, "the end of the line") : NULL;
    if (total == reader->has_total)
        return fail(reader, line, total ? "only one \"t*:\" row" : "the \"t*:\" row first");
    if (total) {
        reader->total = counts;
        reader->has_total = TRUE;
    } else if ((reader->flags & PROFILE_READ_THREADS) != 0 && !reader->has_sampler) {
        reader->has_thread = TRUE;
        if (!add_stack(reader, builder_thread(reader->builder, uid, ""), &counts))
            return fail(reader, line, "fewer stacks: a profile holds " PROFILE_LIMITS);
    }
    return at + 1;
}

static const char *
read_section_end(DumpReader *reader, const char *line)
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
read_site(DumpReader *reader, const char *line)
{
    if (*line == ' ')
        return read_site_row(reader, line);
    if (*line == '#')
        return read_site_comment(reader, line);
    if (end_stack(reader, line) == NULL)
        return NULL;
    if (*line == '@') {
        const char *next = read_frames(reader, line);
        reader->has_stack = next != NULL;
        reader->has_total = reader->has_thread = FALSE;
        reader->first_sample = reader->samples->len;
        reader->first_death = reader->deaths->len;
        reader->site_bytes = next != NULL ? (gsize)(next - line) : 0;
        return next;
    }
    return *line == '\n' ? line + 1 : read_section_end(reader, line);
}

/* A line among the stacks of the one-line format: "N: N [N: N] @ 0xPC ..." */
static const char *
read_one_line(DumpReader *reader, const char *line)
{
    DumpCounts counts;

    if (*line == '\n')
        return line + 1;
    if (*line == 'M')
        return read_section_end(reader, line);
    const char *at = read_counts(reader, line, &counts);
    if (at != NULL)
        at = read_frames(reader, skip_blanks(at));
    if (at != NULL && !add_stack(reader, PROFILE_NONE, &counts))
        return fail(reader, line, "fewer stacks: a profile holds " PROFILE_LIMITS);
    return at;
}

static void
add_mapping(DumpReader *reader, const MapsLine *map)
{
    /* No file has a longer path, and there may be a location at each of its addresses. */
    g_autofree char *path =
        map->n_path > 0 ? g_strndup(map->path, MIN(map->n_path, PATH_MAX)) : g_strdup("[anonymous]");
    ProfileObject object = {.path = path, .device = map->device, .inode = map->inode, .flags = map->flags};
    ProfileMapping mapping = {.start = map->start, .limit = map->limit, .file_offset = map->file_offset};

    if ((map->flags & PROFILE_OBJECT_ANONYMOUS) != 0)
        mapping.file_offset = map->start; /* no file: addresses distinguish them, offsets do not */
    mapping.object = builder_object(reader->builder, &object);
    builder_mapping(reader->builder, &mapping);
}

static gboolean
is_attribute(const char *line)
{
    const char *at = line;

    while (g_ascii_isalpha(*at) || *at == '_')
        at++;
    return at > line && *at == '=';
}

static gboolean
begins_dump(const char *line)
{
    return g_str_has_prefix(line, "heap_v2/") || g_str_has_prefix(line, "heap profile:") ||
           g_str_has_prefix(line, "--- symbol");
}

static const char *
read_mapping(DumpReader *reader, const char *line)
{
    MapsLine map;
    ProfileCapture capture;
    ProfileClass class;
    const char *expected = NULL;

    if (begins_dump(line))
        return reader->begin_next(reader) ? grammar_first_line(reader, line)
                                          : fail(reader, line, "no more than 4096 dumps in one file");
    if (capture_parse(line, &capture)) {
        builder_set_capture(reader->builder, &capture);
        return scan_next_line(line);
    }
    if (class_parse(line, &class)) {
        builder_add_class(reader->builder, &class);
        reader->has_classes = TRUE;
        return scan_next_line(line);
    }
    if (*line == '\n' || is_attribute(line)) /* gperftools may write "build=..." */
        return scan_next_line(line);
    const char *fault = maps_line_parse(line, &map, &expected);
    if (fault != NULL)
        return fail(reader, fault, expected);
    if (map.executable)
        add_mapping(reader, &map);
    return scan_next_line(line);
}

static const char *
read_jemalloc_header(DumpReader *reader, const char *line)
{
    guint64 period = 0;
    const char *at = pass(reader, line, "heap_v2/");
    const char *next = at != NULL ? scan_decimal(at, &period) : NULL;

    if (next == NULL || *next != '\n' || period == 0)
        return fail(reader, at != NULL ? at : line, "a sampling period from 1 on and the end of the line");
    builder_set_period(reader->builder, period);
    reader->read_line = read_header_row;
    return next + 1;
}

/* The text after the '@' of a "heap profile:" header. */
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
    for (gsize i = 0; i < G_N_ELEMENTS(one_line_kinds); i++)
        if (strlen(one_line_kinds[i].kind) == n && memcmp(one_line_kinds[i].kind, at, n) == 0)
            return &one_line_kinds[i];
    return NULL;
}

static const char *
read_one_line_header(DumpReader *reader, const char *line)
{
    DumpCounts counts;
    const char *at = pass(reader, line, "heap profile:");

    at = at != NULL ? read_counts(reader, at, &counts) : NULL;
    at = at != NULL ? pass(reader, skip_blanks(at), "@ ") : NULL;
    if (at == NULL)
        return NULL;
    gsize n = strcspn(at, "/\n ");
    const OneLineKind *kind = find_one_line_kind(at, n);
    if (kind == NULL)
        return fail(reader, at, "heapprofile, heap_v2/N, growth or fragmentation");
    guint64 period = 1;
    const char *next = at + n;
    if (kind->sampled) {
        next = *next == '/' ? scan_decimal(next + 1, &period) : NULL;
        period = MAX(1, period / kind->divisor) * (period > 0);
    }
    if (next == NULL || *next != '\n' || period == 0)
        return fail(reader, at + n, kind->sampled ? "'/' and a sampling period from 1 on" : "the end of the line");
    builder_set_period(reader->builder, period);
    reader->read_line = read_one_line;
    return next + 1;
}

/* The line between "---" and the dump itself: "--- heap". */
static const char *
read_raw_marker(DumpReader *reader, const char *line)
{
    const char *at = pass(reader, line, "--- ");

    if (at != NULL) {
        reader->read_line = grammar_first_line;
        at = scan_next_line(at);
    }
    return at;
}

/* "@ FILE:LINE:START\t...": the places of the frames of the symbol on the next line. jescope's own; jeprof skips such
 * lines. */
static const char *
read_places(DumpReader *reader, const char *line)
{
    gsize n = strcspn(line, "\n");

    if (line[n] != '\n')
        return fail(reader, line + n, "places without NUL");
    g_autofree char *places = g_strndup(line + 2, n - 2);
    g_free(reader->places);
    reader->places = g_utf8_make_valid(places, -1);
    return line + n + 1;
}

static void
keep_symbol(DumpReader *reader, guint64 address, const char *name)
{
    g_autofree char *places = g_steal_pointer(&reader->places);
    g_autofree char *whole = places != NULL ? g_strconcat(name, "\t", places, NULL) : g_strdup(name);

    builder_symbol(reader->builder, address, whole);
}

/* "0xADDRESS NAME[--INLINED CALLER]...", "binary=PATH", or read_places() */
static const char *
read_symbol(DumpReader *reader, const char *line)
{
    guint64 address = 0;

    if (strncmp(line, "---", 3) == 0) {
        reader->read_line = read_raw_marker;
        return line[3] == '\n' ? line + 4 : read_raw_marker(reader, line);
    }
    if (is_attribute(line))
        return scan_next_line(line);
    if (g_str_has_prefix(line, "@ "))
        return read_places(reader, line);
    const char *at = pass(reader, line, "0x");
    const char *next = at != NULL ? scan_hex(at, &address) : NULL;
    if (next == NULL || *next != ' ')
        return fail(reader, line, "an address 0x..., a blank and a name");
    next = skip_blanks(next);
    gsize n = strcspn(next, "\n");
    if (n == 0 || next[n] != '\n')
        return fail(reader, next + n, "a name without NUL");
    g_autofree char *name = g_strndup(next, n);
    g_autofree char *valid = g_utf8_make_valid(name, (gssize)n);
    keep_symbol(reader, address, valid);
    return next + n + 1;
}

const char *
grammar_first_line(DumpReader *reader, const char *line)
{
    if (g_str_has_prefix(line, "heap_v2/"))
        return read_jemalloc_header(reader, line);
    if (g_str_has_prefix(line, "heap profile:"))
        return read_one_line_header(reader, line);
    if (reader->at_start && g_str_has_prefix(line, "--- symbol")) {
        reader->at_start = FALSE;
        reader->read_line = read_symbol;
        return scan_next_line(line);
    }
    reader->at_start = FALSE;
    if (g_str_has_prefix(line, "<jemalloc>: ")) /* the leak summary, if both were written to one stream */
        return scan_next_line(line);
    return fail(reader, line, "heap_v2/N, \"heap profile:\" or \"--- symbol\"");
}

gboolean
grammar_is_before_dump(const DumpReader *reader)
{
    return reader->read_line == grammar_first_line || reader->read_line == read_raw_marker;
}

guint32
grammar_known_values(const DumpReader *reader)
{
    const guint32 holes = reader->has_classes ? PROFILE_KNOWS_HOLES : 0;
    if (reader->has_sampler)
        return holes | ((reader->flags & PROFILE_READ_THREADS) != 0 ? PROFILE_KNOWS_THREAD : PROFILE_KNOWS_ALL);
    return holes | (reader->has_alloc ? PROFILE_KNOWS_ALLOC : PROFILE_KNOWS_INUSE);
}
