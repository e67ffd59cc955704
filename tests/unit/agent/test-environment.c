/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/environment.h"

#include <glib.h>
#include <string.h>

static const char *const variables[] = {"JESCOPE",          "JESCOPE_ONLY", "JESCOPE_DEBUG",     "JESCOPE_SOCKET_DIR",
                                        "JESCOPE_CHILDREN", "MALLOC_CONF",  "_RJEM_MALLOC_CONF", "XDG_RUNTIME_DIR"};

static Environment
read_with(const char *name, const char *value)
{
    Environment environment;
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    if (name != NULL)
        g_setenv(name, value, TRUE);
    environment_read(&environment);
    return environment;
}

static void
test_defaults(void)
{
    Environment environment = read_with(NULL, NULL);
    g_assert_true(environment.wanted);
    g_assert_false(environment.debug);
    g_assert_cmpstr(environment.socket_directory, ==, "");
    g_assert_cmpstr(environment.runtime_directory, ==, "");
}

static void
test_off(void)
{
    g_assert_false(read_with("JESCOPE", "off").wanted);
    g_assert_true(read_with("JESCOPE", "on").wanted);
}

static void
test_without_children(void)
{
    g_assert_false(read_with(NULL, NULL).childless);
    g_assert_false(read_with("JESCOPE_CHILDREN", "on").childless);
    Environment environment = read_with("JESCOPE_CHILDREN", "off");
    g_assert_true(environment.wanted && environment.childless);
    g_assert_true(environment_given(&environment, NULL, NULL));
    g_assert_true(environment.childless);
}

static void
test_only_some_programs(void)
{
    g_assert_true(read_with("JESCOPE_ONLY", "test-agent-environment").wanted);
    g_assert_true(read_with("JESCOPE_ONLY", "a,test-agent-envi").wanted); /* as the kernel cuts it */
    g_assert_false(read_with("JESCOPE_ONLY", "test-agent").wanted);
    g_assert_false(read_with("JESCOPE_ONLY", "").wanted);
}

static void
test_remembers_what_jemalloc_was_told(void)
{
    read_with(NULL, NULL);
    g_assert_null(environment_malloc_conf(""));
    read_with("MALLOC_CONF", "prof:true");
    g_assert_cmpstr(environment_malloc_conf(""), ==, "prof:true");
    g_assert_null(environment_malloc_conf("_rjem_"));
    g_autofree char *text = g_strnfill(300, 'x');
    read_with("_RJEM_MALLOC_CONF", text);
    g_assert_cmpuint(strlen(environment_malloc_conf("_rjem_")), ==, 255);
    g_assert_null(environment_malloc_conf(""));
    g_assert_null(environment_malloc_conf("unheard_of_"));
}

static void
test_lists(void)
{
    g_assert_true(environment_lists("a,bc,d", "bc"));
    g_assert_true(environment_lists(",,a", "a"));
    g_assert_false(environment_lists("a,bc,d", "b"));
    g_assert_false(environment_lists("a,bc,d", ""));
    g_assert_false(environment_lists("", "a"));
}

/* What `run` hands to jescope's sampler. One word that is wrong, and nothing is wished for. */
static void
test_sampler(void)
{
    static const char *const bad[] = {
        "active:maybe", "lg_sample:64", "lg_sample:", "memory:99999999999", "active:true;memory", "lg_sample:12a",
        "active",       "memory:1MiB",  "what:1",     "active:true,what:1"};
    SamplerWish wish;
    g_assert_true(environment_sampler("active:true,lg_sample:16,memory:1048576", &wish));
    g_assert_true(wish.active);
    g_assert_cmpuint(wish.period, ==, 17);
    g_assert_cmpuint(wish.memory, ==, 1 << 20);
    g_assert_true(environment_sampler("", &wish));
    g_assert_false(wish.active);
    g_assert_cmpuint(wish.period + wish.memory, ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(environment_sampler(bad[i], &wish));
        g_assert_false(wish.active);
    }
    g_assert_true(read_with("JESCOPE_SAMPLER", "active:true").sampler.active);
    g_assert_false(read_with("JESCOPE_SAMPLER", "active:true").bad_sampler);
    g_assert_true(read_with("JESCOPE_SAMPLER", "active:false").bad_sampler);
}

static void
test_directories(void)
{
    g_autofree char *longest = g_strnfill(DIRECTORY_MAX - 1, '/');
    g_autofree char *too_long = g_strnfill(DIRECTORY_MAX, '/');
    g_assert_cmpstr(read_with("JESCOPE_SOCKET_DIR", "/run/x").socket_directory, ==, "/run/x");
    g_assert_cmpstr(read_with("XDG_RUNTIME_DIR", "/run/user/1").runtime_directory, ==, "/run/user/1");
    g_assert_cmpstr(read_with("JESCOPE_SOCKET_DIR", longest).socket_directory, ==, longest);
    g_assert_cmpstr(read_with("JESCOPE_SOCKET_DIR", too_long).socket_directory, ==, "");
    g_assert_cmpstr(read_with("JESCOPE_SOCKET_DIR", "relative").socket_directory, ==, "");
}

static void
test_given(void)
{
    Environment environment = read_with("JESCOPE", "off");
    g_assert_false(environment_given(&environment, "relative", NULL));
    g_assert_false(environment.wanted);
    g_assert_true(environment_given(&environment, "/run/x", "/run/user/1"));
    g_assert_true(environment.wanted);
    g_assert_cmpstr(environment.socket_directory, ==, "/run/x");
    g_assert_cmpstr(environment.runtime_directory, ==, "/run/user/1");
    g_assert_true(environment_given(&environment, NULL, ""));
    g_assert_cmpstr(environment.socket_directory, ==, "");
}

static void
test_debug(void)
{
    g_assert_true(read_with("JESCOPE_DEBUG", "1").debug);
    g_assert_false(read_with("JESCOPE_DEBUG", "0").debug);
    g_assert_false(read_with("JESCOPE_DEBUG", "").debug);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/environment/defaults", test_defaults);
    g_test_add_func("/agent/environment/off", test_off);
    g_test_add_func("/agent/environment/without-children", test_without_children);
    g_test_add_func("/agent/environment/only-some-programs", test_only_some_programs);
    g_test_add_func("/agent/environment/lists", test_lists);
    g_test_add_func("/agent/environment/remembers-what-jemalloc-was-told", test_remembers_what_jemalloc_was_told);
    g_test_add_func("/agent/environment/sampler", test_sampler);
    g_test_add_func("/agent/environment/directories", test_directories);
    g_test_add_func("/agent/environment/given", test_given);
    g_test_add_func("/agent/environment/debug", test_debug);
    return g_test_run();
}
