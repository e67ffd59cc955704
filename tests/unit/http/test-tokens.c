/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tokens.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static void
test_find(void)
{
    static const char text[] =
        "# who may what\n\nread 0123456789abcdef grafana\n  control\tfedcba9876543210\t alice \r\n"
        "read aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
    g_autoptr(GError) error = NULL;
    g_autoptr(Tokens) tokens = tokens_parse(text, "file", &error);
    g_assert_no_error(error);
    RouteRole role = ROUTE_ROLE_CONTROL;
    g_assert_cmpstr(tokens_find(tokens, "0123456789abcdef", &role), ==, "grafana");
    g_assert_cmpint(role, ==, ROUTE_ROLE_READ);
    g_assert_cmpstr(tokens_find(tokens, "fedcba9876543210", &role), ==, "alice");
    g_assert_cmpint(role, ==, ROUTE_ROLE_CONTROL);
    g_assert_nonnull(tokens_find(tokens, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &role));
    g_assert_cmpint(role, ==, ROUTE_ROLE_READ);
    role = ROUTE_ROLE_CONTROL;
    g_assert_null(tokens_find(tokens, "", &role));
    g_assert_null(tokens_find(tokens, "0123456789abcde", &role));
    g_assert_null(tokens_find(tokens, "0123456789abcdef0", &role));
    g_assert_null(tokens_find(tokens, "0123456789abcdeF", &role));
    g_assert_cmpint(role, ==, ROUTE_ROLE_CONTROL);
}

static void
test_bad_lines(void)
{
    static const struct {
        const char *text;
        const char *line;
    } rows[] = {
        {"", "has no token"},
        {"# nothing\n", "has no token"},
        {"read\n", "line 1"},
        {"\nread short\n", "line 2"},
        {"admin 0123456789abcdef\n", "line 1"},
        {"read 0123456789abcdef\ncontrol 0123456789abcde\n", "line 2"},
        {"read 0123456789abcdef \xc3\xa4\n", "line 1"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(tokens_parse(rows[i].text, "the-file", &error));
        g_assert_error(error, TOKENS_ERROR, TOKENS_ERROR_SYNTAX);
        g_assert_nonnull(strstr(error->message, rows[i].line));
        g_assert_nonnull(strstr(error->message, "the-file"));
        g_assert_null(strstr(error->message, "0123456789abcde"));
    }
}

static void
test_file_mode(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("jescope-tokens-XXXXXX", &error);
    g_autofree char *path = g_build_filename(folder, "tokens", NULL);
    g_assert_null(tokens_read(path, &error));
    g_assert_error(error, TOKENS_ERROR, TOKENS_ERROR_FILE);
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(path, "read 0123456789abcdef\n", -1, NULL));
    static const int open_modes[] = {0644, 0640, 0620, 0602, 0660};
    for (gsize i = 0; i < G_N_ELEMENTS(open_modes); i++) {
        g_chmod(path, open_modes[i]);
        g_assert_null(tokens_read(path, &error));
        g_assert_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE);
        g_assert_nonnull(strstr(error->message, "chmod 600"));
        g_clear_error(&error);
    }
    g_chmod(path, 0600);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
        g_assert_null(tokens_read(path, &error));
        g_assert_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE);
        g_assert_nonnull(strstr(error->message, "chown"));
        g_clear_error(&error);
        g_assert_cmpint(chown(path, 0, 0), ==, 0);
    }
    g_chmod(path, 0400);
    g_autoptr(Tokens) tokens = tokens_read(path, &error);
    g_assert_no_error(error);
    g_assert_nonnull(tokens);
    g_assert_null(tokens_read(folder, &error));
    g_assert_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE);
    g_unlink(path);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/tokens/find", test_find);
    g_test_add_func("/http/tokens/bad-lines", test_bad_lines);
    g_test_add_func("/http/tokens/file-mode", test_file_mode);
    return g_test_run();
}
