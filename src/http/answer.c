/* SPDX-License-Identifier: Apache-2.0 */
#include "http/answer.h"

#include "http/answer-send.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum {
    STREAM_BLOCK = 4096,
};

typedef struct {
    AnswerStream source;
    gboolean ended; /* the source has ended */
} Stream;

struct Answer {
    gatomicrefcount references;
    unsigned status;
    guint64 size;
    char *etag;
    struct MHD_Response *response;
    /* The body: one of them is set. */
    Stream *stream;
    GBytes *body;
    int descriptor; /* owned by the response; -1: none */
    /* Set only if it differs from the standard reason phrase. */
    char *reason;
    GString *head;
};

Answer *
answer_ref(Answer *answer)
{
    g_atomic_ref_count_inc(&answer->references);
    return answer;
}

void
answer_unref(Answer *answer)
{
    if (!g_atomic_ref_count_dec(&answer->references))
        return;
    MHD_destroy_response(answer->response);
    g_clear_pointer(&answer->body, g_bytes_unref);
    if (answer->head != NULL)
        g_string_free(answer->head, TRUE);
    g_free(answer->reason);
    g_free(answer->etag);
    g_free(answer);
}

unsigned
answer_status(const Answer *answer)
{
    return answer->status;
}

guint64
answer_size(const Answer *answer)
{
    return answer->size;
}

void
answer_add_header(Answer *answer, const char *name, const char *value)
{
    if (g_ascii_strcasecmp(name, "ETag") == 0) {
        g_free(answer->etag);
        answer->etag = g_strdup(value);
    }
    if (answer->head != NULL)
        g_string_append_printf(answer->head, "%s: %s\r\n", name, value);
    MHD_add_response_header(answer->response, name, value);
}

void
answer_set_header(Answer *answer, const char *name, const char *value)
{
    const char *usual = MHD_get_response_header(answer->response, name);
    if (usual != NULL)
        MHD_del_response_header(answer->response, name, usual);
    answer_add_header(answer, name, value);
}

/* Adds the headers of every answer: its type must not be guessed, other sites must not embed it, and a cache must be
 * private and revalidate. */
static void
add_standing_headers(Answer *answer, const char *content_type)
{
    answer_add_header(answer, "X-Content-Type-Options", "nosniff");
    answer_add_header(answer, "Cross-Origin-Resource-Policy", "same-origin");
    answer_add_header(answer, "Cache-Control", "private, no-cache");
    if (content_type == NULL)
        return;
    answer_add_header(answer, "Content-Type", content_type);
    if (g_str_has_prefix(content_type, "text/html") || g_str_has_prefix(content_type, "image/svg")) {
        /* A report has scripts of its own. In a sandbox their origin is not the server's: if a name in the report
         * became a script, it could neither use the session nor read the storage of the page. */
        answer_add_header(answer, "Content-Security-Policy",
                          "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
                          "style-src 'unsafe-inline'; img-src data:; worker-src blob:; form-action 'none'; "
                          "frame-ancestors 'none'");
        /* A window that another site has opened would tell it how many frames there are, and could be led elsewhere. */
        answer_add_header(answer, "Cross-Origin-Opener-Policy", "same-origin");
    }
}

/* Takes RESPONSE. REASON is NULL for the standard phrase. */
static Answer *
wrap(struct MHD_Response *response, unsigned status, guint64 size, const char *reason)
{
    Answer *answer = g_new0(Answer, 1);
    g_atomic_ref_count_init(&answer->references);
    answer->response = response;
    answer->status = status;
    answer->size = size;
    answer->descriptor = -1;
    if (reason != NULL && g_strcmp0(reason, MHD_get_reason_phrase_for(status)) != 0) {
        answer->reason = g_strdup(reason);
        answer->head = g_string_new(NULL);
    }
    return answer;
}

static void
release_bytes(void *data)
{
    g_bytes_unref(data);
}

static struct MHD_Response *
response_of_bytes(GBytes *bytes)
{
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);
    /* libmicrohttpd does not write to it, despite the signature. */
    void *borrowed = (void *)(gsize)(data != NULL ? data : "");
    return MHD_create_response_from_buffer_with_free_callback_cls(size, borrowed, release_bytes, g_bytes_ref(bytes));
}

static Answer *
new_with_reason(unsigned status, const char *reason, const char *content_type, GBytes *body)
{
    Answer *answer = wrap(response_of_bytes(body), status, g_bytes_get_size(body), reason);
    answer->body = g_bytes_ref(body);
    add_standing_headers(answer, content_type);
    return answer;
}

