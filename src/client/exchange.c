/* SPDX-License-Identifier: Apache-2.0 */
#include "client/exchange.h"

#include "client/bounded-transfer.h"
#include "client/document.h"
#include "client/head.h"
#include "client/loopback.h"
#include "client/token.h"
#include "confine/relay.h"
#include "target/output-file.h"
#include "target/target.h"
#include "text/printable.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECT_MS = 10000,
    ERROR_MAX = 64 * 1024, /* bytes of an error document */
    RECOVERY = 4,          /* the allowance grows by this fraction of the time without a quick request */
    HTTP_OK = 200,
    HTTP_REDIRECTS = 300,
    HTTP_UNAUTHORIZED = 401,
};

/* ---- the connection ---- */

/* The response being received. */
typedef struct {
    int fd; /* or -1 */
    guint64 bytes, limit;
    Head head;
    gboolean too_large;
} Arrival;

struct Connection {
    gatomicrefcount references; /* of the owner, and of a request in progress */
    gint is_busy;               /* atomic: a request is in progress, which alone uses what libcurl's callbacks do */
    CURL *curl;
    struct curl_slist *headers;
    char *base, *server;           /* as in ClientUrl */
    char failure[CURL_ERROR_SIZE]; /* libcurl's message */
    int opened;                    /* the socket that no request has used yet, or -1 */
    Loopback loopback;
    const char *remedy; /* if the listener there is refused */
    Arrival arrival;
    gint64 most, patience; /* microseconds for quick requests: at most, and left at the time RESTED */
    gint64 rested;
};

static size_t
on_header(char *data, size_t one, size_t n, void *user)
{
    Arrival *arrival = user;
    gboolean fine = head_take(&arrival->head, data, n);
    arrival->too_large = head_is_too_large(&arrival->head);
    return fine ? n : 0;
}

static size_t
on_body(char *data, size_t one, size_t n, void *user)
{
    Arrival *arrival = user;
    arrival->too_large = n > arrival->limit - arrival->bytes;
    for (size_t written = 0; written < n && !arrival->too_large;) {
        ssize_t length = write(arrival->fd, data + written, n - written);
        if (length < 0 && errno != EINTR)
            return 0;
        written += length > 0 ? (size_t)length : 0;
    }
    arrival->bytes += n;
    return arrival->too_large ? 0 : n;
}

static gboolean
add_token(Connection *connection, const ClientUrl *url, const char *path, GError **error)
{
    g_autofree char *token = token_read(path, error);
    if (token == NULL)
        return FALSE;
    if (url->in_clear) {
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    "the token would be sent to %s unencrypted; use https, or a tunnel to an address of this machine",
                    url->base);
        return FALSE;
    }
    g_autofree char *header = g_strconcat("Authorization: Bearer ", token, NULL);
    connection->headers = curl_library.curl_slist_append(connection->headers, header);
    return TRUE;
}

static int
on_socket(void *user, curl_socket_t fd, curlsocktype purpose)
{
    Connection *connection = user;
    connection->opened = fd;
    return CURL_SOCKOPT_OK;
}

/* Before a request is sent. A unix socket of another user's server may bring descriptors, which libcurl would drop,
 * waiting for them to be closed. */
static int
on_connected(void *user, char *address, char *own_address, int port, int own_port)
{
    Connection *connection = user;
    struct ucred server = {.uid = 0};
    socklen_t size = sizeof(server);
    const int fd = connection->opened;
    connection->opened = -1;
    if (fd < 0) /* a socket that was looked at is used again */
        return CURL_PREREQFUNC_OK;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 ||
        (!connection->loopback.is_only_noted && !loopback_user_may_have(&connection->loopback, server.uid)))
        return CURL_PREREQFUNC_ABORT;
    if (server.uid == 0 || server.uid == geteuid())
        return CURL_PREREQFUNC_OK;
    Relay *relay = relay_insert(fd, server.uid);
    if (relay == NULL)
        return CURL_PREREQFUNC_ABORT;
    relay_release(relay);
    return CURL_PREREQFUNC_OK;
}

/* The same for what is sent unencrypted: a token, or a document with what its URL has of secrets. */
static int
on_connected_in_clear(void *user, char *address, char *own_address, int port, int own_port)
{
    Connection *connection = user;
    return loopback_may_have(&connection->loopback, address, port, own_address, own_port) ? CURL_PREREQFUNC_OK
                                                                                          : CURL_PREREQFUNC_ABORT;
}

