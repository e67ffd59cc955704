/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/own-headroom.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>

#define MIB ((guint64)1 << 20)

/* Files of control groups, and a list of the groups of a process. */
static const struct {
    const char *file, *text;
} files[] = {
    {"memory/memory.limit_in_bytes", "9223372036854771712\n"},
    {"memory/memory.usage_in_bytes", "104857600\n"},
    {"memory/memory.stat", "cache 1\n"},
    {"memory/pod/memory.limit_in_bytes", "67108864\n"}, /* 64 MiB, of which 60 are used, 8 of them page cache */
    {"memory/pod/memory.usage_in_bytes", "62914560\n"},
    {"memory/pod/memory.stat", "cache 9\ninactive_file 1\ntotal_inactive_file 8388608\ntotal_x 2\n"},
    {"memory/pod/one/memory.limit_in_bytes", "52428800\n"}, /* 50 MiB, of which 40 are used */
    {"memory/pod/one/memory.usage_in_bytes", "41943040\n"},
    {"memory/pod/one/memory.stat", "\n"},
    {"a.slice/b.service/memory.current", "3145728\n"}, /* 3 MiB of no limit, below 10 MiB of which 7 are used */
    {"a.slice/b.service/memory.max", "max\n"},
    {"a.slice/b.service/memory.high", "max\n"},
    {"a.slice/memory.current", "7340032\n"},
    {"a.slice/memory.max", "max\n"},
    {"a.slice/memory.high", "10485760\n"},
    {"full/memory.current", "20971520\n"}, /* more than there is */
    {"full/memory.max", "10485760\n"},
    {"one", "4:cpuset:/\n3:cpu,memory:/pod/one\n0::/pod/one\n"},
    {"pod", "3:memory:/pod\n"},
    {"root", "3:memory:/\n"},
    {"service", "1:name=systemd:/a.slice\n0::/a.slice/b.service\n"},
    {"over", "0::/full\n"},
    {"elsewhere", "3:memory:/../pod\n0::/../full\n"},
    {"none", "3:memory:/none\nnonsense\n:\n0:\n"},
    {"empty", ""},
};

static void
make_files(const char *folder)
{
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i].file, NULL);
        g_autofree char *directory = g_path_get_dirname(path);
        g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, files[i].text, -1, NULL));
    }
}

/* The deepest first. */
static void
remove_all(const char *path)
{
    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *below = g_build_filename(path, name, NULL);
        remove_all(below);
    }
    g_remove(path);
}

static void
test_read(void)
{
    static const struct {
        const char *file;
        guint64 left, limit;
    } rows[] = {
        {"one", 10 * MIB, 50 * MIB},
        {"pod", 12 * MIB, 64 * MIB},
        {"root", G_MAXUINT64, G_MAXUINT64},
        {"service", 3 * MIB, 10 * MIB},
        {"over", 0, 10 * MIB},
        {"elsewhere", G_MAXUINT64, G_MAXUINT64},
        {"none", G_MAXUINT64, G_MAXUINT64},
        {"empty", G_MAXUINT64, G_MAXUINT64},
        {"missing", G_MAXUINT64, G_MAXUINT64},
    };
    g_autofree char *folder = g_dir_make_tmp("headroom-XXXXXX", NULL);
    make_files(folder);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *file = g_build_filename(folder, rows[i].file, NULL);
        const OwnRoom room = own_headroom_read(file, folder);
        g_test_message("%s", rows[i].file);
        g_assert_cmpuint(room.left, ==, rows[i].left);
        g_assert_cmpuint(room.limit, ==, rows[i].limit);
    }
    remove_all(folder);
}

static void
test_judge(void)
{
    const OwnRoom room = {.left = 10 * MIB, .limit = 50 * MIB};
    Failure failure = {0};
    g_assert_cmpint(own_headroom_judge(&room, 10 * MIB, &failure), ==, OUTCOME_DONE);
    g_assert_cmpint(own_headroom_judge(&room, 33 * MIB, &failure), ==, OUTCOME_NO_HEADROOM);
    g_assert_cmpint(failure.error, ==, ENOMEM);
    g_assert_nonnull(g_strstr_len(failure.why, -1, "may take 33.0 MiB"));
    g_assert_nonnull(g_strstr_len(failure.why, -1, "has 10.0 MiB left of 50.0 MiB"));
    g_assert_cmpint(own_headroom_judge(&room, 33 * MIB, NULL), ==, OUTCOME_NO_HEADROOM);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/own-headroom/read", test_read);
    g_test_add_func("/own-headroom/judge", test_judge);
    return g_test_run();
}
