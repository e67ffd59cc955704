/* SPDX-License-Identifier: Apache-2.0 */
#include "http/answer.h"

#include "http/answer-send.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void
test_etags(void)
{
    static const struct {
        const char *etag, *header;
        gboolean matches;
    } rows[] = {
        {"\"a\"", "\"a\"", TRUE}, {"\"a\"", "W/\"a\"", TRUE}, {"\"a\"", "\"b\", \"a\"", TRUE},
        {"\"a\"", "*", TRUE},     {"\"a\"", "\"b\"", FALSE},  {"\"a\"", NULL, FALSE},
        {NULL, "\"a\"", FALSE},   {"\"a\"", "a", FALSE},      {"\"a\"", "", FALSE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(answer_etag_matches(rows[i].etag, rows[i].header), ==, rows[i].matches);
}

static void
test_usual_words(void)
{
    RouteReply reply = {.status = 404, .reason = "Not Found", .descriptor = -1, .content_type = "text/plain"};
    g_autoptr(Answer) answer = answer_new_route(&reply, ANSWER_PLAIN, NULL);
    g_assert_null(answer_wire_text(answer, "GET"));
    g_assert_cmpuint(answer_status(answer), ==, 404);
}

static void
test_words_of_its_own(void)
{
    RouteReply reply = {.status = 403, .reason = "DENIED", .descriptor = -1, .content_type = "text/html"};
    g_strlcpy(reply.headers, "Allow: GET\r\n", sizeof(reply.headers));
    memcpy(reply.body, "no\n", 3);
    reply.body_size = 3;
    g_autoptr(Answer) answer = answer_new_route(&reply, ANSWER_PLAIN, NULL);
    g_autoptr(GBytes) wire = answer_wire_text(answer, "GET");
    gsize size;
    const char *data = g_bytes_get_data(wire, &size);
    g_autofree char *text = g_strndup(data, size);
    g_assert_true(g_str_has_prefix(text, "HTTP/1.1 403 DENIED\r\n"));
    g_assert_nonnull(strstr(text, "\r\nAllow: GET\r\n"));
    g_assert_nonnull(strstr(text, "\r\nContent-Length: 3\r\n"));
    g_assert_nonnull(strstr(text, "\r\nConnection: close\r\n"));
    g_assert_true(g_str_has_suffix(text, "\r\n\r\nno\n"));
    g_autoptr(GBytes) head = answer_wire_text(answer, "HEAD");
    g_assert_cmpuint(g_bytes_get_size(head), ==, size - 3);
}

static void
test_descriptor_is_taken(void)
{
    RouteReply reply = {.status = 200, .content_type = "application/octet-stream", .body_size = 5};
    reply.descriptor = memfd_create("body", MFD_CLOEXEC);
    int fd = reply.descriptor;
    g_assert_cmpint(write(fd, "hello", 5), ==, 5);
    Answer *answer = answer_new_route(&reply, ANSWER_PLAIN, NULL);
    g_assert_cmpint(reply.descriptor, ==, -1);
    g_assert_cmpuint(answer_size(answer), ==, 5);
    g_assert_cmpint(fcntl(fd, F_GETFD), !=, -1);
    answer_unref(answer);
    g_assert_cmpint(fcntl(fd, F_GETFD), ==, -1);
}

static void
test_shrinks(void)
{
    g_autofree char *text = g_strnfill(5000, 'x');
    g_autoptr(Answer) packed = answer_new(200, "text/plain", g_bytes_new(text, 5000), ANSWER_GZIP);
    g_autoptr(Answer) plain = answer_new(200, "text/plain", g_bytes_new(text, 5000), ANSWER_PLAIN);
    g_assert_cmpuint(answer_size(packed), <, 500);
    g_assert_cmpuint(answer_size(plain), ==, 5000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/answer/etags", test_etags);
    g_test_add_func("/http/answer/usual-words", test_usual_words);
    g_test_add_func("/http/answer/words-of-its-own", test_words_of_its_own);
    g_test_add_func("/http/answer/descriptor-is-taken", test_descriptor_is_taken);
    g_test_add_func("/http/answer/shrinks", test_shrinks);
    return g_test_run();
}
