/* SPDX-License-Identifier: Apache-2.0 */
/* Held files are bounded, and no user's displace those of another who has less. */
#include "service/held-files.h"

#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALICE = 1001, BOB = 1002, BYTES = 1000 };

static gboolean
has_room(guint64 held)
{
    return TRUE;
}

static HeldFiles *
new_files(void)
{
    return held_files_new(&(HeldFilesLimits){HELD_FILES_MAX, BYTES, has_room});
}

static void
add(HeldFiles *trees, const char *key, guint64 user, off_t size)
{
    int fd = memfd_create("page-tree", MFD_CLOEXEC);

    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    held_files_add(trees, key, user, fd);
    close(fd);
}

/* The bytes of the one for KEY; -1: there is none. */
static off_t
size_of(HeldFiles *trees, const char *key)
{
    struct stat status;
    int fd = held_files_find(trees, key);

    if (fd < 0)
        return -1;
    g_assert_cmpint(fstat(fd, &status), ==, 0);
    close(fd);
    return status.st_size;
}

static void
test_least_recently_used(void)
{
    HeldFiles *trees = new_files();

    add(trees, "a", ALICE, 400);
    add(trees, "b", ALICE, 400);
    g_assert_cmpint(size_of(trees, "a"), ==, 400);
    add(trees, "c", ALICE, 400);
    g_assert_cmpint(size_of(trees, "a"), ==, 400);
    g_assert_cmpint(size_of(trees, "b"), ==, -1);
    g_assert_cmpint(size_of(trees, "c"), ==, 400);
    add(trees, "c", ALICE, 300);
    g_assert_cmpint(size_of(trees, "c"), ==, 300);
    add(trees, "larger than all", ALICE, BYTES + 1);
    g_assert_cmpint(size_of(trees, "larger than all"), ==, -1);
    g_assert_cmpint(size_of(trees, "a"), ==, 400);
    held_files_free(trees);
}

static void
test_users(void)
{
    HeldFiles *trees = new_files();

    add(trees, "bob's", BOB, 300);
    for (guint i = 0; i < 100; i++) {
        g_autofree char *key = g_strdup_printf("alice's %u", i);
        add(trees, key, ALICE, 350);
    }
    g_assert_cmpint(size_of(trees, "bob's"), ==, 300);
    g_assert_cmpint(size_of(trees, "alice's 99"), ==, 350);
    g_assert_cmpint(size_of(trees, "alice's 98"), ==, 350);
    g_assert_cmpint(size_of(trees, "alice's 97"), ==, -1);
    held_files_free(trees);
}

/* A file of few bytes counts as much as another where there are too many. */
static void
test_many_small_ones(void)
{
    HeldFiles *files = new_files();

    add(files, "bob's", BOB, 300);
    for (guint i = 0; i < 2 * HELD_FILES_MAX; i++) {
        g_autofree char *key = g_strdup_printf("alice's %u", i);
        add(files, key, ALICE, 1);
    }
    g_assert_cmpint(size_of(files, "bob's"), ==, 300);
    held_files_free(files);
}

/* A user elsewhere is none of this machine. */
static void
test_clients_elsewhere(void)
{
    HeldFiles *files = new_files();

    add(files, "from elsewhere", (G_GUINT64_CONSTANT(1) << 32) + BOB, 200);
    add(files, "bob's", BOB, 500);
    add(files, "more", BOB, 400);
    g_assert_cmpint(size_of(files, "from elsewhere"), ==, 200);
    g_assert_cmpint(size_of(files, "bob's"), ==, -1);
    held_files_free(files);
}

static void
test_count_and_time(void)
{
    HeldFiles *trees = new_files();

    for (guint i = 0; i <= HELD_FILES_MAX; i++) {
        g_autofree char *key = g_strdup_printf("%u", i);
        add(trees, key, ALICE, 1);
    }
    g_assert_cmpint(size_of(trees, "0"), ==, -1);
    g_assert_cmpint(size_of(trees, "1"), ==, 1);
    held_files_expire(trees, g_get_monotonic_time());
    g_assert_cmpint(size_of(trees, "2"), ==, 1);
    held_files_expire(trees, g_get_monotonic_time() + (HELD_FILES_IDLE_S + 1) * G_USEC_PER_SEC);
    g_assert_cmpint(size_of(trees, "2"), ==, -1);
    held_files_free(trees);
}

static gboolean
has_little_room(guint64 held)
{
    return held <= BYTES / 4;
}

