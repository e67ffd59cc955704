/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bounded-transfer.h"
#include "client/exchange.h"
#include "target/target.h"

#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

enum { DELAY_MS = 200, PATIENCE_MS = 700, REQUESTS = 12 };

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                             "Content-Length: 2\r\n\r\n{}";

/* Answers one request per connection, each after a while, until the first that sends none. */
static gpointer
serve(gpointer listener)
{
    for (;;) {
        char request[4096];
        g_autoptr(GSocketConnection) connection = g_socket_listener_accept(listener, NULL, NULL, NULL);
        GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(connection));
        if (g_input_stream_read(in, request, sizeof(request), NULL, NULL) <= 0)
            return NULL;
        g_usleep(DELAY_MS * 1000);
        g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), answer, strlen(answer), NULL,
                                  NULL, NULL);
    }
}

typedef struct {
    GSocketListener *listener;
    GSocketAddress *at;
    GThread *thread;
    Connection *connection;
} Slow;

static void
begin(Slow *slow)
{
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new(loopback, 0);
    g_autoptr(GError) error = NULL;
    ClientUrl url;
    slow->listener = g_socket_listener_new();
    g_socket_listener_add_address(slow->listener, any, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &slow->at,
                                  &error);
    g_assert_no_error(error);
    slow->thread = g_thread_new("server", serve, slow->listener);
    g_autofree char *text =
        g_strdup_printf("http://127.0.0.1:%u", g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(slow->at)));
    g_assert_true(client_url_parse(text, &url, &error));
    slow->connection = connection_new(&url, &(ClientAccess){0}, &error);
    g_assert_no_error(error);
    client_url_clear(&url);
    connection_limit_time(slow->connection, PATIENCE_MS);
}

static void
end(Slow *slow)
{
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GSocketConnection) last = g_socket_client_connect(client, G_SOCKET_CONNECTABLE(slow->at), NULL, NULL);
    g_io_stream_close(G_IO_STREAM(last), NULL, NULL);
    g_thread_join(slow->thread);
    connection_free(slow->connection);
    g_object_unref(slow->at);
    g_object_unref(slow->listener);
}

/* The number of requests that are answered before one is not. */
static guint
ask(Slow *slow, const ExchangeRequest *request, GError **error)
{
    for (guint i = 0; i < REQUESTS; i++) {
        int fd = connection_exchange(slow->connection, request, error);
        if (fd < 0)
            return i;
        close(fd);
    }
    return REQUESTS;
}

static const ExchangeRequest quick = {
    .method = "GET", .path = "/", .type = "application/json", .limit = 100, .deadline_ms = 10000, .is_quick = TRUE};

/* Each of the answers is in time. */
static void
test_slow_answers_share_an_allowance(void)
{
    Slow slow;
    g_autoptr(GError) error = NULL;
    begin(&slow);
    guint answered = ask(&slow, &quick, &error);
    g_assert_cmpuint(answered, >, 0);
    g_assert_cmpuint(answered, <=, PATIENCE_MS / DELAY_MS + 1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_nonnull(strstr(error->message, "took more than 0.7 s together"));
    end(&slow);
}

static void
test_the_allowance_recovers(void)
{
    Slow slow;
    g_autoptr(GError) error = NULL;
    begin(&slow);
    ask(&slow, &quick, &error);
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_clear_error(&error);
    g_usleep(PATIENCE_MS * 4 * 1000);
    g_assert_cmpuint(ask(&slow, &quick, &error), >, 0);
    end(&slow);
}

static void
test_long_operations_have_their_own_deadlines(void)
{
    Slow slow;
    g_autoptr(GError) error = NULL;
    ExchangeRequest patient = quick;
    patient.is_quick = FALSE;
    begin(&slow);
    g_assert_cmpuint(ask(&slow, &patient, &error), ==, REQUESTS);
    g_assert_no_error(error);
    end(&slow);
}

/* ---- a transfer that libcurl cannot end ---- */

enum { BRIEF_MS = 100, LATE_US = 8000000 };

/* Stands for a library that computes or waits in curl_easy_perform(), where no deadline holds. */
static struct {
    GMutex lock;
    GCond changed;
    guint begun, ended;
    gboolean may_end;
} endless;

static CURLcode
perform_endlessly(CURL *curl)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&endless.lock);
    endless.begun++;
    while (!endless.may_end)
        g_cond_wait(&endless.changed, &endless.lock);
    return CURLE_OK;
}

static void
note_released(gpointer state)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&endless.lock);
    endless.ended++;
    g_cond_broadcast(&endless.changed);
}

static gboolean
is_over(gpointer data)
{
    return TRUE;
}

