/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/reader.h"

#include "stats/intern.h"
#include "stats/json.h"
#include "stats/prefix.h"
#include "stats/text.h"

#include <string.h>

enum {
    LINE_MAX_KEPT = 64 * 1024, /* longer lines are read in pieces; only compact JSON has such lines */
    BEFORE_MAX = 256,
    BEFORE_LINES = 20,
    STREAMS_MAX = 64, /* maximum number of open snapshots */
};

/* A snapshot that has begun. */
typedef struct {
    Prefix prefix;
    const char *identity; /* of prefix */
    TextSnapshot *text;   /* either this or the next one */
    TextHeadings *headings;
    JsonSnapshot *json;
    uint64_t line;
    gint64 time_us;
    gboolean after_open; /* it began while another one of the same writer was open */
} Stream;

/* A line, or the first piece of one. */
typedef struct {
    const char *text;
    gsize length; /* without the line end */
    gboolean whole;
} LineIn;

struct StatsReader {
    StatsSampleFunc func;
    gpointer data;
    StatsReport report;
    guint64 rows;           /* of tables, that may still be read */
    TextHeadings *headings; /* headings of the last closed text snapshot: the next one's are mostly the same */
    GPtrArray *streams;
    GByteArray *carry; /* the beginning of an incomplete line */
    Stream *piece_of;  /* the stream that receives the pieces of a long line; NULL: none */
    gboolean in_piece;
    gsize tail_length; /* for a long line without an open snapshot: its latest bytes, in which one may begin */
    char tail[sizeof(JSON_BEGIN) - 2];
    LineIn rest;       /* the rest of a line after a snapshot that ended in it */
    StatsSample *held; /* see emit() */
    gsize before_length;
    char before[BEFORE_MAX]; /* the latest line that may have a timestamp, for the next snapshot */
    uint64_t before_line;
};

static void
stream_free(gpointer data)
{
    Stream *stream = data;
    prefix_clear(&stream->prefix);
    stats_intern_unref(stream->identity);
    text_snapshot_free(stream->text);
    text_headings_free(stream->headings);
    json_snapshot_free(stream->json);
    g_free(stream);
}

StatsReader *
stats_reader_new(StatsSampleFunc func, gpointer data)
{
    StatsReader *reader = g_new0(StatsReader, 1);
    reader->func = func;
    reader->data = data;
    reader->streams = g_ptr_array_new_with_free_func(stream_free);
    reader->carry = g_byte_array_new();
    reader->rows = G_MAXUINT64;
    return reader;
}

void
stats_reader_limit(StatsReader *reader, guint64 rows)
{
    reader->rows = rows;
}

void
stats_reader_free(StatsReader *reader)
{
    if (reader == NULL)
        return;
    text_headings_free(reader->headings);
    g_ptr_array_unref(reader->streams);
    g_byte_array_unref(reader->carry);
    g_clear_pointer(&reader->held, stats_sample_unref);
    g_free(reader);
}

static void
leave_out(StatsReader *reader, uint64_t line, uint64_t *counter, const char *why)
{
    ++*counter;
    if (reader->report.first_left_out == 0) {
        reader->report.first_left_out = line;
        g_strlcpy(reader->report.why_left_out, why, sizeof(reader->report.why_left_out));
    }
}

static void
close_stream(StatsReader *reader, Stream *stream)
{
    if (reader->piece_of == stream)
        reader->piece_of = NULL;
    if (reader->headings == NULL)
        reader->headings = g_steal_pointer(&stream->headings);
    g_ptr_array_remove(reader->streams, stream);
}

static void
close_truncated(StatsReader *reader, Stream *stream, const char *why)
{
    leave_out(reader, stream->line, &reader->report.truncated, why);
    close_stream(reader, stream);
}

static void
close_damaged(StatsReader *reader, Stream *stream, const char *why)
{
    leave_out(reader, stream->line, &reader->report.damaged, why);
    close_stream(reader, stream);
}

static gboolean
hand_out(StatsReader *reader, StatsSample *sample, GError **error)
{
    reader->report.samples++;
    return reader->func(sample, reader->data, error);
}

static gboolean
release_held(StatsReader *reader, GError **error)
{
    g_autoptr(StatsSample) sample = g_steal_pointer(&reader->held);
    return sample == NULL || hand_out(reader, sample, error);
}

/* A snapshot that began inside an unfinished one either followed a crash and is complete, or its lines are mixed with
 * another process's. A second End indicates the latter. */
