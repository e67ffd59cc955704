/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/confined.h"
#include "confine/rights.h"
#include "confine/sandbox.h"
#include "fixture.h"
#include "history/handed.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A history with samples of one target, closed. */
static char *
make_history(void)
{
    char *path = fixture_path();
    g_autoptr(History) history = fixture_open(path);
    fixture_add(history, fixture_begin(history, "one", 7), SOME_DAY, 3);
    return path;
}

/* In the child: the status is how many samples there are. */
static int
count_samples(gpointer path, GOutputStream *out, GError **error)
{
    history_take_handed();
    g_autoptr(History) history = history_open(path, HISTORY_READ, error);
    g_autoptr(GPtrArray) samples = history != NULL ? fixture_read(history, "one", HISTORY_ALL_TIME) : NULL;
    return samples != NULL ? (int)samples->len : -1;
}

static int
run(ConfinedWork *work, gpointer data, GError **error)
{
    ConfinedResult result;
    int status = confined_run(&(Confined){.work = work, .data = data}, &result, error);
    g_free(result.words);
    close(result.output);
    return status;
}

/* Another process adds two samples and ends before they are in the file itself. */
static void
leave_a_log(const char *path)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        History *writer = fixture_open(path);
        fixture_add(writer, fixture_begin(writer, "one", 8), SOME_DAY + 1000 * SECOND, 2);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
}

static void
test_read_in_a_confined_process(void)
{
    char *path = make_history();
    g_autoptr(GError) error = NULL;
    history_hand_over(path);
    g_assert_cmpint(run(count_samples, path, &error), ==, 3);
    g_assert_no_error(error);
    leave_a_log(path);
    g_assert_cmpint(run(count_samples, path, &error), ==, 5);
    fixture_remove(path);
}

static void
test_called_by_a_link(void)
{
    char *path = make_history();
    g_autofree char *link = g_strconcat(path, ".link", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(symlink(path, link), ==, 0);
    history_hand_over(link);
    g_assert_cmpint(run(count_samples, link, &error), ==, 3);
    g_unlink(link);
    fixture_remove(path);
}

static void
test_nothing_but_the_file(void)
{
    char *path = make_history();
    char *other = make_history();
    g_autoptr(GError) error = NULL;
    if (!sandbox_is_complete()) {
        g_test_skip("a sanitizer's runtime needs the system calls");
    } else {
        history_hand_over(path);
        g_assert_cmpint(run(count_samples, other, &error), ==, -1);
        g_assert_nonnull(strstr(error->message, "Permission denied"));
    }
    fixture_remove(path);
    fixture_remove(other);
}

static int
write_samples(gpointer path, GOutputStream *out, GError **error)
{
    history_take_handed();
    g_autoptr(History) history = history_open(path, HISTORY_WRITE, error);
    return history != NULL ? 0 : -1;
}

static void
test_read_only(void)
{
    char *path = make_history();
    g_autoptr(GError) error = NULL;
    if (!sandbox_is_complete()) {
        g_test_skip("a sanitizer's runtime needs the system calls");
    } else {
        history_hand_over(path);
        g_assert_cmpint(run(write_samples, path, &error), ==, -1);
    }
    fixture_remove(path);
}

/* SQLite would open, and make, what a link beside the file leads to. */
static void
test_links_beside_the_file(void)
{
    char *path = make_history();
    g_autofree char *log = g_strconcat(path, "-shm", NULL);
    g_autofree char *victim = g_strconcat(path, ".victim", NULL);
    g_autoptr(GError) error = NULL;
    g_unlink(log);
    g_assert_cmpint(symlink(victim, log), ==, 0);
    history_hand_over(path);
    run(count_samples, path, &error);
    g_assert_false(g_file_test(victim, G_FILE_TEST_EXISTS));
    fixture_remove(path);
}

/* The owner of the directory puts a link in its place when the file was found: nothing is made where that leads. */
static void
test_directory_becomes_a_link(void)
{
    char *path = make_history();
    char *victim = make_history();
    g_autofree char *folder = g_path_get_dirname(path), *other = g_path_get_dirname(victim);
    g_autofree char *moved = g_strconcat(folder, ".moved", NULL), *made = g_strconcat(victim, "-shm", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    history_hand_over(path);
    g_assert_cmpint(g_rename(folder, moved), ==, 0);
    g_assert_cmpint(symlink(other, folder), ==, 0);
    g_assert_cmpint(run(count_samples, path, &error), ==, 3);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    g_assert_cmpint(g_unlink(folder), ==, 0);
    g_assert_cmpint(g_rename(moved, folder), ==, 0);
    fixture_remove(path);
    fixture_remove(victim);
}

/* Another name of a file of another user, which the kernel permits where fs.protected_hardlinks is 0. */
static void
test_another_name_beside_the_file(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files that are not the owner's");
        return;
    }
    char *path = make_history();
    g_autofree char *log = g_strconcat(path, "-shm", NULL);
    g_autofree char *victim = g_strconcat(path, ".victim", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(victim, "kept", -1, NULL));
    g_unlink(log);
    g_assert_cmpint(link(victim, log), ==, 0);
    g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
    history_hand_over(path);
    run(count_samples, path, &error);
    g_assert_true(g_file_get_contents(victim, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "kept");
    g_unlink(victim);
    fixture_remove(path);
}

/* A link of another user leads to his own files: not to what only the reader may read. */
static void
test_link_of_another_user(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has links of other users");
        return;
    }
    char *path = make_history();
    g_autofree char *link = g_strconcat(path, ".link", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(symlink(path, link), ==, 0);
    g_assert_cmpint(lchown(link, 65534, 65534), ==, 0);
    history_hand_over(link);
    g_assert_cmpint(run(count_samples, link, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "a link of another user leads there"));
    g_clear_error(&error);
    g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
    history_hand_over(link);
    g_assert_cmpint(run(count_samples, link, &error), ==, 3);
    g_assert_no_error(error);
    g_unlink(link);
    fixture_remove(path);
}

/* The owner of the directory puts another file in the place of the one that was found. */
static void
test_another_file_takes_its_place(void)
{
    char *path = make_history();
    char *other = make_history();
    g_autoptr(GError) error = NULL;
    history_hand_over(path);
    g_assert_cmpint(run(count_samples, path, &error), ==, 3);
    g_assert_cmpint(g_rename(other, path), ==, 0);
    g_assert_cmpint(run(count_samples, path, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "another file has taken its place"));
    fixture_remove(path);
    fixture_remove(other);
}

static uid_t
author_of(const char *path)
{
    history_hand_over(path);
    return history_handed_author();
}

/* Who decides what is read: found with the file, not by its path afterwards. */
static void
test_author(void)
{
    char *path = make_history();
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_cmpuint(author_of(path), ==, geteuid());
    g_assert_cmpint(chmod(folder, 0777), ==, 0);
    g_assert_cmpuint(author_of(path), ==, RIGHTS_NOBODY);
    g_assert_cmpint(chmod(folder, 0700), ==, 0);
    g_assert_cmpint(chmod(path, 0666), ==, 0);
    g_assert_cmpuint(author_of(path), ==, RIGHTS_NOBODY);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(path, 12345, 12345), ==, 0);
        g_assert_cmpuint(author_of(path), ==, 12345);
        g_assert_cmpint(chown(path, 0, 0), ==, 0);
        g_assert_cmpuint(history_handed_author(), ==, 12345);
    }
    fixture_remove(path);
}

