/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-source.h"

#include "../history/fixture.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void
add_dump(const char *path)
{
    g_autoptr(History) history = fixture_open(path);
    g_auto(HistoryPackedDump) packed = {0};
    RouteDump dump = {.taken_ms = 2000};
    gint64 life = fixture_begin(history, "redis", 1);
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, "heap_v2", 7), ==, 7);
    fixture_add(history, life, G_USEC_PER_SEC, 3);
    g_assert_true(history_dump_pack(fd, &packed, NULL) && history_dump_add_packed(history, life, &packed, &dump, NULL));
    close(fd);
}

static uid_t
owner_of_dump(const char *path)
{
    g_autoptr(GError) error = NULL;
    struct stat status;
    ReplaySource *source = replay_source_new(path, &error);
    g_assert_no_error(error);
    g_autoptr(GArray) dumps = replay_source_dumps(source, "redis", G_MAXINT64, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(dumps->len, ==, 1);
    int fd = replay_source_open_dump(source, &g_array_index(dumps, ReplayDump, 0), &error);
    g_assert_no_error(error);
    g_assert_no_errno(fstat(fd, &status));
    close(fd);
    replay_source_free(source);
    return status.st_uid;
}

/* The dump in another user's history names files of his choice: they are read with his rights. */
static void
test_owner(void)
{
    char *path = fixture_path();
    g_autofree char *directory = g_path_get_dirname(path);
    add_dump(path);
    g_assert_cmpuint(owner_of_dump(path), ==, geteuid());
    if (geteuid() == 0) {
        g_assert_no_errno(chown(path, 4321, (gid_t)-1));
        g_assert_cmpuint(owner_of_dump(path), ==, 4321);
        g_assert_no_errno(chown(path, 0, (gid_t)-1));
        g_assert_no_errno(chown(directory, 4321, (gid_t)-1));
        g_assert_cmpuint(owner_of_dump(path), ==, 65534);
    }
    fixture_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay-source/owner", test_owner);
    return g_test_run();
}
