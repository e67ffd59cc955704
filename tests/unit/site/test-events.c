/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the events that does not read them. */
#include "service/core.h"
#include "site/site.h"
#include "site/table.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    DETAIL_SIZE = 16 * 1024,
    EVENTS = 512, /* many times what a stream keeps */
    WAIT_S = 30,
};

static Answer *
admit(Exchange *exchange, gpointer data)
{
    exchange_set_viewer(exchange, VIEWER_ALL);
    return NULL;
}

static void
handle(Exchange *exchange, gpointer data)
{
    events_routes.rows[0].serve(data, exchange);
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

static int
ask_at(const char *path)
{
    static const char request[] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(write(fd, request, strlen(request)), ==, (ssize_t)strlen(request));
    return fd;
}

static void
wait_for_streams(const Site *site, guint streams)
{
    const gint64 until = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;
    while (site->streams != streams) {
        g_assert_cmpint(g_get_monotonic_time(), <, until);
        g_main_context_iteration(NULL, FALSE);
    }
}

/* It is disconnected at once, though there is no room for another byte on its socket; until then nothing more is kept
 * for it. */
static void
test_reads_nothing(void)
{
    ServiceOptions options = service_options_default;
    const ServerLimits limits = {.peers = {.connections = 8, .per_peer = 8}, .timeout_s = 2 * WAIT_S};
    g_autofree char *directory = g_dir_make_tmp("jescope-events-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(directory, "socket", NULL);
    g_autofree char *detail = g_strnfill(DETAIL_SIZE, 'x');
    const ServiceEvent event = {.type = SERVICE_EVENT_DUMP, .target = "1", .label = "one (1)", .detail = detail};
    Site site = {.event_text = g_string_new(NULL)};
    const ServerHandler handler = {.admit = admit, .handle = handle, .data = &site};
    options.every_us = 0;
    g_autoptr(Service) service = site.service = service_new(&options, NULL);
    Server *server = server_new(&handler, &limits);
    g_assert_true(server_add(server, listen_at(path), SERVER_SOCKET_GIVEN, NULL, NULL));
    int client = ask_at(path);
    wait_for_streams(&site, 1);
    for (guint i = 0; i < EVENTS && site.streams > 0; i++) {
        service_hand_event(service, &event);
        g_main_context_iteration(NULL, FALSE);
    }
    wait_for_streams(&site, 0);
    server_free(server);
    g_string_free(site.event_text, TRUE);
    close(client);
    g_unlink(path);
    g_rmdir(directory);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/site/events/reads-nothing", test_reads_nothing);
    return g_test_run();
}
