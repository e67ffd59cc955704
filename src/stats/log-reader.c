/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/log-reader.h"

#include "confine/file-waits.h"
#include "confine/input-file.h"
#include "confine/passing.h"
#include "confine/peer.h"
#include "confine/thread-time.h"
#include "stats/sample-bytes.h"
#include "text/printable.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    PIECE_MAX = 64 * 1024,          /* bytes per message */
    SAMPLE_MAX = 256 * 1024 * 1024, /* bytes; with 512 arenas and all their classes a sample has 15 MiB */
    LIMITED_MAX = 64 * 1024 * 1024, /* with STATS_ROWS_MAX rows */
    DEADLINE_S = 60,
};

static const guint64 max_memory = G_GUINT64_CONSTANT(4) << 30; /* address space, including the caller's */

typedef enum {
    LOG_FEED,   /* to the child: the next bytes */
    LOG_LIMIT,  /* to the child, first: the rows of files, without an answer */
    LOG_READ,   /* to the child: a file to read to its end, and its name */
    LOG_PIECE,  /* from the child: a part of a sample, more follows */
    LOG_SAMPLE, /* from the child: the end of a sample */
    LOG_DONE,   /* from the child, last: StatsReport */
    LOG_FAILED, /* from the child, last: a message */
} LogKind;

struct LogReader {
    StatsSampleFunc func;
    gpointer data;
    Peer peer;
    guint64 rows;     /* of log_reader_limit(); 0: any number */
    guint deadline_s; /* for an answer, and for all answers to one piece; 0: none */
    guint seconds;    /* of log_reader_limit_seconds() */
    gint64 spent_us;  /* processor time of func */
    gboolean waits;   /* it reads a file, which may not answer */
};

/* The child -------------------------------------------------------------------------------------------------------- */

static gboolean
say(int socket, LogKind kind, gconstpointer body, gsize length)
{
    const Parcel parcel = {
        .head = &kind, .head_length = sizeof(kind), .body = (gpointer)(guintptr)body, .body_length = length, .fd = -1};
    return parcel_send(socket, &parcel);
}

static gboolean
say_sample(StatsSample *sample, gpointer data, GError **error)
{
    const int socket = *(const int *)data;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    gsize at = 0;
    sample_bytes_write(sample, bytes);
    for (; bytes->len - at > PIECE_MAX; at += PIECE_MAX)
        say(socket, LOG_PIECE, bytes->data + at, PIECE_MAX);
    return say(socket, LOG_SAMPLE, bytes->data + at, bytes->len - at);
}

static void
say_ending(int socket, gboolean fine, const StatsReport *report, const GError *failure)
{
    const char *why = failure != NULL ? failure->message : "it cannot be read";
    if (fine)
        say(socket, LOG_DONE, report, sizeof(*report));
    else
        say(socket, LOG_FAILED, why, MIN(strlen(why), PIECE_MAX));
}

static void
work(int socket)
{
    g_autofree char *body = g_malloc0(PIECE_MAX + 1);
    g_autoptr(StatsReader) reader = stats_reader_new(say_sample, &socket);
    guint64 rows = 0;
    for (;;) {
        LogKind kind;
        StatsReport report = {0};
        g_autoptr(GError) failure = NULL;
        Parcel parcel = {.head = &kind, .head_length = sizeof(kind), .body = body, .body_length = PIECE_MAX};
        if (!parcel_receive(socket, &parcel))
            return;
        body[parcel.body_length] = '\0';
        if (kind == LOG_LIMIT) {
            memcpy(&rows, body, sizeof(rows));
            continue;
        }
        const StatsFile file = {.path = body, .fd = parcel.fd, .rows = rows};
        gboolean fine = kind == LOG_READ ? stats_read_file(&file, say_sample, &socket, &report, &failure)
                                         : stats_reader_feed(reader, body, parcel.body_length, &failure);
        say_ending(socket, fine, &report, failure);
    }
}

/* The process itself ----------------------------------------------------------------------------------------------- */