static void
check_listener(Connection *connection)
{
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_PREREQFUNCTION, on_connected_in_clear);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_PREREQDATA, connection);
    loopback_skip_refused(&connection->loopback, connection->curl);
}

static void
set_up(Connection *connection, const ClientUrl *url, const ClientAccess *access)
{
    CURL *curl = connection->curl;
    curl_library.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, connection->failure);
    curl_library.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_library.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_library.curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_library.curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_library.curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_library.curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_library.curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_library.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_library.curl_easy_setopt(curl, CURLOPT_USERAGENT, "jescope");
    curl_library.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, connection->headers);
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    if (url->socket != NULL) {
        curl_library.curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, url->socket);
        curl_library.curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, on_socket);
        curl_library.curl_easy_setopt(curl, CURLOPT_SOCKOPTDATA, connection);
        curl_library.curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_connected);
        curl_library.curl_easy_setopt(curl, CURLOPT_PREREQDATA, connection);
    }
    connection->loopback.is_only_noted = access->token_file == NULL;
    if (url->socket == NULL && g_str_has_prefix(url->base, "http:"))
        check_listener(connection);
    if (access->ca_file != NULL) {
        curl_library.curl_easy_setopt(curl, CURLOPT_CAINFO, access->ca_file);
        /* Otherwise libcurl also trusts the system's directory of certificates. */
        curl_library.curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
}

Connection *
connection_new(const ClientUrl *url, const ClientAccess *access, GError **error)
{
    g_autoptr(Connection) connection = NULL;
    if (!curl_library_load("targets behind a server", error))
        return NULL;
    connection = g_new0(Connection, 1);
    g_atomic_ref_count_init(&connection->references);
    connection->arrival.fd = -1;
    connection->base = g_strdup(url->base);
    connection->server = g_strdup(url->server);
    connection->curl = curl_library.curl_easy_init();
    connection->opened = -1;
    connection->loopback.named = LOOPBACK_ANY_SYSTEM_USER;
    connection->remedy = url->socket != NULL ? "without a token, which its unix socket does not need, it may be asked"
                                             : "use its unix socket, or https";
    connection_limit_time(connection, CONNECTION_PATIENCE_MS);
    if (access->token_file != NULL && !add_token(connection, url, access->token_file, error))
        return NULL;
    set_up(connection, url, access);
    return g_steal_pointer(&connection);
}

char *
connection_note(const Connection *connection)
{
    return loopback_note(&connection->loopback, connection->server);
}

void
connection_limit_time(Connection *connection, guint milliseconds)
{
    connection->most = connection->patience = (gint64)milliseconds * 1000;
    connection->rested = g_get_monotonic_time();
}

static void
close_arrival(Connection *connection)
{
    if (connection->arrival.fd >= 0)
        close(connection->arrival.fd);
    connection->arrival = (Arrival){.fd = -1};
}

void
connection_free(Connection *connection)
{
    if (!g_atomic_ref_count_dec(&connection->references))
        return;
    close_arrival(connection);
    curl_library.curl_easy_cleanup(connection->curl);
    curl_library.curl_slist_free_all(connection->headers);
    g_free(connection->base);
    g_free(connection->server);
    g_free(connection);
}

/* ---- one exchange ---- */

static void
set_not_arrived(const Connection *connection, const ExchangeRequest *request, CURLcode code, GError **error)
{
    const char *why = connection->failure[0] != '\0' ? connection->failure : curl_library.curl_easy_strerror(code);
    if (code == CURLE_OPERATION_TIMEDOUT && request->is_quick && connection->patience <= 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_SILENT,
                    "%s is too slow: its answers to this command took more than %g s together; try again when it is "
                    "less busy",
                    connection->server, (gdouble)connection->most / G_USEC_PER_SEC);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        g_set_error(error, TARGET_ERROR, OUTCOME_SILENT, "%s did not answer in time: %s", connection->server, why);
    else if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "the certificate of %s cannot be verified: %s; give the CA's certificate with --ca-file",
                    connection->server, why);
    else if (connection->loopback.is_refused) {
        g_autofree char *refusal = loopback_refusal(&connection->loopback, connection->server, connection->remedy);
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "%s", refusal);
    } else if (code == CURLE_ABORTED_BY_CALLBACK)
        g_set_error(
            error, TARGET_ERROR, OUTCOME_SYSTEM,
            "cannot ask %s, which belongs to another user: no thread or no descriptor is left; raise the limits of "
            "this process (ulimit -u, ulimit -n)",
            connection->server);
    else if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT, "cannot connect to %s: %s", connection->server, why);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s %s%s failed: %s", request->method, connection->server,
                    request->path, why);
}

