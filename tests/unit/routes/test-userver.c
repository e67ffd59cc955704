/* SPDX-License-Identifier: Apache-2.0 */
/* Names in comments are rows of the list of promised behaviours (docs/dialects.md). */
#include "fake-host.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static const char prefix[] = "/service/jemalloc/prof/";

static void
assert_command(const char *command, const char *query, unsigned status, const char *body)
{
    g_autofree char *path = g_strconcat(prefix, command, NULL);
    const RouteReply *reply = fake_post(path, query, "");
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_cmpstr(reply->content_type, ==, "application/octet-stream"); /* C21 */
    g_assert_cmpstr(fake_body(), ==, body);
}

static void
test_commands(void)
{
    static const struct {
        const char *command, *query, *body, *written;
    } rows[] = {
        {"enable", "", "OK\n", "prof.active=1 "},                               /* C1 */
        {"disable", "", "OK\n", "prof.active=0 "},                              /* C3 */
        {"dump", "", "OK\n", "own file=0 "},                                    /* C5 */
        {"stat", "", "statistics \n", ""},                                      /* C8 */
        {"bg_threads_set_max", "count=3", "OK\n", "max_background_threads=3 "}, /* C9 */
        {"bg_threads_set_max", "count=%2B3", "OK\n", "max_background_threads=3 "},
        {"bg_threads_enable", "", "OK\n", "background_thread=1 "}, /* C15 */
        {"bg_threads_disable", "", "OK\n", "background_thread=0 "},
        {"no_such", "", "Unsupported command", ""}, /* C16 */
        {"enable/", "", "OK\n", "prof.active=1 "},  /* C22 */
        {"", "", "Unsupported command", ""},        /* C18 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fake_reset();
        assert_command(rows[i].command, rows[i].query, 200, rows[i].body);
        g_assert_cmpstr(fake.written, ==, rows[i].written);
    }
}

static void
test_a_dump_is_kept_too(void)
{
    fake_reset();
    assert_command("dump", "", 200, "OK\n");
    g_assert_cmpuint(fake.n_dumps, ==, 1);
    fake.write_result = OUTCOME_CONTROL_FAILED;
    assert_command("dump", "", 200, "mallctl() returned error: Bad address\n"); /* C6 */
    g_assert_cmpuint(fake.n_dumps, ==, 1);
}

static void
test_without_profiling(void)
{
    static const struct {
        const char *version;
        uint32_t without;
        const char *command, *body;
    } rows[] = {
        {"5.2.1-0-g1", WIRE_FLAG_OPT_PROF, "enable", "OK\n"}, /* C2 */
        {"5.3.0-0-g1", WIRE_FLAG_OPT_PROF, "enable", "mallctl() returned error: No such file or directory\n"},
        {"5.3.0-0-g1", WIRE_FLAG_OPT_PROF, "disable", "OK\n"},
        {"5.2.1-0-g1", WIRE_FLAG_OPT_PROF, "dump", "mallctl() returned error: Bad address\n"}, /* C7 */
        {"5.3.0-0-g1", WIRE_FLAG_OPT_PROF, "dump", "mallctl() returned error: No such file or directory\n"},
        {"5.2.1-0-g1", WIRE_FLAG_CONFIG_PROF, "enable",
         "mallctl() returned error: No such file or directory\n"}, /* C4 */
        {"5.2.1-0-g1", WIRE_FLAG_CONFIG_PROF, "disable", "mallctl() returned error: No such file or directory\n"},
        {"5.2.1-0-g1", WIRE_FLAG_CONFIG_PROF, "dump", "mallctl() returned error: No such file or directory\n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fake_reset();
        strcpy(fake.hello.jemalloc_version, rows[i].version);
        fake.hello.flags &= ~rows[i].without;
        assert_command(rows[i].command, "", 200, rows[i].body);
        g_assert_cmpstr(fake.written, ==, "");
    }
}

static void
test_counts(void)
{
#define REFUSAL(why, text)                                                                                             \
    "invalid 'count' value: utils::FromString error: \"" why "\" while converting \"" text "\" to unsigned long"
    static const struct {
        const char *query, *body;
    } rows[] = {
        {"", "missing 'count' argument"},                                                    /* C12 */
        {"count=abc", REFUSAL("no number found", "abc")},                                    /* C13 */
        {"count=12x", REFUSAL("extra junk at the end of the string is not allowed", "12x")}, /* C14 */
        {"count=-1", REFUSAL("overflow", "-1")},
        {"count=99999999999999999999", REFUSAL("overflow", "99999999999999999999")},
        {"count=%201", REFUSAL("leading spaces are not allowed", " 1")},
        {"count=1%20", REFUSAL("trailing spaces are not allowed", "1 ")},
        {"count=", REFUSAL("empty string", "")},
        {"count", REFUSAL("empty string", "")},
    };
    fake_reset();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_command("bg_threads_set_max", rows[i].query, 400, rows[i].body);
    fake.reachable = OUTCOME_NO_JEMALLOC; /* the argument is looked at first */
    assert_command("bg_threads_set_max", "", 400, "missing 'count' argument");
}

/* C11: a value that would crash the process later is refused as by a newer jemalloc. */
static void
test_no_threads_at_all(void)
{
    static const char *const versions[] = {"5.1.0-0-g1", "5.3.0-0-g1", "unreadable"};
    for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
        fake_reset();
        strcpy(fake.hello.jemalloc_version, versions[i]);
        assert_command("bg_threads_set_max", "count=0", 200, "mallctl() returned error: Invalid argument\n");
        assert_command("bg_threads_set_max", "count=-0", 200, "mallctl() returned error: Invalid argument\n");
        g_assert_cmpstr(fake.written, ==, "");
    }
    fake_reset();
    fake.write_result = OUTCOME_CONTROL_FAILED;
    fake.failure.error = EINVAL;
    strcpy(fake.hello.jemalloc_version, "5.3.1-0-g1");
    assert_command("bg_threads_set_max", "count=0", 200, "mallctl() returned error: Invalid argument\n");
    assert_command("bg_threads_set_max", "count=99", 200, "mallctl() returned error: Invalid argument\n"); /* C10 */
}

static void
test_without_jemalloc(void)
{
    static const char *const commands[] = {"enable", "disable", "dump", "bg_threads_enable", "bg_threads_disable"};
    fake_reset();
    fake.reachable = OUTCOME_NO_JEMALLOC;
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        assert_command(commands[i], "", 200, "mallctl() returned error: Operation not supported\n"); /* C19 */
    assert_command("stat", "", 200, "(libjemalloc support is disabled)");                            /* C20 */
    assert_command("no_such", "", 200, "Unsupported command");
}

static void
test_other_requests(void)
{
    fake_reset();
    g_assert_cmpuint(fake_request("GET", "/service/jemalloc/prof/enable", "")->status, ==, 405); /* C17 */
    g_assert_cmpstr(fake_body(), ==, "");
    g_assert_cmpuint(fake_post("/service/jemalloc/prof", "", "")->status, ==, 404); /* C18 */
    g_assert_cmpstr(fake_body(), ==, "");
    g_assert_cmpuint(fake_post("/service/jemalloc/prof/a/b", "", "")->status, ==, 404);
    g_assert_cmpstr(fake.written, ==, "");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/userver/commands", test_commands);
    g_test_add_func("/routes/userver/a-dump-is-kept-too", test_a_dump_is_kept_too);
    g_test_add_func("/routes/userver/without-profiling", test_without_profiling);
    g_test_add_func("/routes/userver/counts", test_counts);
    g_test_add_func("/routes/userver/no-threads-at-all", test_no_threads_at_all);
    g_test_add_func("/routes/userver/without-jemalloc", test_without_jemalloc);
    g_test_add_func("/routes/userver/other-requests", test_other_requests);
    return g_test_run();
}
