/* SPDX-License-Identifier: Apache-2.0 */
#include "service/follow.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char *directory;
    char *path;
    GString *seen;
    Follow *follow;
} Fixture;

static gboolean
take(const char *bytes, gsize length, gpointer data, GError **error)
{
    g_string_append_len(data, bytes, (gssize)length);
    return TRUE;
}

static void
append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    g_assert_nonnull(file);
    g_assert_cmpint(fputs(text, file), >=, 0);
    g_assert_cmpint(fclose(file), ==, 0);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = g_dir_make_tmp("jescope-follow-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->directory, "a.log", NULL);
    fixture->seen = g_string_new(NULL);
    append(fixture->path, "before\n");
    fixture->follow = follow_new(fixture->path, take, fixture->seen);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_autofree char *old = g_strconcat(fixture->path, ".1", NULL);
    follow_free(fixture->follow);
    g_unlink(fixture->path);
    g_unlink(old);
    g_assert_cmpint(g_rmdir(fixture->directory), ==, 0);
    g_free(fixture->directory);
    g_free(fixture->path);
    g_string_free(fixture->seen, TRUE);
}

static void
assert_sees(Fixture *fixture, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(follow_poll(fixture->follow, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(fixture->seen->str, ==, expected);
    g_string_truncate(fixture->seen, 0);
}

static void
test_growth(Fixture *fixture, gconstpointer data)
{
    assert_sees(fixture, "");
    append(fixture->path, "one");
    assert_sees(fixture, "one");
    append(fixture->path, " two\n");
    assert_sees(fixture, " two\n");
}

static void
test_renamed(Fixture *fixture, gconstpointer data)
{
    g_autofree char *old = g_strconcat(fixture->path, ".1", NULL);
    append(fixture->path, "one\n");
    g_assert_cmpint(g_rename(fixture->path, old), ==, 0);
    append(old, "two\n");
    assert_sees(fixture, "one\ntwo\n"); /* the new one is not there yet */
    append(old, "three\n");
    append(fixture->path, "four\n");
    assert_sees(fixture, "three\nfour\n");
    append(fixture->path, "five\n");
    assert_sees(fixture, "five\n");
}

static void
test_truncated(Fixture *fixture, gconstpointer data)
{
    append(fixture->path, "one\n");
    assert_sees(fixture, "one\n");
    g_assert_cmpint(truncate(fixture->path, 0), ==, 0);
    append(fixture->path, "two\n");
    assert_sees(fixture, "two\n");
}

/* It is longer than it was when it is looked at again; only its beginning tells. */
static void
test_truncated_and_grown(Fixture *fixture, gconstpointer data)
{
    assert_sees(fixture, "");
    g_assert_cmpint(truncate(fixture->path, 0), ==, 0);
    append(fixture->path, "quite another beginning\n");
    assert_sees(fixture, "quite another beginning\n");
}

static void
test_appears(Fixture *fixture, gconstpointer data)
{
    g_unlink(fixture->path);
    g_clear_pointer(&fixture->follow, follow_free);
    fixture->follow = follow_new(fixture->path, take, fixture->seen);
    assert_sees(fixture, "");
    append(fixture->path, "one\n");
    assert_sees(fixture, "one\n");
}

static void
test_unreadable(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Follow) follow = follow_new(fixture->directory, take, fixture->seen);
    g_assert_false(follow_poll(follow, &error));
    g_assert_nonnull(strstr(error->message, fixture->directory));
}

/* Its writer may have put a device in its place, of which there is no end. */
static void
test_device(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(g_unlink(fixture->path), ==, 0);
    g_assert_cmpint(symlink("/dev/zero", fixture->path), ==, 0);
    g_assert_false(follow_poll(fixture->follow, &error));
    g_assert_nonnull(strstr(error->message, fixture->path));
    g_assert_cmpuint(fixture->seen->len, ==, 0);
}

static gboolean
count(const char *bytes, gsize length, gpointer data, GError **error)
{
    *(guint64 *)data += length;
    return TRUE;
}

/* Reads 64 MiB, MOST in a call. */
static void
check_portions(const Fixture *fixture, guint64 most)
{
    g_autoptr(GError) error = NULL;
    guint64 seen = 0, before;
    g_autoptr(Follow) follow = follow_new(fixture->path, count, &seen);
    g_assert_cmpint(truncate(fixture->path, (off_t)64 * 1024 * 1024), ==, 0);
    do {
        before = seen;
        g_assert_true(follow_poll(follow, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(seen - before, <=, most);
    } while (seen > before);
    g_assert_cmpuint(seen, ==, 64 * 1024 * 1024 - strlen("before\n"));
}

/* A hole of any size costs its writer nothing: others have their turn before it is read to the end. */
static void
test_hole(Fixture *fixture, gconstpointer data)
{
    check_portions(fixture, 16 << 20);
}

/* Who writes it decides how much of a processor and of the disk root's collect uses for it. */
static void
test_hole_of_another_user(Fixture *fixture, gconstpointer data)
{
    if (geteuid() != 0) {
        g_test_skip("only root can make a file of another user");
        return;
    }
    g_assert_cmpint(chown(fixture->path, 65533, 65533), ==, 0);
    check_portions(fixture, (1 << 20) + 65536); /* that it is his is known after the first piece */
}

typedef struct {
    const char *path;
    guint calls;
} Writer;

static gboolean
append_more(const char *bytes, gsize length, gpointer data, GError **error)
{
    Writer *writer = data;
    if (writer->calls++ < 1000)
        append(writer->path, "x");
    return TRUE;
}

/* What is read is a byte each time, and there is always another one. */
static void
test_single_bytes(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    Writer writer = {.path = fixture->path};
    g_autoptr(Follow) follow = follow_new(fixture->path, append_more, &writer);
    append(fixture->path, "x");
    g_assert_true(follow_poll(follow, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(writer.calls, ==, 256);
}

/* A writer that holds a lease of the file does not answer the kernel, which waits 45 s for it. */
static pid_t
hold_lease(const char *path)
{
    int ends[2];
    char ready;
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        signal(SIGIO, SIG_IGN);
        ready = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
        (void)!write(ends[1], &ready, 1);
        pause();
        _exit(0);
    }
    g_assert_cmpint(read(ends[0], &ready, 1), ==, 1);
    g_assert_true(ready);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void
test_lease(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_clear_pointer(&fixture->follow, follow_free);
    g_assert_cmpint(g_unlink(fixture->path), ==, 0);
    fixture->follow = follow_new(fixture->path, take, fixture->seen);
    append(fixture->path, "new\n");
    pid_t holder = hold_lease(fixture->path);
    const gint64 begun = g_get_monotonic_time();
    g_assert_false(follow_poll(fixture->follow, &error));
    g_assert_nonnull(strstr(error->message, fixture->path));
    g_assert_cmpint(g_get_monotonic_time() - begun, <, 40 * G_USEC_PER_SEC);
    g_assert_cmpint(kill(holder, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(holder, NULL, 0), ==, holder);
    assert_sees(fixture, "new\n");
}

/* Its writer may have put a link in its place: to a file that only its reader may read, or that is empty once it is
 * read, such as /proc/kmsg. */
static void
test_link_of_another_user(Fixture *fixture, gconstpointer data)
{
    enum { WRITER = 65533 };
    g_autoptr(GError) error = NULL;
    g_autofree char *secret = g_strconcat(fixture->path, ".secret", NULL);
    if (geteuid() != 0) {
        g_test_skip("only root can make a link of another user");
        return;
    }
    append(secret, "of root\n");
    g_assert_cmpint(g_unlink(fixture->path), ==, 0);
    g_assert_cmpint(symlink(secret, fixture->path), ==, 0);
    g_assert_cmpint(lchown(fixture->path, WRITER, WRITER), ==, 0);
    g_assert_false(follow_poll(fixture->follow, &error));
    g_assert_nonnull(strstr(error->message, fixture->path));
    g_assert_cmpstr(fixture->seen->str, ==, "");
    g_assert_cmpint(chown(secret, WRITER, WRITER), ==, 0);
    assert_sees(fixture, "of root\n"); /* what is his */
    g_unlink(secret);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*run)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/follow/growth", test_growth},
        {"/follow/renamed", test_renamed},
        {"/follow/truncated", test_truncated},
        {"/follow/truncated-and-grown", test_truncated_and_grown},
        {"/follow/appears", test_appears},
        {"/follow/unreadable", test_unreadable},
        {"/follow/device", test_device},
        {"/follow/hole", test_hole},
        {"/follow/hole-of-another-user", test_hole_of_another_user},
        {"/follow/single-bytes", test_single_bytes},
        {"/follow/lease", test_lease},
        {"/follow/link-of-another-user", test_link_of_another_user},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
    return g_test_run();
}
