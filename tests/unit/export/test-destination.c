/* SPDX-License-Identifier: Apache-2.0 */
#include "export/destination.h"

#include "export/sink.h"

#include <string.h>

static const ExportAccess open_access = {0}, with_token = {.token_file = "/token"};

static void
test_transports(void)
{
    static const struct {
        const char *url, *sink, *base;
        gboolean in_clear;
    } rows[] = {
        {"directory:///var/lib/a%20b", "directory", "/var/lib/a b", FALSE},
        {"put://example.com/a/b/", "put", "https://example.com/a/b", FALSE},
        {"put+http://example.com:8080/", "put", "http://example.com:8080", TRUE},
        {"put+http://127.0.0.1:8080/x", "put", "http://127.0.0.1:8080/x", FALSE},
        {"put+http://[::1]:8080/x", "put", "http://[::1]:8080/x", FALSE},
        {"s3+https://s3.example.com/bucket?region=eu-west-1", "s3", "https://s3.example.com/bucket", FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Destination) destination = destination_new(rows[i].url, &open_access, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(destination->sink->name, ==, rows[i].sink);
        g_assert_cmpstr(destination->base, ==, rows[i].base);
        g_assert_cmpint(destination->in_clear, ==, rows[i].in_clear);
    }
}

static void
test_settings(void)
{
    static const char *const known[] = {"region", NULL}, *const none[] = {NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(Destination) destination = destination_new("s3://h/b?region=eu%2Dwest", &open_access, NULL);
    g_assert_cmpstr(destination_setting(destination, "region", "x"), ==, "eu-west");
    g_assert_cmpstr(destination_setting(destination, "other", "x"), ==, "x");
    g_assert_true(destination_check_settings(destination, known, NULL));
    g_assert_false(destination_check_settings(destination, none, &error));
    g_assert_nonnull(strstr(error->message, "unknown setting 'region'"));
}

/* And the error does not repeat a password. */
static void
test_refused(void)
{
    static const struct {
        const char *url, *why;
        const ExportAccess *access;
    } rows[] = {
        {"ftp://example.com/", "unknown kind of URL", &open_access},
        {"directory+http:///x", "unknown kind of URL", &open_access},
        {"put+ftp://example.com/", "unknown kind of URL", &open_access},
        {"directory://host/x", "absolute path", &open_access},
        {"directory:x", "absolute path", &open_access},
        {"put:///x", "no host", &open_access},
        {"put://user:secret@example.com/", "user or a password", &open_access},
        {"put://example.com/#x", "fragment", &open_access},
        {"put://example.com:port/", "port", &open_access},
        {"put+http://example.com/", "unencrypted", &with_token},
        {"", "cannot push", &open_access},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(destination_new(rows[i].url, rows[i].access, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION);
        if (strstr(error->message, rows[i].why) == NULL)
            g_error("%s: %s", rows[i].url, error->message);
        g_assert_null(strstr(error->message, "secret"));
    }
    g_autoptr(GError) error = NULL;
    const ExportAccess half = {.cert_file = "/cert"};
    g_assert_null(destination_new("put://example.com/", &half, &error));
    g_assert_nonnull(strstr(error->message, "--key-file"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/destination/transports", test_transports);
    g_test_add_func("/destination/settings", test_settings);
    g_test_add_func("/destination/refused", test_refused);
    return g_test_run();
}