static void
set_too_large(const Connection *connection, const ExchangeRequest *request, GError **error)
{
    g_autofree char *limit = g_format_size_full(request->limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(
        error, TARGET_ERROR, OUTCOME_TOO_LARGE,
        "the answer of %s to %s is larger than %s; the limit for dumps is --max-output, and --options omits sections "
        "of statistics",
        connection->server, request->path, limit);
}

static Outcome
outcome_of_code(const char *code, long status)
{
    for (unsigned outcome = OUTCOME_INVALID; code != NULL && outcome < N_OUTCOMES; outcome++)
        if (g_str_equal(outcome_row(outcome)->code, code) && outcome_row(outcome)->http == (unsigned)status)
            return (Outcome)outcome;
    return status == HTTP_UNAUTHORIZED ? OUTCOME_PERMISSION : OUTCOME_PROTOCOL;
}

/* The server's own error document, if it is one. */
static gboolean
set_said(const Connection *connection, long status, const char *text, gsize length, GError **error)
{
    const char *code = NULL, *message = NULL, *hint = NULL;
    json_t *document = document_parse(text, length, NULL);
    gboolean sound =
        json_unpack(document, "{s:{s:s, s:s, s?s}}", "error", "code", &code, "message", &message, "hint", &hint) == 0;
    if (sound) {
        g_autofree char *said = g_strdup_printf("%s: %s%s%s", connection->server, message,
                                                hint != NULL && hint[0] != '\0' ? "; " : "", hint != NULL ? hint : "");
        g_strdelimit(said, "\n\t", ' ');
        text_clean_line(said, strlen(said) + 1);
        g_set_error_literal(error, TARGET_ERROR, (int)outcome_of_code(code, status), said);
    }
    json_decref(document);
    return sound;
}

static void
set_refused(const Connection *connection, const ExchangeRequest *request, long status, int fd, GError **error)
{
    char text[ERROR_MAX];
    ssize_t length = pread(fd, text, sizeof(text), 0);
    if (length > 0 && set_said(connection, status, text, (gsize)length, error))
        return;
    const char *to = NULL;
    curl_library.curl_easy_getinfo(connection->curl, CURLINFO_REDIRECT_URL, &to);
    g_set_error(error, TARGET_ERROR, status == HTTP_UNAUTHORIZED ? OUTCOME_PERMISSION : OUTCOME_PROTOCOL,
                "%s answered %s %s with status %ld%s%s; is it a jescope server?", connection->server, request->method,
                request->path, status, to != NULL ? " and refers to " : "", to != NULL ? to : "");
}

static gboolean
check_type(const Connection *connection, const ExchangeRequest *request, GError **error)
{
    const char *type = NULL;
    curl_library.curl_easy_getinfo(connection->curl, CURLINFO_CONTENT_TYPE, &type);
    if (type != NULL && g_str_has_prefix(type, request->type))
        return TRUE;
    g_autofree char *said = g_strndup(type != NULL ? type : "nothing", 80);
    text_clean_line(said, strlen(said) + 1);
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s answered %s with %s instead of %s; is it a jescope server?",
                connection->server, request->path, said, request->type);
    return FALSE;
}

static void
release(gpointer data)
{
    Connection *connection = data;
    g_atomic_int_set(&connection->is_busy, FALSE);
    connection_free(connection);
}

/* After begin_request(). */
static BoundedTransferEnd
perform_bounded(Connection *connection, long limit_ms, CURLcode *code)
{
    const BoundedTransfer transfer = {.curl = connection->curl,
                                      .receiver = connection->server,
                                      .deadline_ms = (guint)limit_ms,
                                      .loopback = &connection->loopback,
                                      .state = connection,
                                      .release = release};
    connection->failure[0] = '\0';
    return bounded_transfer_perform(&transfer, code);
}

/* FALSE if an earlier request is still in progress, which was left behind. */
static gboolean
begin_request(Connection *connection)
{
    if (!g_atomic_int_compare_and_exchange(&connection->is_busy, FALSE, TRUE))
        return FALSE;
    g_atomic_ref_count_inc(&connection->references);
    close_arrival(connection);
    return TRUE;
}