static gboolean
break_off(const LogReader *reader, GError **error)
{
    g_set_error_literal(
        error, STATS_ERROR, STATS_ERROR_FORMAT,
        "the process that reads the log has ended or does not answer; the log is damaged, or too large");
    if (reader->seconds != 0)
        g_prefix_error(error, "the log of another user has %u s of processor time (a copy of your own has more): ",
                       reader->seconds);
    return FALSE;
}

/* FALSE: what is done with the samples of this log takes too long in this process, whatever the child took. */
static gboolean
spend(LogReader *reader, gint64 spent_us, GError **error)
{
    reader->spent_us += spent_us;
    if (reader->seconds == 0 || reader->spent_us <= reader->seconds * G_USEC_PER_SEC)
        return TRUE;
    g_set_error(
        error, STATS_ERROR, STATS_ERROR_OVERFLOW,
        "what is done with its samples takes more than %u s of processor time, which a log of another user has (a "
        "copy of your own has more)",
        reader->seconds);
    return FALSE;
}

static gboolean
hand_out(LogReader *reader, const GByteArray *bytes, GError **error)
{
    const gint64 begun_us = thread_time_us();
    g_autoptr(StatsSample) sample = sample_bytes_read(bytes->data, bytes->len);
    if (sample == NULL)
        return break_off(reader, error);
    return reader->func(sample, reader->data, error) && spend(reader, thread_time_us() - begun_us, error);
}

static gboolean
take_ending(const LogReader *reader, const char *body, gsize length, StatsReport *report, GError **error)
{
    StatsReport received;
    if (length != sizeof(received))
        return break_off(reader, error);
    memcpy(&received, body, sizeof(received));
    text_clean_line(received.why_left_out, sizeof(received.why_left_out));
    if (report != NULL)
        *report = received;
    return TRUE;
}

static gboolean
take_failure(char *body, gsize length, GError **error)
{
    body[length] = '\0';
    text_clean_line(body, length + 1);
    g_set_error_literal(error, STATS_ERROR, STATS_ERROR_FORMAT, body);
    return FALSE;
}

/* FALSE: the child's file does not answer. */
static gboolean
wait_for_answer(const LogReader *reader, FileWaits *waits)
{
    struct pollfd answer = {.fd = reader->peer.socket, .events = POLLIN};
    gboolean waits_on = TRUE;
    while (waits_on && poll(&answer, 1, file_waits_due_ms(waits)) <= 0)
        waits_on = file_waits_look(waits);
    return waits_on;
}

static gboolean
give_up(LogReader *reader, GError **error)
{
    peer_give_up(&reader->peer);
    g_set_error(
        error, STATS_ERROR, STATS_ERROR_FORMAT,
        "the log has taken %d s longer to answer than all else; it is in a file system that another user answers "
        "for",
        FILE_WAITS_S);
    return FALSE;
}

/* Passes on samples until the child has processed its input. A compromised child may send any number of them. */
static gboolean
take_answers(LogReader *reader, StatsReport *report, GError **error)
{
    const gint64 until = g_get_monotonic_time() + reader->deadline_s * G_USEC_PER_SEC;
    const gsize most = reader->rows > 0 ? LIMITED_MAX : SAMPLE_MAX;
    g_autofree char *body = g_malloc(PIECE_MAX + 1);
    g_autoptr(GByteArray) sample = g_byte_array_new();
    g_autoptr(FileWaits) waits = reader->waits ? file_waits_new(reader->peer.pid, NULL, 0) : NULL;
    for (;;) {
        LogKind kind;
        if (waits != NULL && !wait_for_answer(reader, waits))
            return give_up(reader, error);
        Parcel parcel = {.head = &kind, .head_length = sizeof(kind), .body = body, .body_length = PIECE_MAX};
        if (!parcel_receive(reader->peer.socket, &parcel) ||
            (reader->deadline_s != 0 && g_get_monotonic_time() > until))
            return break_off(reader, error);
        if (parcel.fd >= 0)
            close(parcel.fd);
        if (kind == LOG_DONE)
            return take_ending(reader, body, parcel.body_length, report, error);
        if (kind == LOG_FAILED)
            return take_failure(body, parcel.body_length, error);
        if (sample->len + parcel.body_length > most || (kind != LOG_PIECE && kind != LOG_SAMPLE))
            return break_off(reader, error);
        g_byte_array_append(sample, (const guint8 *)body, (guint)parcel.body_length);
        if (kind == LOG_PIECE)
            continue;
        if (!hand_out(reader, sample, error))
            return FALSE;
        g_byte_array_set_size(sample, 0);
    }
}