static void
add_coding(Answer *answer, gboolean packed)
{
    if (packed)
        answer_add_header(answer, "Content-Encoding", "gzip");
    answer_add_header(answer, "Vary", "Accept-Encoding");
}

Answer *
answer_new(unsigned status, const char *content_type, GBytes *body, AnswerCoding coding)
{
    g_autoptr(GBytes) plain = body;
    gboolean pays = gzip_pays(content_type, g_bytes_get_size(plain));
    gboolean pack = coding == ANSWER_GZIP && pays;
    g_autoptr(GBytes) packed = pack ? gzip_bytes(plain) : NULL;
    Answer *answer = new_with_reason(status, NULL, content_type, pack ? packed : plain);
    if (pays)
        add_coding(answer, pack);
    return answer;
}

static GBytes *
text_of_failure(const AnswerFailure *failure)
{
    /* A message may quote input of a client. */
    g_autofree char *message = g_utf8_make_valid(failure->message, -1);
    json_t *error =
        json_pack("{s:{s:s, s:s, s:s*}}", "error", "code", failure->code, "message", message, "hint", failure->hint);
    char *text = json_dumps(error, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(error);
    g_autoptr(GString) line = g_string_new(text);
    g_string_append_c(line, '\n');
    free(text);
    return g_string_free_to_bytes(g_steal_pointer(&line));
}

Answer *
answer_new_failure(const AnswerFailure *failure)
{
    return answer_new(failure->status, "application/json", text_of_failure(failure), ANSWER_PLAIN);
}

GBytes *
answer_failure_response(const AnswerFailure *failure)
{
    g_autoptr(GBytes) body = text_of_failure(failure);
    gsize size;
    const char *bytes = g_bytes_get_data(body, &size);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text,
                           "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           failure->status, MHD_get_reason_phrase_for(failure->status), size);
    g_string_append_len(text, bytes, (gssize)size);
    return g_string_free_to_bytes(text);
}

/* HEADERS are "Name: value\r\n" lines. */
static void
add_lines(Answer *answer, const char *headers)
{
    g_auto(GStrv) lines = g_strsplit(headers, "\r\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        char *value = strstr(*line, ": ");
        if (value == NULL)
            continue;
        *value = '\0';
        answer_add_header(answer, *line, value + 2);
    }
}

/* A body that is already compressed (profile.proto) stays as it is, since gzip_pays() rejects its type. */
static Answer *
new_from_descriptor(const RouteReply *route, AnswerCoding coding, const GzipWish *wish)
{
    int fd = route->descriptor;
    guint64 size = route->body_size;
    gboolean pays = gzip_pays(route->content_type, size);
    int packed = coding == ANSWER_GZIP && pays ? gzip_descriptor(fd, size, wish, &size) : -1;
    if (packed >= 0) {
        close(fd);
        fd = packed;
    }
    Answer *answer = wrap(MHD_create_response_from_fd64(size, fd), route->status, size, NULL);
    answer->descriptor = fd;
    add_standing_headers(answer, route->content_type);
    if (pays)
        add_coding(answer, packed >= 0);
    return answer;
}

Answer *
answer_new_route(RouteReply *route, AnswerCoding coding, const GzipWish *wish)
{
    Answer *answer;
    if (route->descriptor >= 0)
        answer = new_from_descriptor(route, coding, wish);
    else if (route->reason != NULL)
        answer = new_with_reason(route->status, route->reason, route->content_type,
                                 g_bytes_new(route->body, route->body_size));
    else
        answer = answer_new(route->status, route->content_type, g_bytes_new(route->body, route->body_size), coding);
    route->descriptor = -1;
    add_lines(answer, route->headers);
    if (route->status == MHD_HTTP_TOO_MANY_REQUESTS && strstr(route->headers, "Retry-After: ") == NULL)
        answer_add_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return answer;
}

static ssize_t
read_stream(void *data, uint64_t position, char *bytes, size_t size)
{
    const Stream *stream = data;
    gssize length = stream->ended ? -1 : stream->source.read(stream->source.data, bytes, size);
    return length < 0 ? MHD_CONTENT_READER_END_OF_STREAM : length;
}

static void
end_stream(Stream *stream)
{
    if (!stream->ended)
        stream->source.free(stream->source.data);
    stream->ended = TRUE;
}

static void
free_stream(void *data)
{
    end_stream(data);
    g_free(data);
}

Answer *
answer_new_stream(const char *content_type, const AnswerStream *source)
{
    Stream *stream = g_new0(Stream, 1);
    stream->source = *source;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, stream, free_stream);
    Answer *answer = wrap(response, MHD_HTTP_OK, G_MAXUINT64, NULL);
    answer->stream = stream;
    add_standing_headers(answer, content_type);
    return answer;
}

