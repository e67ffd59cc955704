/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sink.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*meanwhile)(void);

/* In place of the C library's, by which each file ends. */
int
fsync(int fd)
{
    if (meanwhile != NULL)
        meanwhile();
    return (int)syscall(SYS_fsync, fd);
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) directory = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        remove_all(entry);
    }
    g_remove(path);
}

static void
exchange(void)
{
    meanwhile = NULL;
    g_assert_no_errno(rename("out", "moved"));
    g_assert_no_errno(symlink("elsewhere", "out"));
}

static gboolean
is_there(const char *folder, const char *ending)
{
    g_autofree char *path =
        g_strconcat(folder, "/shop/2025-11-22/20251122T080000Z-host1-7-0123456789abcdef", ending, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* By the owner of the directory above, between the two files of a batch: both are in the directory that was checked. */
static void
test_exchanged_meanwhile(void)
{
    const Batch batch = {.dump = {.id = "0123456789abcdef0123456789abcdef",
                                  .service = "shop",
                                  .host = "host1",
                                  .program = "/bin/shop",
                                  .build_id = "ab",
                                  .time = (gint64)1763798400 * G_USEC_PER_SEC,
                                  .pid = 7},
                         .heap = (const guint8 *)"heap",
                         .heap_size = 4};
    const Batch *const batches[] = {&batch};
    const ExportAccess access = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("jescope-directory-XXXXXX", NULL);
    g_autofree char *url = g_strdup_printf("directory://%s/out", folder);
    ExportReply reply = {0};
    g_assert_no_errno(chdir(folder));
    g_assert_no_errno(g_mkdir_with_parents("elsewhere/shop/2025-11-22", 0700));
    g_autoptr(Destination) destination = destination_new(url, &access, &error);
    g_assert_no_error(error);
    gpointer state = destination->sink->new (destination, &error);
    g_assert_no_error(error);
    meanwhile = exchange;
    g_assert_cmpint(destination->sink->send(state, batches, 1, &reply, &error), ==, EXPORT_SENT);
    g_assert_no_error(error);
    g_assert_null(meanwhile);
    g_assert_true(is_there("moved", ".heap.gz") && is_there("moved", ".json"));
    g_assert_false(is_there("elsewhere", ".heap.gz") || is_there("elsewhere", ".json"));
    destination->sink->free(state);
    g_assert_no_errno(chdir("/"));
    remove_all(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/directory/exchanged-meanwhile", test_exchanged_meanwhile);
    return g_test_run();
}