static gboolean
emit(StatsReader *reader, Stream *stream, StatsSample *taken, GError **error)
{
    g_autoptr(StatsSample) sample = taken;
    sample->time_us = stream->time_us;
    sample->line = stream->line;
    sample->stream = stats_intern_ref(stream->identity);
    gboolean hold = stream->after_open;
    close_stream(reader, stream);
    if (hold && reader->held == NULL) {
        reader->held = g_steal_pointer(&sample);
        return TRUE;
    }
    return hand_out(reader, sample, error);
}

static gboolean
finish_snapshot(StatsReader *reader, Stream *stream, GError **error)
{
    StatsSample *sample = stream->text != NULL ? text_snapshot_take(stream->text) : json_snapshot_take(stream->json);
    if (sample != NULL)
        return emit(reader, stream, sample, error);
    close_damaged(
        reader, stream,
        "it contains no statistics (jemalloc was built without them, or the output of two processes is mixed)");
    return TRUE;
}

/* Keeps the text after compact JSON on the same line: it is later output. */
static void
keep_rest(StatsReader *reader, LineIn rest)
{
    gsize brace = rest.length > 0 && rest.text[0] == '}';
    reader->rest = (LineIn){rest.text + brace, rest.length - brace, rest.whole};
}

static gboolean
feed_json(StatsReader *reader, Stream *stream, LineIn line, GError **error)
{
    gsize taken;
    switch (json_snapshot_feed(stream->json, line.text, line.length, &taken)) {
    case JSON_MORE:
        if (!line.whole)
            reader->piece_of = stream;
        return TRUE;
    case JSON_DAMAGED:
        close_damaged(reader, stream, json_snapshot_why(stream->json));
        return TRUE;
    default:
        keep_rest(reader, (LineIn){line.text + taken, line.length - taken, line.whole});
        return finish_snapshot(reader, stream, error);
    }
}

static const char *
find(LineIn line, const char *marker)
{
    return memmem(line.text, line.length, marker, strlen(marker));
}

/* Searches only as far as a prefix may be long: a line may contain thousands of snapshots, each of which searches
 * it. */
static const char *
find_text_begin(LineIn line)
{
    const gsize searched = PREFIX_MAX + strlen(TEXT_BEGIN);
    return find((LineIn){line.text, MIN(line.length, searched), line.whole}, TEXT_BEGIN);
}

static Stream *
stream_of(const StatsReader *reader, const char *identity)
{
    for (guint i = 0; i < reader->streams->len; i++) {
        Stream *stream = reader->streams->pdata[i];
        if (stream->identity == identity)
            return stream;
    }
    return NULL;
}

/* The time for a snapshot without a logger's prefix: that of the previous line, or of a few lines before (a log entry
 * may have several lines), such as Aerospike's date lines. */
static gint64
time_before(const StatsReader *reader)
{
    static const char aerospike[] = "---------- ";
    Timestamp found;
    if (reader->report.lines - reader->before_line > BEFORE_LINES)
        return STATS_TIME_UNKNOWN;
    gsize skipped = g_str_has_prefix(reader->before, aerospike) ? strlen(aerospike) : 0;
    if (!timestamp_find(reader->before + skipped, reader->before_length - skipped, &found))
        return STATS_TIME_UNKNOWN;
    return found.time_us;
}

/* Whether the line has a clock time or seconds since 1970: a cheap test before the search for a timestamp. */
static gboolean
may_be_timed(LineIn line)
{
    gsize searched = MIN(line.length, (gsize)BEFORE_MAX / 4);
    if (line.length > 10 && g_ascii_isdigit(line.text[0]) && g_ascii_isdigit(line.text[9]))
        return TRUE;
    const char *colon = memchr(line.text, ':', searched);
    return colon != NULL && colon > line.text && colon + 1 < line.text + line.length && g_ascii_isdigit(colon[-1]) &&
           g_ascii_isdigit(colon[1]);
}

static void
note_line(StatsReader *reader, LineIn line)
{
    if (!may_be_timed(line))
        return;
    reader->before_line = reader->report.lines;
    reader->before_length = MIN(line.length, BEFORE_MAX - 1);
    memcpy(reader->before, line.text, reader->before_length);
    reader->before[reader->before_length] = '\0';
}