static CURLcode (*libcurls)(CURL *);

static void
begin_endless(void)
{
    libcurls = curl_library.curl_easy_perform;
    curl_library.curl_easy_perform = perform_endlessly;
    endless.begun = endless.ended = 0;
    endless.may_end = FALSE;
}

/* Until N of them were released. */
static void
end_endless(guint n)
{
    const gint64 until = g_get_monotonic_time() + LATE_US;
    g_mutex_lock(&endless.lock);
    endless.may_end = TRUE;
    g_cond_broadcast(&endless.changed);
    while (endless.ended < n && g_cond_wait_until(&endless.changed, &endless.lock, until))
        continue;
    g_assert_cmpuint(endless.ended, ==, n);
    g_mutex_unlock(&endless.lock);
    curl_library.curl_easy_perform = libcurls;
}

static void
test_a_transfer_that_does_not_end_is_left(void)
{
    g_autoptr(GError) error = NULL;
    CURLcode code = CURLE_OK;
    g_assert_true(curl_library_load("this test", &error));
    CURL *curls[BOUNDED_TRANSFER_LEFT_MAX + 1];
    Loopback loopbacks[BOUNDED_TRANSFER_LEFT_MAX + 1] = {0};
    begin_endless();
    for (guint i = 0; i <= BOUNDED_TRANSFER_LEFT_MAX; i++) {
        curls[i] = curl_library.curl_easy_init();
        /* The first by its deadline, the next by its owner. */
        const BoundedTransfer transfer = {.curl = curls[i],
                                          .receiver = "https://endless",
                                          .deadline_ms = i == 0 ? BRIEF_MS : 60000,
                                          .loopback = &loopbacks[i],
                                          .is_over = i == 0 ? NULL : is_over,
                                          .release = note_released};
        g_assert_cmpint(bounded_transfer_perform(&transfer, &code), ==,
                        i < BOUNDED_TRANSFER_LEFT_MAX ? BOUNDED_TRANSFER_LEFT : BOUNDED_TRANSFER_REFUSED);
    }
    g_assert_cmpuint(endless.begun, ==, BOUNDED_TRANSFER_LEFT_MAX);
    g_assert_cmpuint(endless.ended, ==, 1); /* that was refused */
    end_endless(BOUNDED_TRANSFER_LEFT_MAX + 1);
    for (guint i = 0; i < G_N_ELEMENTS(curls); i++)
        curl_library.curl_easy_cleanup(curls[i]);
}

/* The next request is refused until the thread that was left has ended. */
static void
test_an_exchange_that_does_not_end_is_given_up(void)
{
    Slow slow;
    g_autoptr(GError) error = NULL;
    ExchangeRequest brief = quick;
    brief.deadline_ms = BRIEF_MS;
    begin(&slow);
    begin_endless();
    g_assert_cmpint(connection_exchange(slow.connection, &brief, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_nonnull(strstr(error->message, "could not be ended"));
    g_clear_error(&error);
    g_assert_cmpint(connection_exchange(slow.connection, &brief, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "an earlier request has not ended"));
    g_assert_cmpuint(endless.begun, ==, 1);
    end_endless(0);
    g_clear_error(&error);
    const gint64 until = g_get_monotonic_time() + LATE_US;
    connection_limit_time(slow.connection, LATE_US / 1000);
    while (ask(&slow, &quick, &error) == 0 && g_get_monotonic_time() < until)
        g_clear_error(&error);
    g_assert_no_error(error);
    end(&slow);
}

/* What libcurl's thread uses outlives the connection. */
static void
test_a_web_hook_that_does_not_end_is_given_up(void)
{
    g_autoptr(GError) error = NULL;
    begin_endless();
    g_assert_cmpint(connection_post_json("http://127.0.0.1:9/hook", LOOPBACK_ANY_SYSTEM_USER, "{}", BRIEF_MS, &error),
                    ==, 0);
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    end_endless(0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/exchange/slow-answers-share-an-allowance", test_slow_answers_share_an_allowance);
    g_test_add_func("/exchange/the-allowance-recovers", test_the_allowance_recovers);
    g_test_add_func("/exchange/long-operations-have-their-own-deadlines",
                    test_long_operations_have_their_own_deadlines);
    g_test_add_func("/exchange/a-transfer-that-does-not-end-is-left", test_a_transfer_that_does_not_end_is_left);
    g_test_add_func("/exchange/an-exchange-that-does-not-end-is-given-up",
                    test_an_exchange_that_does_not_end_is_given_up);
    g_test_add_func("/exchange/a-web-hook-that-does-not-end-is-given-up",
                    test_a_web_hook_that_does_not_end_is_given_up);
    return g_test_run();
}