/* Where memory is short, what is there stays, but nothing is added, nor the former file of the same key offered. */
static void
test_little_memory(void)
{
    HeldFiles *files = held_files_new(&(HeldFilesLimits){HELD_FILES_MAX, BYTES, has_little_room});

    add(files, "a", ALICE, 100);
    add(files, "b", ALICE, 100);
    add(files, "c", ALICE, 100);
    g_assert_cmpint(size_of(files, "c"), ==, -1);
    add(files, "b", ALICE, 200);
    g_assert_cmpint(size_of(files, "b"), ==, -1);
    add(files, "bob's", BOB, 200);
    g_assert_cmpint(size_of(files, "bob's"), ==, 200);
    g_assert_cmpint(size_of(files, "a"), ==, 100);
    held_files_free(files);
}

/* What is kept outlives its time and the need for room, and nothing else of its user does. */
static void
test_kept(void)
{
    HeldFiles *files = new_files();

    add(files, "kept", ALICE, 250);
    g_assert_cmpint(held_files_keep(files, "kept"), ==, HELD_FILES_DONE);
    g_assert_cmpint(held_files_keep(files, "kept"), ==, HELD_FILES_DONE);
    g_assert_cmpint(held_files_keep(files, "never added"), ==, HELD_FILES_NONE);
    add(files, "other", ALICE, 600);
    add(files, "third", BOB, 300);
    g_assert_cmpint(size_of(files, "other"), ==, -1);
    g_assert_cmpint(size_of(files, "third"), ==, 300);
    add(files, "too large beside it", BOB, 800);
    g_assert_cmpint(size_of(files, "too large beside it"), ==, -1);
    held_files_expire(files, g_get_monotonic_time() + (HELD_FILES_IDLE_S + 1) * G_USEC_PER_SEC);
    g_assert_cmpint(size_of(files, "third"), ==, -1);
    g_assert_cmpint(size_of(files, "kept"), ==, 250);
    g_assert_true(held_files_remove(files, "kept"));
    g_assert_false(held_files_remove(files, "kept"));
    g_assert_cmpint(size_of(files, "kept"), ==, -1);
    held_files_free(files);
}

/* Whoever has most loses it, also if that is what has just come. */
static void
test_too_much_of_one_user(void)
{
    HeldFiles *files = new_files();

    add(files, "bob's", BOB, 300);
    add(files, "alice's", ALICE, 800);
    g_assert_cmpint(size_of(files, "bob's"), ==, 300);
    g_assert_cmpint(size_of(files, "alice's"), ==, -1);
    held_files_free(files);
}

/* What is kept leaves others room: of bytes, and of files. */
static void
test_kept_by_many(void)
{
    HeldFiles *files = new_files();
    guint kept = 0;

    add(files, "alice's", ALICE, 251);
    g_assert_cmpint(held_files_keep(files, "alice's"), ==, HELD_FILES_CROWDED);
    for (guint64 user = BOB; user < BOB + 5; user++) {
        g_autofree char *key = g_strdup_printf("of %" G_GUINT64_FORMAT, user);
        add(files, key, user, 200);
        kept += held_files_keep(files, key) == HELD_FILES_DONE;
    }
    g_assert_cmpuint(kept, ==, 2);
    add(files, "alice's", ALICE, 200);
    g_assert_cmpint(size_of(files, "alice's"), ==, 200);
    held_files_free(files);
}

static void
test_many_kept(void)
{
    HeldFiles *files = new_files();
    guint kept = 0;

    for (guint i = 0; i < HELD_FILES_MAX; i++) {
        g_autofree char *key = g_strdup_printf("alice's %u", i);
        add(files, key, ALICE, 1);
        kept += held_files_keep(files, key) == HELD_FILES_DONE;
    }
    g_assert_cmpuint(kept, ==, HELD_FILES_MAX / HELD_FILES_KEPT_OF);
    add(files, "bob's", BOB, 1);
    g_assert_cmpint(size_of(files, "bob's"), ==, 1);
    held_files_free(files);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/held-files/least-recently-used", test_least_recently_used);
    g_test_add_func("/service/held-files/users", test_users);
    g_test_add_func("/service/held-files/many-small-ones", test_many_small_ones);
    g_test_add_func("/service/held-files/clients-elsewhere", test_clients_elsewhere);
    g_test_add_func("/service/held-files/count-and-time", test_count_and_time);
    g_test_add_func("/service/held-files/kept", test_kept);
    g_test_add_func("/service/held-files/kept-by-many", test_kept_by_many);
    g_test_add_func("/service/held-files/many-kept", test_many_kept);
    g_test_add_func("/service/held-files/too-much-of-one-user", test_too_much_of_one_user);
    g_test_add_func("/service/held-files/little-memory", test_little_memory);
    return g_test_run();
}
