/* SPDX-License-Identifier: Apache-2.0 */
#include "http/receive.h"

#include "http/head.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static Answer *
refuse(unsigned status, const char *code, const char *message, const char *hint)
{
    return answer_new_failure(&(AnswerFailure){.status = status, .code = code, .message = message, .hint = hint});
}

/* head_fault() has compared it with Host. */
static const char *
skip_authority(const char *uri)
{
    const char *scheme = strstr(uri, "://");
    if (uri[0] == '/' || scheme == NULL)
        return uri;
    const char *path = strpbrk(scheme + 3, "/?#");
    return path != NULL && *path == '/' ? path : "/";
}

static gboolean
split_uri(Exchange *exchange)
{
    const char *target = skip_authority(exchange->uri);
    const char *question = strchr(target, '?');
    const char *end = question != NULL ? question : target + strlen(target);
    exchange->path = g_uri_unescape_segment(target, end, NULL);
    exchange->request.path = exchange->path;
    exchange->request.query = question != NULL ? question + 1 : "";
    return exchange->path != NULL && exchange->path[0] == '/';
}

static gboolean
announces_long_body(const Exchange *exchange, gboolean is_file)
{
    const char *length = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const guint64 most = is_file ? SERVER_FILE_MAX : SERVER_BODY_MAX;
    guint64 value;
    return length != NULL && (!g_ascii_string_to_unsigned(length, 10, 0, G_MAXUINT64, &value, NULL) || value > most);
}

gboolean
receive_has_body(const Exchange *exchange)
{
    return exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH) != NULL ||
           exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

static Answer *
refuse_body(gboolean is_file)
{
    if (is_file)
        return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the file is larger than 64 MiB",
                      "compress it with gzip or zstd, or run jescope report where it is");
    return refuse(MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the body is longer than 64 KiB",
                  "no request needs a longer one");
}

AnswerFailure
receive_malformed(const char *message)
{
    return (AnswerFailure){
        .status = MHD_HTTP_BAD_REQUEST,
        .code = "malformed_request",
        .message = message,
        .hint = "send each header once, with a colon right after its name, and end each line with CR and LF",
    };
}

/* NULL if the head is valid, otherwise the refusal. */
static Answer *
check_head(Exchange *exchange, const char *version)
{
    const HeadLine line = {exchange->request.method, exchange->uri, version};
    const char *fault = head_fault(exchange->mhd, &line);
    if (fault == NULL)
        return NULL;
    exchange->is_malformed = TRUE;
    const AnswerFailure failure = receive_malformed(fault);
    return answer_new_failure(&failure);
}

static Answer *
refuse_crowded(void)
{
    Answer *answer = refuse(MHD_HTTP_TOO_MANY_REQUESTS, "crowded", "other files are being received already",
                            "wait as long as Retry-After says");
    answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "5");
    return answer;
}

/* NULL if another body may be received into a file, otherwise the refusal. */
static Answer *
begin_file(Exchange *exchange)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    const guint own = *peer_count(connection->peer, PEER_FILES);
    const guint places = SERVER_FILES_AT_ONCE + (own == 0 ? SERVER_FILES_FIRSTS : 0);
    if (own >= SERVER_FILES_OF_PEER || (traffic->files >= places && !peer_is_ours(connection->peer)))
        return refuse_crowded();
    exchange_count_file(exchange);
    connection_set_deadline(connection, traffic->timeout_s + SERVER_FILE_MAX / SERVER_SEND_RATE_MIN);
    return NULL;
}