static Stream *
open_stream(StatsReader *reader, LineIn line, gsize prefix_length)
{
    Stream *stream = g_new0(Stream, 1);
    stream->line = reader->report.lines;
    prefix_learn(&stream->prefix, line.text, prefix_length);
    stream->identity = prefix_identity(&stream->prefix);
    gboolean timed = stream->prefix.time.time_us != STATS_TIME_UNKNOWN;
    stream->time_us = timed ? stream->prefix.time.time_us : time_before(reader);
    Stream *before = stream_of(reader, stream->identity);
    if (before != NULL) {
        stream->after_open = before->text != NULL && prefix_length == 0;
        close_truncated(reader, before, "it is truncated");
    }
    if (reader->streams->len == STREAMS_MAX)
        close_truncated(reader, reader->streams->pdata[0], "too many are incomplete at once");
    /* Streams with a prefix come first, since every line matches the empty prefix. */
    g_ptr_array_insert(reader->streams, prefix_length > 0 ? 0 : -1, stream);
    return stream;
}

static gsize
json_prefix(LineIn line, const char *marker)
{
    gsize length = (gsize)(marker - line.text);
    while (length > 0 && strchr(" \t{", line.text[length - 1]) != NULL)
        length--;
    /* A blank between the prefix and the text belongs to the prefix. */
    return length > 0 && line.text[length] == ' ' ? length + 1 : length;
}

static gboolean
open_json(StatsReader *reader, LineIn line, const char *marker, GError **error)
{
    gsize prefix = json_prefix(line, marker);
    if (prefix > PREFIX_MAX)
        return TRUE;
    Stream *stream = open_stream(reader, line, prefix);
    stream->json = json_snapshot_new(&reader->rows);
    const char *rest = marker + strlen(JSON_BEGIN);
    return feed_json(reader, stream, (LineIn){rest, (gsize)(line.text + line.length - rest), line.whole}, error);
}

static gboolean
open_text(StatsReader *reader, LineIn line, const char *marker, GError **error)
{
    gsize prefix = (gsize)(marker - line.text);
    if (!release_held(reader, error))
        return FALSE;
    Stream *stream = open_stream(reader, line, prefix);
    stream->headings = reader->headings != NULL ? g_steal_pointer(&reader->headings) : text_headings_new();
    stream->text = text_snapshot_new(stream->headings, &reader->rows);
    return TRUE;
}

static void
drop_held(StatsReader *reader)
{
    if (reader->held == NULL)
        return;
    leave_out(reader, reader->held->line, &reader->report.damaged, "two processes wrote into each other's lines");
    g_clear_pointer(&reader->held, stats_sample_unref);
}

static void
keep_tail(StatsReader *reader, LineIn line)
{
    reader->tail_length = line.whole ? 0 : MIN(line.length, sizeof(reader->tail));
    memcpy(reader->tail, line.text + line.length - reader->tail_length, reader->tail_length);
}

/* Handles a line outside all open snapshots. */
static gboolean
outside_line(StatsReader *reader, LineIn line, GError **error)
{
    const char *marker;
    if (memmem(line.text, line.length, "jemalloc", 8) != NULL) {
        if ((marker = find_text_begin(line)) != NULL)
            return open_text(reader, line, marker, error);
        if ((marker = find(line, JSON_BEGIN)) != NULL)
            return open_json(reader, line, marker, error);
        if (find(line, TEXT_END) != NULL)
            drop_held(reader);
    }
    keep_tail(reader, line);
    return TRUE;
}

typedef enum {
    TAKEN_NO,
    TAKEN_YES,
    TAKEN_FAILED,
} Taken;

static Taken
take_text(StatsReader *reader, Stream *stream, LineIn content, GError **error)
{
    switch (text_snapshot_line(stream->text, content.text, content.length)) {
    case TEXT_TAKEN:
        return TAKEN_YES;
    case TEXT_FOREIGN:
        return TAKEN_NO;
    case TEXT_DAMAGED:
        close_damaged(reader, stream, text_snapshot_why(stream->text));
        return TAKEN_YES;
    default:
        return finish_snapshot(reader, stream, error) ? TAKEN_YES : TAKEN_FAILED;
    }
}

static Taken
take_line(StatsReader *reader, Stream *stream, LineIn line, GError **error)
{
    gssize skipped = prefix_match(&stream->prefix, line.text, line.length);
    if (skipped < 0)
        return TAKEN_NO;
    LineIn content = {line.text + skipped, line.length - (gsize)skipped, line.whole};
    if (stream->text != NULL)
        return take_text(reader, stream, content, error);
    if (!json_snapshot_continues(stream->json, content.text, content.length))
        return TAKEN_NO;
    return feed_json(reader, stream, content, error) ? TAKEN_YES : TAKEN_FAILED;
}

