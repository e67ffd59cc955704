/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/rows.h"
#include "fleet/store.h"

#include <gio/gio.h>
#include <string.h>

enum { NAME = 1000 };

/* A store that answers one request per connection, until the first that sends none: always the same, after a while. */
typedef struct {
    GSocketListener *listener;
    GSocketAddress *at;
    GThread *thread;
    FleetStore *store;
    char *rows;
    guint delay_ms;
    guint requests;
} Answering;

static gpointer
serve(gpointer data)
{
    Answering *self = data;
    g_autofree char *answer =
        g_strdup_printf("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n\r\n%s",
                        strlen(self->rows), self->rows);
    for (;;) {
        char request[65536];
        g_autoptr(GSocketConnection) connection = g_socket_listener_accept(self->listener, NULL, NULL, NULL);
        GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(connection));
        if (g_input_stream_read(in, request, sizeof(request), NULL, NULL) <= 0)
            return NULL;
        self->requests++;
        g_usleep(self->delay_ms * 1000);
        g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), answer, strlen(answer), NULL,
                                  NULL, NULL);
    }
}

/* Takes ownership of ROWS. */
static void
begin(Answering *self, char *rows, guint delay_ms)
{
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new(loopback, 0);
    g_autoptr(GError) error = NULL;
    *self = (Answering){.listener = g_socket_listener_new(), .rows = rows, .delay_ms = delay_ms};
    g_socket_listener_add_address(self->listener, any, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &self->at,
                                  &error);
    g_assert_no_error(error);
    self->thread = g_thread_new("store", serve, self);
    g_autofree char *url = g_strdup_printf("clickhouse+http://127.0.0.1:%u/jescope",
                                           g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(self->at)));
    self->store = fleet_store_new(url, &(ExportAccess){0}, &error);
    g_assert_no_error(error);
}

static void
end(Answering *self)
{
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GSocketConnection) last = g_socket_client_connect(client, G_SOCKET_CONNECTABLE(self->at), NULL, NULL);
    g_io_stream_close(G_IO_STREAM(last), NULL, NULL);
    g_thread_join(self->thread);
    fleet_store_free(self->store);
    g_object_unref(self->at);
    g_object_unref(self->listener);
    g_free(self->rows);
}

/* What is kept of each moment of a function's history counts together. */
static void
test_answers_count_together(void)
{
    Answering answering;
    g_autofree char *name = g_strnfill(NAME, 'h');
    g_autoptr(GError) error = NULL;
    begin(&answering, g_strdup_printf("{\"data\":[[\"%s\",1,0,0,0]]}", name), 0);
    fleet_store_limit(answering.store, 3 * NAME);
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GPtrArray) found = fleet_trace(answering.store, &(FleetPart){.window = 1}, 1, "f", &error);
        g_assert_no_error(error);
        g_assert_cmpuint(strlen(((const FleetHolding *)found->pdata[0])->host), ==, NAME);
    }
    g_assert_null(fleet_trace(answering.store, &(FleetPart){.window = 1}, 1, "f", &error));
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    end(&answering);
}

/* Also those from which a child makes a profile, as the names of stacks are. */
static void
test_values_count_together(void)
{
    enum { VALUES = 1000, MOST = 1 << 20 };
    Answering answering;
    g_autofree char *some = g_strnfill(VALUES, '1');
    g_autoptr(GError) error = NULL;
    guint answered = 0;
    for (guint i = 1; i < VALUES; i += 2)
        some[i] = ',';
    some[VALUES - 1] = '\0';
    begin(&answering, g_strdup_printf("{\"data\":[[\"1\",\"1\",\"1\",\"1\",1]],\"more\":[%s]}", some), 0);
    fleet_store_limit_values(answering.store, MOST);
    for (guint i = 0; i < MOST / VALUES && error == NULL; i++) {
        g_auto(FleetTaken) taken = {0};
        const FleetPart part = {.at = 1, .window = 1};
        answered += fleet_take(answering.store, &part, FLEET_SUM, &taken, &error);
    }
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    g_assert_nonnull(strstr(error->message, "too many values"));
    g_assert_cmpuint(answered, >, 1);
    end(&answering);
}