static void
set_not_ended(const Connection *connection, BoundedTransferEnd end, GError **error)
{
    g_autofree char *failure = bounded_transfer_failure(end, connection->server);
    g_set_error_literal(error, TARGET_ERROR, end == BOUNDED_TRANSFER_NO_THREAD ? OUTCOME_SYSTEM : OUTCOME_SILENT,
                        failure);
}

static BoundedTransferEnd
perform(Connection *connection, const ExchangeRequest *request, long limit_ms, CURLcode *code)
{
    CURL *curl = connection->curl;
    g_autofree char *url = g_strconcat(connection->base, request->path, NULL);
    gboolean sends = request->method[0] == 'P';
    curl_library.curl_easy_setopt(curl, CURLOPT_URL, url);
    /* Setting CURLOPT_POSTFIELDS, to NULL as well, makes it a POST. */
    if (sends)
        curl_library.curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    else
        curl_library.curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    curl_library.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERDATA, &connection->arrival);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEDATA, &connection->arrival);
    return perform_bounded(connection, limit_ms, code);
}

/* A command sends many requests, and a server could delay each of them up to its deadline. So they share an allowance,
 * which recovers while no request is pending, as those to an agent do (target/agent.c). */
static BoundedTransferEnd
perform_quickly(Connection *connection, const ExchangeRequest *request, CURLcode *code)
{
    const gint64 begun = g_get_monotonic_time();
    connection->patience = MIN(connection->patience + (begun - connection->rested) / RECOVERY, connection->most);
    /* libcurl takes 0 as no limit. */
    const long limit_ms = (long)CLAMP(connection->patience / 1000 + 1, 1, (gint64)request->deadline_ms);
    const BoundedTransferEnd end = perform(connection, request, limit_ms, code);
    connection->rested = g_get_monotonic_time();
    connection->patience -= connection->rested - begun;
    return end;
}

/* Whether the response has the expected type. */
static gboolean
judge(Connection *connection, const ExchangeRequest *request, CURLcode code, GError **error)
{
    const Arrival *arrival = &connection->arrival;
    long status = 0;
    curl_library.curl_easy_getinfo(connection->curl, CURLINFO_RESPONSE_CODE, &status);
    if (arrival->too_large)
        set_too_large(connection, request, error);
    else if (head_is_coded_again(&arrival->head))
        g_set_error(
            error, TARGET_ERROR, OUTCOME_PROTOCOL,
            "%s answered %s with a body that is compressed more than once, or a folded header; is it a jescope server?",
            connection->server, request->path);
    else if (code != CURLE_OK)
        set_not_arrived(connection, request, code, error);
    else if (status < HTTP_OK || status >= HTTP_REDIRECTS)
        set_refused(connection, request, status, arrival->fd, error);
    else
        return check_type(connection, request, error);
    return FALSE;
}

int
connection_exchange(Connection *connection, const ExchangeRequest *request, GError **error)
{
    CURLcode code = CURLE_OK;
    const int fd = output_file_new(error);
    if (fd < 0)
        return -1;
    if (!begin_request(connection)) {
        close(fd);
        set_not_ended(connection, BOUNDED_TRANSFER_REFUSED, error);
        return -1;
    }
    connection->arrival = (Arrival){.fd = fd, .limit = MAX(request->limit, ERROR_MAX)};
    const BoundedTransferEnd end = request->is_quick ? perform_quickly(connection, request, &code)
                                                     : perform(connection, request, (long)request->deadline_ms, &code);
    if (end != BOUNDED_TRANSFER_ENDED) {
        set_not_ended(connection, end, error);
        return -1;
    }
    if (judge(connection, request, code, error)) {
        const OutputWriter writer = {connection->server, request->limit, FALSE};
        connection->arrival.fd = -1;
        if (output_file_check(fd, connection->arrival.bytes, &writer, error))
            return output_file_seal(fd, connection->server, error);
        close(fd);
    }
    close_arrival(connection);
    return -1;
}

/* ---- an answer without an end ---- */

/* The response being received, and its receiver. */
typedef struct {
    Connection *connection;
    const ExchangeStream *stream;
    Arrival arrival; /* of the headers */
    gint64 latest_us, silence_us;
} Following;

static size_t
on_stream_header(char *data, size_t one, size_t n, void *user)
{
    Following *following = user;
    return on_header(data, one, n, &following->arrival);
}

