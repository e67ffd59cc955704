/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-memory.h"

#include <glib/gstdio.h>
#include <string.h>

/* A made-up /proc and /sys/fs/cgroup. */
typedef struct {
    char *root;
    GPtrArray *made; /* paths, in the order they were made */
    ProcessMemory memory;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->root = g_dir_make_tmp("jescope-memory-XXXXXX", NULL);
    fixture->made = g_ptr_array_new_with_free_func(g_free);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    for (guint i = fixture->made->len; i-- > 0;)
        g_assert_cmpint(g_remove(fixture->made->pdata[i]), ==, 0);
    g_assert_cmpint(g_rmdir(fixture->root), ==, 0);
    g_ptr_array_unref(fixture->made);
    g_free(fixture->root);
}

static void
make_directory(Fixture *fixture, const char *path)
{
    if (g_mkdir(path, 0700) == 0)
        g_ptr_array_add(fixture->made, g_strdup(path));
}

static void
put(Fixture *fixture, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(fixture->root, name, NULL);
    for (char *slash = path + strlen(fixture->root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        make_directory(fixture, path);
        *slash = '/';
    }
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_ptr_array_add(fixture->made, g_strdup(path));
}

static const ProcessMemory *
read_memory(Fixture *fixture)
{
    g_autofree char *proc = g_build_filename(fixture->root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(fixture->root, "cgroup", NULL);
    process_memory_read(proc, cgroups, &(Process){.pid = 42}, &fixture->memory);
    return &fixture->memory;
}

static void
test_rollup(Fixture *fixture, gconstpointer data)
{
    put(fixture, "proc/42/smaps_rollup",
        "55a0-7ffc ---p 00000000 00:00 0 [rollup]\nRss:    1000 kB\nPss:   500 kB\nPss_Anon:   7 kB\nSwap:     3 "
        "kB\nSwapPss:  2 kB\n");
    g_assert_cmpuint(read_memory(fixture)->rss, ==, 1000 * 1024);
    g_assert_cmpuint(read_memory(fixture)->pss, ==, 500 * 1024);
    g_assert_cmpuint(read_memory(fixture)->swap, ==, 3 * 1024);
    g_assert_cmpuint(read_memory(fixture)->group.current, ==, G_MAXUINT64);
}

/* A limit of a group above counts if it is lower. */
static void
test_version_2(Fixture *fixture, gconstpointer data)
{
    put(fixture, "proc/42/cgroup", "0::/a/b\n");
    put(fixture, "cgroup/a/memory.max", "5000\n");
    put(fixture, "cgroup/a/b/memory.max", "9000\n");
    put(fixture, "cgroup/a/b/memory.current", "1234\n");
    put(fixture, "cgroup/a/b/memory.stat", "anon 900\nshmem 20\n");
    g_assert_cmpuint(read_memory(fixture)->group.current, ==, 1234);
    g_assert_cmpuint(read_memory(fixture)->group.max, ==, 5000);
    g_assert_cmpuint(fixture->memory.charges.anonymous, ==, 900);
    g_assert_cmpuint(fixture->memory.charges.shmem, ==, 20);
    g_assert_cmpuint(fixture->memory.charges.kernel, ==, G_MAXUINT64);
}

static void
test_version_2_without_limit(Fixture *fixture, gconstpointer data)
{
    put(fixture, "proc/42/cgroup", "0::/a\n");
    put(fixture, "cgroup/a/memory.max", "max\n");
    put(fixture, "cgroup/a/memory.current", "1234\n");
    g_assert_cmpuint(read_memory(fixture)->group.current, ==, 1234);
    g_assert_cmpuint(read_memory(fixture)->group.max, ==, G_MAXUINT64);
}

/* Version 2 is mounted beside it for names only. */
static void
test_version_1(Fixture *fixture, gconstpointer data)
{
    put(fixture, "proc/42/cgroup", "9:name=systemd:/\n4:cpu,memory:/x\n0::/\n");
    put(fixture, "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(fixture, "cgroup/memory/x/memory.limit_in_bytes", "7000\n");
    put(fixture, "cgroup/memory/x/memory.usage_in_bytes", "77\n");
    g_assert_cmpuint(read_memory(fixture)->group.current, ==, 77);
    g_assert_cmpuint(read_memory(fixture)->group.max, ==, 7000);
}

static void
test_version_1_without_limit(Fixture *fixture, gconstpointer data)
{
    put(fixture, "proc/42/cgroup", "4:memory:/\n");
    put(fixture, "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(fixture, "cgroup/memory/memory.usage_in_bytes", "77\n");
    g_assert_cmpuint(read_memory(fixture)->group.current, ==, 77);
    g_assert_cmpuint(read_memory(fixture)->group.max, ==, G_MAXUINT64);
}

static void
test_gone(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpuint(read_memory(fixture)->rss, ==, G_MAXUINT64);
    g_assert_cmpuint(fixture->memory.anonymous, ==, G_MAXUINT64);
    g_assert_cmpuint(fixture->memory.group.max, ==, G_MAXUINT64);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*run)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/process-memory/rollup", test_rollup},
        {"/process-memory/version-2", test_version_2},
        {"/process-memory/version-2-without-limit", test_version_2_without_limit},
        {"/process-memory/version-1", test_version_1},
        {"/process-memory/version-1-without-limit", test_version_1_without_limit},
        {"/process-memory/gone", test_gone},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
    return g_test_run();
}