static void
test_hosts_count_together(void)
{
    enum { HOSTS = 1 << 16 };
    Answering answering;
    g_autoptr(GString) rows = g_string_new("{\"data\":[[\"h\",1,0,0,0]");
    g_autoptr(GError) error = NULL;
    guint64 found = 0;
    for (guint i = 1; i < HOSTS; i++)
        g_string_append(rows, ",[\"h\",1,0,0,0]");
    g_string_append(rows, "]}");
    begin(&answering, g_strdup(rows->str), 0);
    while (error == NULL && found <= FLEET_HOLDINGS_MAX) {
        g_autoptr(GPtrArray) holdings = fleet_trace(answering.store, &(FleetPart){.window = 1}, 1, "f", &error);
        found += holdings != NULL ? holdings->len : 0;
    }
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    g_assert_nonnull(strstr(error->message, "too many hosts"));
    g_assert_cmpuint(found, ==, FLEET_HOLDINGS_MAX);
    end(&answering);
}

/* Each answer comes before the time of all is over. */
static void
test_slow_answers_count_together(void)
{
    enum { DELAY_MS = 200, WAIT_MS = 700 };
    Answering answering;
    g_autoptr(GError) error = NULL;
    guint answered = 0;
    begin(&answering, g_strdup("{\"data\":[]}"), DELAY_MS);
    fleet_store_limit_time(answering.store, WAIT_MS);
    for (guint i = 0; i < 20 && error == NULL; i++) {
        GPtrArray *found = fleet_trace(answering.store, &(FleetPart){.window = 1}, 1, "f", &error);
        answered += found != NULL;
        g_clear_pointer(&found, g_ptr_array_unref);
    }
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_SLOW);
    g_assert_nonnull(strstr(error->message, "more than 0.7 s together"));
    g_assert_cmpuint(answered, >, 0);
    g_assert_cmpuint(answered, <=, WAIT_MS / DELAY_MS);
    end(&answering);
}

/* One row, of each kind that no store with jescope's tables has, causes no request. */
static void
test_only_partitions_are_dropped(void)
{
    static const char *const wrong[] = {
        "[\"passwords\",\"2020-01-01\"]", "[\"sample_remote\",\"2020-01-01\"]", "[\"sample\",\"2020-01-011\"]",
        "[\"sample\",\"all\"]",           "[\"sample\",\"2026-11-22\"]",        "[\"sample_local\",\"2026-11-23\"]",
        "[\"dump\",\"2020-01-01\"]",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Answering answering;
        g_autoptr(GError) error = NULL;
        begin(&answering, g_strdup_printf("{\"data\":[[\"dump\",\"2020-01-01\"],%s]}", wrong[i]), 0);
        g_assert_cmpint(fleet_expire(answering.store, "2026-11-22", &error), ==, -1);
        g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
        g_assert_cmpuint(answering.requests, ==, 1);
        end(&answering);
    }
}

static void
test_partitions_are_bounded(void)
{
    Answering answering;
    GString *rows = g_string_new("{\"data\":[[\"dump\",\"0000-01-01\"]");
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < FLEET_PARTITIONS_MAX; i++)
        g_string_append_printf(rows, ",[\"dump\",\"%04u-%02u-01\"]", 1 + i / 99, 1 + i % 99);
    g_string_append(rows, "]}");
    begin(&answering, g_string_free(rows, FALSE), 0);
    g_assert_cmpint(fleet_expire(answering.store, "2026-11-22", &error), ==, -1);
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    g_assert_cmpuint(answering.requests, ==, 1);
    end(&answering);
}

static void
test_partitions_are_dropped(void)
{
    Answering answering;
    g_autoptr(GError) error = NULL;
    begin(
        &answering,
        g_strdup("{\"data\":[[\"dump\",\"2020-01-01\"],[\"sample_local\",\"2020-01-01\"],[\"dump\",\"2020-01-02\"]]}"),
        0);
    g_assert_cmpint(fleet_expire(answering.store, "2026-11-22", &error), ==, 2);
    g_assert_no_error(error);
    g_assert_cmpuint(answering.requests, ==, 4);
    end(&answering);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/store/answers-count-together", test_answers_count_together);
    g_test_add_func("/store/values-count-together", test_values_count_together);
    g_test_add_func("/store/hosts-count-together", test_hosts_count_together);
    g_test_add_func("/store/slow-answers-count-together", test_slow_answers_count_together);
    g_test_add_func("/store/only-partitions-are-dropped", test_only_partitions_are_dropped);
    g_test_add_func("/store/partitions-are-bounded", test_partitions_are_bounded);
    g_test_add_func("/store/partitions-are-dropped", test_partitions_are_dropped);
    return g_test_run();
}