/* What a file of a third user beside it holds counts instead of what the history has. */
static void
test_author_of_what_is_beside_it(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    char *path = make_history();
    g_autofree char *index = g_strconcat(path, "-shm", NULL);
    g_autoptr(GError) error = NULL;
    leave_a_log(path);
    g_assert_cmpint(chown(path, 12345, 12345), ==, 0);
    g_assert_cmpint(chown(index, 4321, 4321), ==, 0);
    history_hand_over(path);
    g_assert_cmpint(run(count_samples, path, &error), ==, 5);
    g_assert_cmpuint(history_handed_author(), ==, RIGHTS_NOBODY);
    fixture_remove(path);
}

/* It would decide what is read. */
static void
test_log_of_another_user(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    char *path = make_history();
    g_autofree char *log = g_strconcat(path, "-wal", NULL);
    g_autoptr(GError) error = NULL;
    leave_a_log(path);
    g_assert_cmpint(chown(log, 12345, 12345), ==, 0);
    history_hand_over(path);
    g_assert_cmpint(run(count_samples, path, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "belongs to another user"));
    fixture_remove(path);
}

/* What a query of a file costs is up to whoever made it. */
static void
test_time_for_another_user(void)
{
    char *path = make_history();
    history_hand_over(path);
    g_assert_cmpuint(history_handed_seconds(), ==, 0);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(path, 12345, 12345), ==, 0);
        history_hand_over(path);
        g_assert_cmpuint(history_handed_seconds(), ==, 30);
    }
    fixture_remove(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/history/handed/read-in-a-confined-process", test_read_in_a_confined_process);
    g_test_add_func("/history/handed/called-by-a-link", test_called_by_a_link);
    g_test_add_func("/history/handed/link-of-another-user", test_link_of_another_user);
    g_test_add_func("/history/handed/nothing-but-the-file-is-handed-over", test_nothing_but_the_file);
    g_test_add_func("/history/handed/read-only", test_read_only);
    g_test_add_func("/history/handed/links-beside-the-file-are-not-followed", test_links_beside_the_file);
    g_test_add_func("/history/handed/directory-becomes-a-link", test_directory_becomes_a_link);
    g_test_add_func("/history/handed/another-name-beside-the-file", test_another_name_beside_the_file);
    g_test_add_func("/history/handed/another-file-takes-its-place", test_another_file_takes_its_place);
    g_test_add_func("/history/handed/log-of-another-user", test_log_of_another_user);
    g_test_add_func("/history/handed/author", test_author);
    g_test_add_func("/history/handed/author-of-what-is-beside-it", test_author_of_what_is_beside_it);
    g_test_add_func("/history/handed/time-for-another-user", test_time_for_another_user);
    return g_test_run();
}
