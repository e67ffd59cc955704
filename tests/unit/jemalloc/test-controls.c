/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/controls.h"

#include <glib.h>

static void
test_knows_types(void)
{
    g_assert_cmpint(control_find("stats.allocated")->type, ==, CONTROL_SIZE);
    g_assert_cmpint(control_find("arena.4096.purge")->type, ==, CONTROL_NONE);
    g_assert_cmpint(control_find("version")->type, ==, CONTROL_STRING);
    g_assert_null(control_find("arena..purge"));
    g_assert_null(control_find("arena.x.purge"));
    g_assert_null(control_find("arena.0.purge.x"));
    g_assert_null(control_find("arena.0.purg"));
    g_assert_null(control_find(""));
}

/* The short list of the design, whole, and nothing that is not on it. */
static void
test_writes_only_the_short_list(void)
{
    static const struct {
        const char *name;
        ControlType type;
    } allowed[] = {
        {"prof.active", CONTROL_BOOL},
        {"prof.reset", CONTROL_SIZE},
        {"prof.reset", CONTROL_NONE},
        {"prof.gdump", CONTROL_BOOL},
        {"prof.thread_active_init", CONTROL_BOOL},
        {"background_thread", CONTROL_BOOL},
        {"max_background_threads", CONTROL_SIZE},
        {"arena.0.purge", CONTROL_NONE},
        {"arena.4096.decay", CONTROL_NONE},
        {"arena.3.dirty_decay_ms", CONTROL_SSIZE},
        {"arenas.dirty_decay_ms", CONTROL_SSIZE},
        {"arena.3.muzzy_decay_ms", CONTROL_SSIZE},
        {"arenas.muzzy_decay_ms", CONTROL_SSIZE},
        {"epoch", CONTROL_U64},
    };
    static const char *const refused[] = {
        "arena.0.reset",       "arena.0.destroy",       "arena.0.dss",
        "arenas.create",       "arenas.purge",          "prof.prefix",
        "prof.log_start",      "prof.log_stop",         "thread.prof.active",
        "thread.prof.name",    "thread.tcache.enabled", "thread.arena",
        "stats.mutexes.reset", "tcache.flush",          "opt.prof",
        "config.prof",         "stats.allocated",       "experimental.prof_recent.alloc_max",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(allowed); i++) {
        g_assert_true(control_may_write(allowed[i].name, allowed[i].type));
        g_assert_false(control_may_write(allowed[i].name, CONTROL_UNSIGNED)); /* the type of none of them */
    }
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        for (int type = CONTROL_NONE; type <= CONTROL_STRING; type++)
            g_assert_false(control_may_write(refused[i], (ControlType)type));
}

static void
test_reads_nothing_that_acts(void)
{
    static const char *const refused[] = {
        "arenas.create",
        "arenas.extend",
        "tcache.create",
        "prof.log_stop",
        "stats.mutexes.reset",
        "thread.peak.reset",
        "arena.0.name",
        "stats.arenas.0.name",
        "arena.0.purge",
        "arena.0.reset",
        "prof.dump",
        "arenas.lookup",
        "experimental.arenas_create_ext",
        "experimental.utilization.query",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        for (int type = CONTROL_NONE; type <= CONTROL_STRING; type++)
            g_assert_false(control_may_read(refused[i], (ControlType)type));
    g_assert_true(control_may_read("stats.allocated", CONTROL_SIZE));
    g_assert_true(control_may_read("stats.arenas.0.bins.3.nmalloc", CONTROL_U64)); /* no row, and harmless */
}

/* Not even to a name chosen by jemalloc, at which there may be a link. */
static void
test_a_dump_goes_to_no_file_of_a_clients(void)
{
    for (int type = CONTROL_NONE; type <= CONTROL_STRING; type++)
        g_assert_false(control_may_write("prof.dump", (ControlType)type));
}

/* A value that is not a string must not be followed as a pointer. */
static void
test_strings_are_strings(void)
{
    g_assert_true(control_may_read("version", CONTROL_STRING));
    g_assert_false(control_may_read("version", CONTROL_U64));
    g_assert_false(control_may_read("stats.allocated", CONTROL_STRING));
    g_assert_false(control_may_read("no.such.control", CONTROL_STRING));
}

static void
test_judges_names(void)
{
    g_assert_true(control_name_is_sound("stats.arenas.0.bins.3.nmalloc"));
    g_assert_false(control_name_is_sound(""));
    g_assert_false(control_name_is_sound("."));
    g_assert_false(control_name_is_sound(".epoch"));
    g_assert_false(control_name_is_sound("epoch."));
    g_assert_false(control_name_is_sound("arena..purge"));
    g_assert_false(control_name_is_sound("arena.-1.purge"));
    g_assert_false(control_name_is_sound("epoch\n"));
    g_assert_true(control_name_is_sound("opt.malloc_conf.global_var_2_conf_harder"));
}

/* jemalloc takes "0x" for 0: by such a name a client would get past what the table says of the true one. */
static void
test_a_name_has_one_spelling(void)
{
    static const char *const refused[] = {
        "arena.0x.name", "stats.arenas.0_.name", "arena.4096a.purge", "arenas.bin.0x.size", "arena.0x",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        g_assert_false(control_name_is_sound(refused[i]));
}

static void
test_knows_the_profiler(void)
{
    g_assert_true(control_is_profiling("prof.active"));
    g_assert_true(control_is_profiling("thread.prof.name"));
    g_assert_false(control_is_profiling("opt.prof_active"));
    g_assert_false(control_is_profiling("config.prof"));
    g_assert_false(control_is_profiling("stats.mutexes.prof.num_ops"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jemalloc/controls/knows-types", test_knows_types);
    g_test_add_func("/jemalloc/controls/writes-only-the-short-list", test_writes_only_the_short_list);
    g_test_add_func("/jemalloc/controls/reads-nothing-that-acts", test_reads_nothing_that_acts);
    g_test_add_func("/jemalloc/controls/dump-without-a-name", test_a_dump_goes_to_no_file_of_a_clients);
    g_test_add_func("/jemalloc/controls/strings-are-strings", test_strings_are_strings);
    g_test_add_func("/jemalloc/controls/judges-names", test_judges_names);
    g_test_add_func("/jemalloc/controls/one-spelling", test_a_name_has_one_spelling);
    g_test_add_func("/jemalloc/controls/knows-the-profiler", test_knows_the_profiler);
    return g_test_run();
}