void
answer_end(Answer *answer)
{
    if (answer->stream != NULL)
        end_stream(answer->stream);
}

gboolean
answer_etag_matches(const char *etag, const char *if_none_match)
{
    if (etag == NULL || if_none_match == NULL)
        return FALSE;
    if (strcmp(if_none_match, "*") == 0)
        return TRUE;
    g_auto(GStrv) tags = g_strsplit(if_none_match, ",", 32);
    for (char **tag = tags; *tag != NULL; tag++) {
        const char *text = g_strstrip(*tag);
        if (strcmp(g_str_has_prefix(text, "W/") ? text + 2 : text, etag) == 0)
            return TRUE;
    }
    return FALSE;
}

static enum MHD_Result
copy_header(void *data, enum MHD_ValueKind kind, const char *name, const char *value)
{
    MHD_add_response_header(data, name, value);
    return MHD_YES;
}

static enum MHD_Result
copy_header_of_not_modified(void *data, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static const char *const kept[] = {"ETag", "Cache-Control", "Vary"};
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
        if (g_ascii_strcasecmp(name, kept[i]) == 0)
            copy_header(data, kind, name, value);
    return MHD_YES;
}

static struct MHD_Response *
not_modified(const Answer *answer)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    MHD_get_response_headers(answer->response, copy_header_of_not_modified, response);
    return response;
}

/* The response, for one exchange; NULL: no descriptor is left. A stream is for one exchange anyway. */
static struct MHD_Response *
copy_response(const Answer *answer)
{
    struct MHD_Response *response =
        answer->body != NULL
            ? response_of_bytes(answer->body)
            : MHD_create_response_from_fd64(answer->size, fcntl(answer->descriptor, F_DUPFD_CLOEXEC, 0));
    if (response != NULL)
        MHD_get_response_headers(answer->response, copy_header, response);
    return response;
}

static ssize_t
read_nothing(void *data, uint64_t position, char *bytes, size_t size)
{
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* The head of a stream, for HEAD. libmicrohttpd sends the last chunk of an answer in chunks also where there is no
 * body, and a proxy would take it for the beginning of the next answer: so this one is in no chunks, and has no length,
 * since what it would be for GET is not known. */
static struct MHD_Response *
head_of_stream(const Answer *answer)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_nothing, NULL, NULL);
    MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    MHD_get_response_headers(answer->response, copy_header, response);
    return response;
}

static gboolean
is_known(const Answer *answer, struct MHD_Connection *connection, const char *method)
{
    return answer->status == MHD_HTTP_OK && answer->etag != NULL &&
           (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) &&
           answer_etag_matches(answer->etag, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match"));
}

/* Queues RESPONSE, which is freed. */
static enum MHD_Result
queue(struct MHD_Response *response, struct MHD_Connection *connection, unsigned status, gboolean is_last)
{
    if (response == NULL)
        return MHD_NO;
    if (is_last)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    const enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result
answer_queue(const Answer *answer, struct MHD_Connection *connection, const char *method, gboolean is_last)
{
    if (is_known(answer, connection, method))
        return queue(not_modified(answer), connection, MHD_HTTP_NOT_MODIFIED, is_last);
    if (answer->stream != NULL && strcmp(method, "HEAD") == 0)
        return queue(head_of_stream(answer), connection, answer->status, TRUE);
    if (!is_last)
        return MHD_queue_response(connection, answer->status, answer->response);
    if (answer->stream == NULL)
        return queue(copy_response(answer), connection, answer->status, TRUE);
    MHD_add_response_header(answer->response, MHD_HTTP_HEADER_CONNECTION, "close");
    return MHD_queue_response(connection, answer->status, answer->response);
}

GBytes *
answer_wire_text(const Answer *answer, const char *method)
{
    if (answer->reason == NULL)
        return NULL;
    gsize size;
    const char *body = g_bytes_get_data(answer->body, &size);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", answer->status,
                           answer->reason, size, answer->head->str);
    if (strcmp(method, "HEAD") != 0)
        g_string_append_len(text, body, (gssize)size);
    return g_string_free_to_bytes(text);
}
