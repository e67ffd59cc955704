/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service in C with libmicrohttpd that answers /work itself and leaves every other path to jescope.
 *
 *   cc service.c $(pkg-config --cflags --libs libjescope libmicrohttpd) -ljemalloc
 *   MALLOC_CONF=prof:true,prof_active:false ./a.out [PORT]
 */
#include <arpa/inet.h>
#include <jescope.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 4096 };

/* One request, from its first line to its end. */
typedef struct {
    char *target; /* as it came: path, '?' and query */
    bool has_headers;
    char body[BODY_MAX];
    size_t body_size;
} Exchange;

/* Called before anything else of a request: the only place where its target is not yet decoded. */
static void *
begin(void *unused, const char *target, struct MHD_Connection *connection)
{
    Exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange != NULL)
        exchange->target = strdup(target);
    return exchange;
}

static void
end(void *unused, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    Exchange *exchange = *state;
    if (exchange != NULL)
        free(exchange->target);
    free(exchange);
}

static enum MHD_Result
send_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    /* The cast is libmicrohttpd's: it copies the text. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(size_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Lines "Name: value\r\n". */
static void
add_headers(struct MHD_Response *response, char *lines)
{
    for (char *line = strtok(lines, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        char *colon = strstr(line, ": ");
        if (colon != NULL) {
            *colon = '\0';
            MHD_add_response_header(response, line, colon + 2);
        }
    }
}

static enum MHD_Result
send_reply(struct MHD_Connection *connection, JescopeReply *reply)
{
    struct MHD_Response *response =
        reply->descriptor >= 0 ? MHD_create_response_from_fd(reply->body_size, reply->descriptor) /* which closes it */
                               : MHD_create_response_from_buffer(reply->body_size, reply->body, MHD_RESPMEM_MUST_COPY);
    if (reply->content_type != NULL)
        MHD_add_response_header(response, "Content-Type", reply->content_type);
    add_headers(response, reply->headers);
    enum MHD_Result result = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
ask_jescope(struct MHD_Connection *connection, const char *method, const Exchange *exchange)
{
    JescopeRequest request = {
        .size = sizeof(request),
        .method = method,
        .path = exchange->target,
        .body = exchange->body,
        .body_size = exchange->body_size,
    };
    JescopeReply reply = {.size = sizeof(reply)};
    JescopeError error;
    if (jescope_http(&request, &reply, &error) != JESCOPE_OK)
        return send_text(connection, MHD_HTTP_BAD_REQUEST, error.message);
    return send_reply(connection, &reply);
}

static enum MHD_Result
do_work(struct MHD_Connection *connection)
{
    for (int i = 0; i < 1000; i++)
        if (malloc(1000) == NULL) /* what jescope will find */
            return MHD_NO;
    return send_text(connection, MHD_HTTP_OK, "worked\n");
}

static enum MHD_Result
answer(void *unused, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
       const char *upload, size_t *upload_size, void **state)
{
    Exchange *exchange = *state;
    if (exchange == NULL || exchange->target == NULL)
        return MHD_NO;
    if (!exchange->has_headers) { /* the first call: a body may follow */
        exchange->has_headers = true;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        if (*upload_size > sizeof(exchange->body) - exchange->body_size)
            return MHD_NO;
        memcpy(exchange->body + exchange->body_size, upload, *upload_size);
        exchange->body_size += *upload_size;
        *upload_size = 0;
        return MHD_YES;
    }
    return strcmp(path, "/work") == 0 ? do_work(connection) : ask_jescope(connection, method, exchange);
}

int
main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    JescopeError error;
    address.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
    if (jescope_start(NULL, &error) != JESCOPE_OK)
        fprintf(stderr, "service: jescope: %s\n", error.message);
    /* A thread per connection: a profile may take its time. */
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, answer, NULL,
                         MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, begin, NULL,
                         MHD_OPTION_NOTIFY_COMPLETED, end, NULL, MHD_OPTION_CONNECTION_LIMIT, 16u, MHD_OPTION_END);
    if (daemon == NULL) {
        fprintf(stderr, "service: cannot listen\n");
        return 1;
    }
    printf("http://127.0.0.1:%d/\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    getchar(); /* until its standard input ends */
    MHD_stop_daemon(daemon);
    jescope_stop(NULL);
    return 0;
}
