/* SPDX-License-Identifier: Apache-2.0 */
#include "http/address.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
test_parse(void)
{
    static const struct {
        const char *text;
        const char *canonical;
        gboolean local;
    } rows[] = {
        {"127.0.0.1:80", "127.0.0.1:80", TRUE},
        {"127.9.8.7", "127.9.8.7:7469", TRUE},
        {"localhost", "127.0.0.1:7469", TRUE},
        {"8080", "127.0.0.1:8080", TRUE},
        {"[::1]:9", "[::1]:9", TRUE},
        {"[::1]", "[::1]:7469", TRUE},
        {"[::ffff:127.0.0.1]:1", "127.0.0.1:1", TRUE},
        {"unix:/run/jescope.sock", "unix:/run/jescope.sock", TRUE},
        {"0.0.0.0:0", "0.0.0.0:0", FALSE},
        {":7469", "0.0.0.0:7469", FALSE},
        {"*:80", "0.0.0.0:80", FALSE},
        {"*", "0.0.0.0:7469", FALSE},
        {"[::]:7469", "[::]:7469", FALSE},
        {"10.0.0.5:1", "10.0.0.5:1", FALSE},
        {"128.0.0.1", "128.0.0.1:7469", FALSE},
        {"[::ffff:10.0.0.1]:1", "10.0.0.1:1", FALSE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Address address;
        g_autoptr(GError) error = NULL;
        g_assert_true(address_parse(rows[i].text, &address, &error));
        g_assert_no_error(error);
        g_autofree char *name = address_format(&address);
        g_assert_cmpstr(name, ==, rows[i].canonical);
        g_assert_cmpint(address_is_local(&address), ==, rows[i].local);
        g_assert_cmpint(address_is_unix(&address), ==, g_str_has_prefix(rows[i].text, "unix:"));
    }
}

static void
test_parse_bad(void)
{
    static const char *const rows[] = {
        "",         ":",      "127.0.0.1:",     "127.0.0.1:x",   "127.0.0.1:65536", "127.0.0.1:-1", "example.org:80",
        "::1",      "::1:80", "[127.0.0.1]:80", "[::1",          "[::1]x",          "[::1]:",       "unix:",
        "unix:rel", "70000",  "1.2.3:80",       "127.0.0.1:80 ", " 127.0.0.1",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Address address = {.size = 77};
        g_autoptr(GError) error = NULL;
        g_assert_false(address_parse(rows[i], &address, &error));
        g_assert_error(error, ADDRESS_ERROR, ADDRESS_ERROR_NAME);
        g_assert_nonnull(strstr(error->message, rows[i]));
        g_assert_cmpuint(address.size, ==, 77);
    }
    g_autofree char *stem = g_strnfill(200, 'a');
    g_autofree char *endless = g_strconcat("unix:/", stem, NULL);
    Address address;
    g_autoptr(GError) error = NULL;
    g_assert_false(address_parse(endless, &address, &error));
    g_assert_error(error, ADDRESS_ERROR, ADDRESS_ERROR_NAME);
}

static void
test_listen_free_port(void)
{
    Address address, bound;
    g_autoptr(GError) error = NULL;
    g_assert_true(address_parse("127.0.0.1:0", &address, &error));
    int fd = address_listen(&address, &error);
    g_assert_no_error(error);
    g_assert_true(address_of_listener(fd, &bound));
    g_autofree char *name = address_format(&bound);
    g_assert_true(g_str_has_prefix(name, "127.0.0.1:"));
    g_assert_false(g_str_has_suffix(name, ":0"));
    g_assert_cmpint(address_listen(&bound, &error), ==, -1);
    g_assert_error(error, ADDRESS_ERROR, ADDRESS_ERROR_SOCKET);
    g_assert_nonnull(strstr(error->message, name));
    close(fd);
}

static void
test_listen_unix(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("jescope-address-XXXXXX", &error);
    g_autofree char *path = g_build_filename(folder, "socket", NULL);
    g_autofree char *text = g_strconcat("unix:", path, NULL);
    Address address;
    struct stat facts;
    g_assert_true(address_parse(text, &address, &error));

    int first = address_listen(&address, &error);
    g_assert_no_error(error);
    g_assert_cmpint(stat(path, &facts), ==, 0);
    g_assert_cmpuint(facts.st_mode & 0777, ==, 0600);

    /* One that lives stays; one whose server died is replaced. */
    g_assert_cmpint(address_listen(&address, &error), ==, -1);
    g_assert_error(error, ADDRESS_ERROR, ADDRESS_ERROR_SOCKET);
    g_clear_error(&error);
    close(first);
    int second = address_listen(&address, &error);
    g_assert_no_error(error);
    close(second);
    g_unlink(path);

    /* A file that is not a socket is never removed. */
    g_assert_true(g_file_set_contents(path, "precious", -1, NULL));
    g_assert_cmpint(address_listen(&address, &error), ==, -1);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
    g_unlink(path);
    g_rmdir(folder);
}

static void
test_other_descriptors(void)
{
    Address address = {.size = 77};
    int pair[2];
    g_assert_cmpint(pipe(pair), ==, 0);
    g_assert_false(address_of_listener(pair[0], &address));
    close(pair[0]);
    close(pair[1]);
    int datagram = socket(AF_UNIX, SOCK_DGRAM, 0);
    g_assert_false(address_of_listener(datagram, &address));
    close(datagram);
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_false(address_of_listener(silent, &address));
    close(silent);
    g_assert_cmpuint(address.size, ==, 77);
}

static void
test_localhost(void)
{
    static const struct {
        const char *address, *other;
    } rows[] = {
        {"127.0.0.1:80", "[::1]:80"},
        {"[::1]:80", "127.0.0.1:80"},
        {"[::ffff:127.0.0.1]:80", "[::1]:80"},
        {"127.0.0.2:80", NULL},
        {"*:80", NULL},
        {"unix:/x", NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Address address, other;
        g_assert_true(address_parse(rows[i].address, &address, NULL));
        g_assert_cmpint(address_other_of_localhost(&address, &other), ==, rows[i].other != NULL);
        g_autofree char *name = rows[i].other != NULL ? address_format(&other) : NULL;
        g_assert_cmpstr(name, ==, rows[i].other);
    }
}

static void
test_covers(void)
{
    static const struct {
        const char *address, *other;
        gboolean covers;
    } rows[] = {
        {"127.0.0.1:80", "127.0.0.1:80", TRUE}, {"127.0.0.1:80", "127.0.0.1:81", FALSE},
        {"127.0.0.1:80", "[::1]:80", FALSE},    {"*:80", "127.0.0.1:80", TRUE},
        {"[::]:80", "[::1]:80", TRUE},          {"[::]:80", "[::1]:81", FALSE},
        {"unix:/x", "127.0.0.1:80", FALSE},     {"127.0.0.1:80", "unix:/x", FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Address address, other;
        g_assert_true(address_parse(rows[i].address, &address, NULL));
        g_assert_true(address_parse(rows[i].other, &other, NULL));
        g_assert_cmpint(address_covers(&address, &other), ==, rows[i].covers);
    }
}

/* 192.0.2.0/24 is for documentation, so no machine has it. */
static void
test_exists(void)
{
    Address address;
    g_assert_true(address_parse("127.0.0.1:1", &address, NULL));
    g_assert_true(address_exists(&address));
    g_assert_true(address_parse("192.0.2.1:1", &address, NULL));
    g_assert_false(address_exists(&address));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/address/parse", test_parse);
    g_test_add_func("/http/address/parse-bad", test_parse_bad);
    g_test_add_func("/http/address/listen-free-port", test_listen_free_port);
    g_test_add_func("/http/address/listen-unix", test_listen_unix);
    g_test_add_func("/http/address/other-descriptors", test_other_descriptors);
    g_test_add_func("/http/address/localhost", test_localhost);
    g_test_add_func("/http/address/covers", test_covers);
    g_test_add_func("/http/address/exists", test_exists);
    return g_test_run();
}