static gboolean
start(LogReader *reader, GError **error)
{
    const struct timeval deadline = {.tv_sec = reader->deadline_s};
    g_autoptr(GTimeZone) zone G_GNUC_UNUSED = g_time_zone_new_local(); /* stays cached for the child, which cannot read
                                                                        * the file */
    if (!peer_start(&reader->peer, work, &(PeerLimits){max_memory, reader->seconds}, error))
        return FALSE;
    setsockopt(reader->peer.socket, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
    setsockopt(reader->peer.socket, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
    return reader->rows == 0 || say(reader->peer.socket, LOG_LIMIT, &reader->rows, sizeof(reader->rows)) ||
           break_off(reader, error);
}

static gboolean
exchange(LogReader *reader, const Parcel *parcel, StatsReport *report, GError **error)
{
    if (reader->peer.pid == 0 && !start(reader, error))
        return FALSE;
    gboolean sent = parcel_send(reader->peer.socket, parcel);
    if (sent ? take_answers(reader, report, error) : break_off(reader, error))
        return TRUE;
    peer_end(&reader->peer);
    return FALSE;
}

LogReader *
log_reader_new(StatsSampleFunc func, gpointer data)
{
    LogReader *reader = g_new0(LogReader, 1);
    *reader = (LogReader){.func = func, .data = data, .deadline_s = DEADLINE_S};
    return reader;
}

void
log_reader_limit_seconds(LogReader *reader, guint seconds)
{
    reader->seconds = seconds;
}

void
log_reader_limit(LogReader *reader, guint64 rows)
{
    reader->rows = rows;
}

void
log_reader_free(LogReader *reader)
{
    if (reader == NULL)
        return;
    peer_end(&reader->peer);
    g_free(reader);
}

gboolean
log_reader_feed(LogReader *reader, const char *bytes, gsize length, GError **error)
{
    LogKind kind = LOG_FEED;
    for (gsize at = 0; at < length; at += PIECE_MAX) {
        const Parcel parcel = {.head = &kind,
                               .head_length = sizeof(kind),
                               .body = (gpointer)(guintptr)(bytes + at),
                               .body_length = MIN(length - at, PIECE_MAX),
                               .fd = -1};
        if (!exchange(reader, &parcel, NULL, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
read_open(LogReader *reader, int fd, const char *name, StatsReport *report, GError **error)
{
    LogKind kind = LOG_READ;
    const Parcel parcel = {.head = &kind,
                           .head_length = sizeof(kind),
                           .body = (gpointer)(guintptr)name,
                           .body_length = strlen(name),
                           .fd = fd};

    return exchange(reader, &parcel, report, error);
}

gboolean
log_reader_read(const char *path, StatsSampleFunc func, gpointer data, StatsReport *report, GError **error)
{
    g_autofree char *name = g_utf8_make_valid(path, (gssize)MIN(strlen(path), 1024));
    LogReader reader = {.func = func, .data = data};
    int fd = stats_open_file(path, error);
    struct stat status;

    if (fd < 0)
        return FALSE;
    log_reader_limit_seconds(&reader, input_file_seconds(fd));
    reader.waits = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    gboolean fine = read_open(&reader, fd, name, report, error);
    peer_end(&reader.peer);
    close(fd);
    return fine;
}

gboolean
log_reader_read_fd(LogReader *reader, int fd, const char *name, GError **error)
{
    return read_open(reader, fd, name, NULL, error);
}