static size_t
on_stream(char *data, size_t one, size_t n, void *user)
{
    Following *following = user;
    CURL *curl = following->connection->curl;
    const char *type = NULL;
    long status = 0;
    curl_library.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_library.curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    following->latest_us = g_get_monotonic_time();
    if (status != HTTP_OK || type == NULL || !g_str_has_prefix(type, "text/event-stream"))
        return 0;
    return following->stream->take(data, n, following->stream->data) ? n : 0;
}

/* libcurl calls this about once a second while nothing arrives; a nonzero result ends the transfer. */
static int
on_progress(void *user, curl_off_t unused1, curl_off_t unused2, curl_off_t unused3, curl_off_t unused4)
{
    const Following *following = user;
    gboolean is_silent = g_get_monotonic_time() - following->latest_us > following->silence_us;
    return is_silent || !following->stream->may_continue(following->stream->data);
}

long
connection_follow(Connection *connection, const char *path, guint silence_ms, const ExchangeStream *stream)
{
    CURL *curl = connection->curl;
    Following following = {.connection = connection,
                           .stream = stream,
                           .arrival = {.fd = -1},
                           .latest_us = g_get_monotonic_time(),
                           .silence_us = (gint64)silence_ms * 1000};
    g_autofree char *url = g_strconcat(connection->base, path, NULL);
    long status = 0;
    curl_library.curl_easy_setopt(curl, CURLOPT_URL, url);
    /* Not decompressed: a byte could expand indefinitely. */
    curl_library.curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, NULL);
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_stream_header);
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERDATA, &following);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_stream);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEDATA, &following);
    curl_library.curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_library.curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_library.curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &following);
    connection->failure[0] = '\0';
    loopback_perform(&connection->loopback, curl, 0);
    curl_library.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* ---- a web hook ---- */

static size_t
discard(char *data, size_t size, size_t n, void *user)
{
    Arrival *arrival = user;
    if (size * n > arrival->limit)
        return 0;
    arrival->limit -= size * n;
    return size * n;
}

/* "https://host:port", as far as URL has them. */
static char *
server_of(GUri *url)
{
    const int port = g_uri_get_port(url);
    g_autofree char *colon = port >= 0 ? g_strdup_printf(":%d", port) : g_strdup("");
    return g_strdup_printf("%s://%s%s", g_uri_get_scheme(url), g_uri_get_host(url), colon);
}

long
connection_post_json(const char *url, uid_t server_user, const char *json, guint deadline_ms, GError **error)
{
    g_autoptr(GUri) parts = g_uri_parse(url, G_URI_FLAGS_NONE, error);
    g_autofree char *server = parts != NULL ? server_of(parts) : NULL;
    const ClientUrl to = {.base = (char *)(guintptr)url, .server = server};
    const ClientAccess access = {0};
    const ExchangeRequest request = {.method = "POST", .path = ""};
    g_autoptr(Connection) connection = parts != NULL ? connection_new(&to, &access, error) : NULL;
    CURLcode code = CURLE_OK;
    long status = 0;
    if (connection == NULL)
        return 0;
    connection->loopback.named = server_user;
    connection->loopback.is_only_noted = FALSE;
    connection->remedy = "if this user runs the receiver, add server-user=NAME behind the URL";
    if (g_ascii_strcasecmp(g_uri_get_scheme(parts), "https") != 0)
        check_listener(connection);
    begin_request(connection);
    connection->arrival.limit = ERROR_MAX;
    connection->headers = curl_library.curl_slist_append(connection->headers, "Content-Type: application/json");
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_HTTPHEADER, connection->headers);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_HEADERDATA, &connection->arrival);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_WRITEFUNCTION, discard);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_WRITEDATA, &connection->arrival);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_URL, url);
    curl_library.curl_easy_setopt(connection->curl, CURLOPT_COPYPOSTFIELDS, json);
    const BoundedTransferEnd end = perform_bounded(connection, (long)deadline_ms, &code);
    if (end != BOUNDED_TRANSFER_ENDED) {
        set_not_ended(connection, end, error);
        return 0;
    }
    curl_library.curl_easy_getinfo(connection->curl, CURLINFO_RESPONSE_CODE, &status);
    /* An answer that is long, or not to be received, is cut off, but the document was delivered. */
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0))
        return status;
    set_not_arrived(connection, &request, code, error);
    return 0;
}
