/* SPDX-License-Identifier: Apache-2.0 */
#include "client/exchange.h"
#include "client/head.h"

#include <gio/gio.h>
#include <string.h>

static gboolean
take(Head *head, const char *line)
{
    return head_take(head, line, strlen(line));
}

static void
test_codings(void)
{
    Head head = {0};
    g_assert_true(take(&head, "HTTP/1.1 200 OK\r\n"));
    g_assert_true(take(&head, "Transfer-Encoding: chunked\r\n"));
    g_assert_true(take(&head, "content-encoding: gzip\r\n"));
    g_assert_true(take(&head, "\r\n"));
    g_assert_true(take(&head, ""));
    g_assert_false(take(&head, "Transfer-Encoding: gzip, chunked\r\n"));
    g_assert_true(head_is_coded_again(&head) && !head_is_too_large(&head));
}

static void
test_codings_of_a_line(void)
{
    static const char *const lines[] = {"Content-Encoding: gzip, gzip\r\n", "Transfer-Encoding:deflate,gzip\r\n",
                                        " gzip\r\n", "\tgzip\r\n"};
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        Head head = {0};
        g_assert_false(take(&head, lines[i]));
    }
}

static void
test_size(void)
{
    Head head = {0};
    g_autofree char *line = g_strnfill(HEAD_MAX / 2, 'x');
    g_assert_true(take(&head, line) && take(&head, line));
    g_assert_false(take(&head, "x"));
    g_assert_true(head_is_too_large(&head));
}

/* A server that answers one request with a head by which the rest is compressed three times; it is not, which would be
 * an error. */
static gpointer
answer(gpointer listener)
{
    static const char text[] = "HTTP/1.1 201 Created\r\nContent-Encoding: gzip, gzip, gzip\r\nContent-Length: 9\r\n\r\n"
                               "no gzip..";
    char request[4096];
    g_autoptr(GSocketConnection) connection = g_socket_listener_accept(listener, NULL, NULL, NULL);
    g_input_stream_read(g_io_stream_get_input_stream(G_IO_STREAM(connection)), request, sizeof(request), NULL, NULL);
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), text, strlen(text), NULL, NULL,
                              NULL);
    return NULL;
}

static void
test_web_hook(void)
{
    g_autoptr(GSocketListener) listener = g_socket_listener_new();
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new(loopback, 0), at = NULL;
    g_autoptr(GError) error = NULL;
    g_socket_listener_add_address(listener, any, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &at, &error);
    g_assert_no_error(error);
    GThread *thread = g_thread_new("server", answer, listener);
    g_autofree char *url =
        g_strdup_printf("http://127.0.0.1:%u/", g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(at)));
    g_assert_cmpint(connection_post_json(url, LOOPBACK_ANY_SYSTEM_USER, "{}", 10000, &error), ==, 201);
    g_assert_no_error(error);
    g_thread_join(thread);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/head/codings", test_codings);
    g_test_add_func("/head/codings-of-a-line", test_codings_of_a_line);
    g_test_add_func("/head/size", test_size);
    g_test_add_func("/head/web-hook", test_web_hook);
    return g_test_run();
}
