/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw bytes of a client, sent to libmicrohttpd with the options of the server. An accepted head must be unambiguous for
 * other parsers of HTTP.
 */
#include "http/head.h"

#include "http/server.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    INPUT_MAX = 1 << 15, /* fits into a socket */
    ROUNDS_MAX = 4096,
};

typedef struct {
    const char *sent;
    gsize size;
    struct MHD_Connection *mhd; /* NULL: the connection has ended */
    char *uri;                  /* of the request being received */
    gboolean begun;
    guint requests;
} Client;

static Client client;
static struct MHD_Daemon *server;

/* ---- unambiguous heads ---- */

static gboolean
has_name(const char *line, gsize size, const char *name)
{
    gsize n = strlen(name);
    return size > n && line[n] == ':' && g_ascii_strncasecmp(line, name, n) == 0;
}

static guint
count_headers(const char *head, gsize size, const char *name)
{
    guint count = 0;
    const char *end = head + size;
    for (const char *line = head; line < end;) {
        const char *stop = memmem(line, (gsize)(end - line), "\r\n", 2);
        stop = stop != NULL ? stop : end;
        count += has_name(line, (gsize)(stop - line), name);
        line = stop + 2;
    }
    return count;
}

static void
check_lines(const char *head, gsize size)
{
    for (gsize i = 0; i < size; i++) {
        g_assert_true(head[i] != '\0' || head[i + 1] == '\n'); /* indistinguishable from the CR that it replaces */
        if (head[i] == '\n') {
            g_assert_true(i > 0 && (head[i - 1] == '\r' || head[i - 1] == '\0'));
            g_assert_true(head[i + 1] != ' ' && head[i + 1] != '\t');
        }
        g_assert_true(head[i] != '\r' || head[i + 1] == '\n');
    }
}

/* Whether the head ends in a way that libmicrohttpd hides from head_fault() by overwriting it with NULs: line ends that
 * contain a NUL, or a line with neither name nor value. */
static gboolean
is_hidden_end(const char *at)
{
    static const char line_ends[] = {'\r', '\n', '\0'};
    for (gsize i = 0; i < strlen("\r\n\r\n"); i++)
        if (memchr(line_ends, at[i], sizeof(line_ends)) == NULL && !((i == 1 || i == 2) && at[i] == ':'))
            return FALSE;
    return at[1] == ':' || at[2] == ':' || memchr(at, '\0', strlen("\r\n\r\n")) != NULL;
}

static const char *
find_end(const char *sent, gsize size)
{
    for (gsize i = 0; i + strlen("\r\n\r\n") <= size; i++)
        if (memcmp(sent + i, "\r\n\r\n", strlen("\r\n\r\n")) == 0 || is_hidden_end(sent + i))
            return sent + i;
    return NULL;
}

/* Whether libmicrohttpd skips the line before the request: an empty one, or one that begins with a NUL, which leaves no
 * trace. A line ends at the LF; it may contain a single CR. */
static gboolean
is_skipped(const char *line, const char *end)
{
    gboolean is_crlf = end == line + 1 && *line == '\r';
    return end == line || is_crlf || *line == '\0';
}

static gsize
skip_empty_lines(const char *sent, gsize size)
{
    const char *line = sent;
    const char *end = sent + size;
    for (const char *lf; line < end && (lf = memchr(line, '\n', (gsize)(end - line))) != NULL; line = lf + 1)
        if (!is_skipped(line, lf))
            break;
    return (gsize)(line - sent);
}

static void
check_accepted(const char *sent, gsize size)
{
    gsize skipped = skip_empty_lines(sent, size);
    sent += skipped;
    size -= skipped;
    const char *end = find_end(sent, size);
    g_assert_nonnull(end);
    gsize length = (gsize)(end - sent);
    check_lines(sent, length);
    guint lengths = count_headers(sent, length, "Content-Length");
    guint codings = count_headers(sent, length, "Transfer-Encoding");
    g_assert_cmpuint(lengths + codings, <=, 1);
    g_assert_cmpuint(count_headers(sent, length, "Host"), <=, 1);
}

/* ---- the server ---- */

static void *
on_uri(void *data, const char *uri, struct MHD_Connection *mhd)
{
    g_free(client.uri);
    client.uri = g_strdup(uri);
    client.begun = FALSE;
    return NULL;
}

static enum MHD_Result
on_request(void *data, struct MHD_Connection *mhd, const char *path, const char *method, const char *version,
           const char *upload, size_t *upload_size, void **state)
{
    HeadLine line = {method, client.uri, version};
    const char *fault = head_fault(mhd, &line);
    client.begun = TRUE;
    if (fault == NULL && client.requests++ == 0 && head_strictness() == 0)
        check_accepted(client.sent, client.size);
    struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (fault != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result = MHD_queue_response(mhd, fault == NULL ? MHD_HTTP_OK : MHD_HTTP_BAD_REQUEST, response);
    MHD_destroy_response(response);
    client.requests += fault != NULL;
    return result;
}

static void
on_completed(void *data, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode code)
{
    g_clear_pointer(&client.uri, g_free);
}

static void
on_connection(void *data, struct MHD_Connection *mhd, void **state, enum MHD_ConnectionNotificationCode code)
{
    client.mhd = code == MHD_CONNECTION_NOTIFY_STARTED ? mhd : NULL;
}

static void
stop_server(void)
{
    MHD_stop_daemon(server);
}

static void
start_server(void)
{
    server = MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, NULL, /* */
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_HEADERS_MAX,
                              MHD_OPTION_STRICT_FOR_CLIENT, head_strictness(), MHD_OPTION_NOTIFY_CONNECTION,
                              on_connection, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                              MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL, MHD_OPTION_END);
    g_assert_nonnull(server);
    atexit(stop_server);
}

static void
serve(void)
{
    for (guint round = 0; round < ROUNDS_MAX && client.mhd != NULL; round++) {
        MHD_run(server);
        if (client.mhd != NULL && client.uri != NULL && !client.begun)
            head_has_bad_length(client.mhd);
    }
    g_assert_null(client.mhd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (size == 0 || size > INPUT_MAX)
        return 0;
    if (server == NULL)
        start_server();
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), ==, 0);
    client = (Client){.sent = (const char *)data, .size = size};
    g_assert_cmpint(send(ends[0], data, size, MSG_NOSIGNAL), ==, (gssize)size);
    shutdown(ends[0], SHUT_WR);
    g_assert_cmpint(MHD_add_connection(server, ends[1], (struct sockaddr *)&address, sizeof(address)), ==, MHD_YES);
    serve();
    g_clear_pointer(&client.uri, g_free);
    close(ends[0]);
    return 0;
}