Answer *
receive_begin(Exchange *exchange, const char *method, const char *version)
{
    Connection *connection = exchange->connection;
    Traffic *traffic = connection->listener->traffic;
    guint wait_s = 0;
    exchange->begun = TRUE;
    exchange->request.method = method;
    exchange->request.body = "";
    connection_set_deadline(connection, traffic->timeout_s);
    if (!peers_spend(traffic->peers, connection->peer, g_get_monotonic_time(), &wait_s)) {
        exchange->delay_ms = peers_note_limited(traffic->peers, connection->peer);
        return exchange_refuse_rate(exchange, wait_s);
    }
    Answer *malformed = check_head(exchange, version);
    if (malformed != NULL)
        return malformed;
    if (strlen(exchange->uri) > SERVER_URI_MAX)
        return refuse(MHD_HTTP_URI_TOO_LONG, "uri_too_long", "the path and query are longer than 8 KiB",
                      "shorten the query");
    if (!split_uri(exchange))
        return refuse(MHD_HTTP_BAD_REQUEST, "bad_path", "malformed path",
                      "begin it with '/' and encode bytes as %XX, but not NUL");
    const gboolean is_file =
        traffic->handler.is_file != NULL && traffic->handler.is_file(exchange, traffic->handler.data);
    if (announces_long_body(exchange, is_file))
        return refuse_body(is_file);
    /* A client that is not admitted takes no place of those that send files, also while its refusal is delayed. */
    Answer *refusal = traffic->handler.admit(exchange, traffic->handler.data);
    return refusal == NULL && is_file ? begin_file(exchange) : refusal;
}

/* Whether the file of EXCHANGE may have SIZE more bytes. The more peers send files, the less one may have, so that
 * there is room for a further one (dynamic thresholds, Choudhury and Hahne 1998). */
static gboolean
has_room(const Exchange *exchange, size_t size)
{
    Peer *peer = exchange->connection->peer;
    const guint64 all = exchange->connection->listener->traffic->received;
    return peer_is_ours(peer) || (all < SERVER_FILES_BYTES && *peer_received(peer) + size <= SERVER_FILES_BYTES - all);
}

/* Frees what was received of a body that is refused. */
static void
drop_file(Exchange *exchange)
{
    exchange_count_received(exchange, 0);
    if (exchange->file >= 0)
        close(exchange->file);
    exchange->file = -1;
}

/* A body that is too long is still read until its end or the deadline, since the client would not read an early
 * response. */
static void
collect_file(Exchange *exchange, const char *bytes, size_t size)
{
    exchange->too_long = exchange->too_long || exchange->file_size + size > SERVER_FILE_MAX;
    exchange->crowded = exchange->crowded || !has_room(exchange, size);
    if (exchange->too_long || exchange->crowded || exchange->file_error != 0) {
        drop_file(exchange);
        return;
    }
    if (exchange->file < 0)
        exchange->file = memfd_create("jescope-file", MFD_CLOEXEC);
    for (size_t done = 0; done < size && exchange->file_error == 0;) {
        ssize_t n = pwrite(exchange->file, bytes + done, size - done, (off_t)(exchange->file_size + done));
        exchange->file_error = n < 0 && errno != EINTR ? errno : 0;
        done += n > 0 ? (size_t)n : 0;
    }
    exchange_count_received(exchange, exchange->file_size + size);
}

void
receive_body(Exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->is_file) {
        collect_file(exchange, bytes, size);
        return;
    }
    if (exchange->body == NULL)
        exchange->body = g_byte_array_new();
    if (exchange->body->len + size > SERVER_BODY_MAX)
        exchange->too_long = TRUE;
    else
        g_byte_array_append(exchange->body, (const guint8 *)bytes, (guint)size);
}

Answer *
receive_end(Exchange *exchange)
{
    /* A peer could send many heads before the first body, so that all are admitted before it is known what they cost.
     */
    Answer *refusal = exchange_check_allowance(exchange);
    if (refusal != NULL)
        return refusal;
    if (exchange->body != NULL) {
        exchange->request.body_size = exchange->body->len;
        g_byte_array_append(exchange->body, (const guint8 *)"", 1);
        exchange->request.body = (const char *)exchange->body->data;
    }
    if (exchange->too_long)
        return refuse_body(exchange->is_file);
    if (exchange->crowded)
        return refuse_crowded();
    if (exchange->file_error != 0)
        return refuse(MHD_HTTP_INSUFFICIENT_STORAGE, "system", "there is no memory for the file",
                      "check the memory limit of jescope");
    return NULL;
}
