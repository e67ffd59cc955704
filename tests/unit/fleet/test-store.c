/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/rows.h"
#include "fleet/store.h"

#include <gio/gio.h>
#include <string.h>

enum { NAME = 1000 };

/* A store that has one host with a long name at any time: answers one request per connection, until the first that
 * sends none. */
static gpointer
serve(gpointer listener)
{
    g_autofree char *name = g_strnfill(NAME, 'h');
    g_autofree char *rows = g_strdup_printf("{\"data\":[[\"%s\",1,0,0,0]]}", name);
    g_autofree char *answer = g_strdup_printf(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n\r\n%s", strlen(rows), rows);
    for (;;) {
        char request[65536];
        g_autoptr(GSocketConnection) connection = g_socket_listener_accept(listener, NULL, NULL, NULL);
        GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(connection));
        if (g_input_stream_read(in, request, sizeof(request), NULL, NULL) <= 0)
            return NULL;
        g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), answer, strlen(answer), NULL,
                                  NULL, NULL);
    }
}

/* What is kept of each moment of a function's history counts together. */
static void
test_answers_count_together(void)
{
    g_autoptr(GSocketListener) listener = g_socket_listener_new();
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new(loopback, 0), at = NULL;
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GError) error = NULL;
    g_socket_listener_add_address(listener, any, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &at, &error);
    g_assert_no_error(error);
    GThread *thread = g_thread_new("store", serve, listener);
    g_autofree char *url = g_strdup_printf("clickhouse+http://127.0.0.1:%u/jescope",
                                           g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(at)));
    g_autoptr(FleetStore) store = fleet_store_new(url, &(ExportAccess){0}, &error);
    g_assert_no_error(error);
    fleet_store_limit(store, 3 * NAME);
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GPtrArray) found = fleet_trace(store, &(FleetPart){.window = 1}, 1, "f", &error);
        g_assert_no_error(error);
        g_assert_cmpuint(strlen(((const FleetHolding *)found->pdata[0])->host), ==, NAME);
    }
    g_assert_null(fleet_trace(store, &(FleetPart){.window = 1}, 1, "f", &error));
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    g_autoptr(GSocketConnection) last = g_socket_client_connect(client, G_SOCKET_CONNECTABLE(at), NULL, NULL);
    g_io_stream_close(G_IO_STREAM(last), NULL, NULL);
    g_thread_join(thread);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/store/answers-count-together", test_answers_count_together);
    return g_test_run();
}