static gboolean
process_line(StatsReader *reader, LineIn line, GError **error)
{
    for (guint i = 0; i < reader->streams->len; i++) {
        Taken taken = take_line(reader, reader->streams->pdata[i], line, error);
        if (taken != TAKEN_NO)
            return taken == TAKEN_YES;
    }
    gboolean fine = outside_line(reader, line, error);
    note_line(reader, line);
    return fine;
}

static gboolean
process_rest(StatsReader *reader, GError **error)
{
    while (reader->rest.length > 0) {
        LineIn rest = reader->rest;
        reader->rest.length = 0;
        if (!process_line(reader, rest, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
begin_line(StatsReader *reader, const char *text, gsize length, gboolean whole, GError **error)
{
    reader->report.lines++;
    if (whole && length > 0 && text[length - 1] == '\r')
        length--;
    reader->rest.length = 0;
    reader->tail_length = 0;
    return process_line(reader, (LineIn){text, length, whole}, error) && process_rest(reader, error);
}

/* Searches a piece of a long line without an open snapshot. */
static gboolean
look_on(StatsReader *reader, LineIn piece, GError **error)
{
    g_autoptr(GByteArray) joined = g_byte_array_new();
    g_byte_array_append(joined, (const guint8 *)reader->tail, (guint)reader->tail_length);
    g_byte_array_append(joined, (const guint8 *)piece.text, (guint)piece.length);
    if (joined->len == 0)
        return TRUE;
    piece.text = (const char *)joined->data;
    piece.length = joined->len;
    const char *marker = find(piece, JSON_BEGIN);
    if (marker == NULL) {
        keep_tail(reader, piece);
        return TRUE;
    }
    piece.length -= (gsize)(marker - piece.text);
    piece.text = marker;
    return open_json(reader, piece, marker, error) && process_rest(reader, error);
}

/* Handles the next piece of a line that is too long to keep. */
static gboolean
continue_line(StatsReader *reader, LineIn piece, GError **error)
{
    Stream *stream = g_steal_pointer(&reader->piece_of);
    reader->in_piece = !piece.whole;
    reader->rest.length = 0;
    if (stream == NULL)
        return look_on(reader, piece, error);
    reader->tail_length = 0;
    return feed_json(reader, stream, piece, error) && process_rest(reader, error);
}

static gboolean
whole_line(StatsReader *reader, const char *text, gsize length, GError **error)
{
    if (reader->in_piece)
        return continue_line(reader, (LineIn){text, length, TRUE}, error);
    if (reader->carry->len == 0)
        return begin_line(reader, text, length, TRUE, error);
    g_byte_array_append(reader->carry, (const guint8 *)text, (guint)length);
    gboolean fine = begin_line(reader, (const char *)reader->carry->data, reader->carry->len, TRUE, error);
    g_byte_array_set_size(reader->carry, 0);
    return fine;
}

static gboolean
part_of_line(StatsReader *reader, const char *text, gsize length, GError **error)
{
    if (reader->in_piece)
        return continue_line(reader, (LineIn){text, length, FALSE}, error);
    g_byte_array_append(reader->carry, (const guint8 *)text, (guint)length);
    if (reader->carry->len < LINE_MAX_KEPT)
        return TRUE;
    reader->in_piece = TRUE;
    gboolean fine = begin_line(reader, (const char *)reader->carry->data, reader->carry->len, FALSE, error);
    g_byte_array_set_size(reader->carry, 0);
    return fine;
}

gboolean
stats_reader_feed(StatsReader *reader, const char *bytes, gsize length, GError **error)
{
    const char *end = bytes + length;
    reader->report.bytes += length;
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (gsize)(end - bytes));
        if (newline == NULL)
            return part_of_line(reader, bytes, (gsize)(end - bytes), error);
        if (!whole_line(reader, bytes, (gsize)(newline - bytes), error))
            return FALSE;
        bytes = newline + 1;
    }
    return TRUE;
}

gboolean
stats_reader_finish(StatsReader *reader, StatsReport *report, GError **error)
{
    if ((reader->carry->len > 0 || reader->in_piece) && !whole_line(reader, "", 0, error))
        return FALSE;
    if (!release_held(reader, error))
        return FALSE;
    while (reader->streams->len > 0)
        close_truncated(reader, reader->streams->pdata[0], "it is truncated");
    if (report != NULL)
        *report = reader->report;
    return TRUE;
}
