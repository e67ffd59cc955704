/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOMEBODY = 65531 };

static void
add_link(const char *name, const char *to, uid_t owner)
{
    g_assert_no_errno(symlink(to, name));
    g_assert_no_errno(lchown(name, owner, (gid_t)-1));
}

static void
opens(const char *path, const char *same, WalkMissing missing)
{
    struct stat one, other;
    const int fd = walk_open_directory(path, missing);
    g_assert_no_errno(fd);
    g_assert_no_errno(fstat(fd, &one));
    g_assert_no_errno(stat(same, &other));
    g_assert_cmpuint(one.st_ino, ==, other.st_ino);
    g_autofree char *name = walk_name(fd);
    g_assert_true(g_path_is_absolute(name) && g_str_has_suffix(name, same));
    close(fd);
}

static void
refuses(const char *path, WalkMissing missing, int code)
{
    g_assert_cmpint(walk_open_directory(path, missing), ==, -1);
    g_assert_cmpint(errno, ==, code);
}

/* Nothing is made, or written, where a link of another user leads. */
static void
test_to_write(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has links of other users");
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chdir(folder));
    g_assert_no_errno(mkdir("place", 0755));
    g_assert_no_errno(mkdir("place/inner", 0755));
    g_assert_true(g_file_set_contents("file", "", 0, NULL));
    add_link("own", "place", 0);
    add_link("his", "place", SOMEBODY);
    add_link("own-to-his", "his", 0);
    opens("place", "place", WALK_FAILS);
    opens("own/../own//inner/.", "place/inner", WALK_FAILS);
    opens("own/new/newer", "place/new/newer", WALK_MAKES_DIRECTORIES);
    refuses("his", WALK_FAILS, EREMOTE);
    refuses("his/inner", WALK_FAILS, EREMOTE);
    refuses("his/other/one", WALK_MAKES_DIRECTORIES, EREMOTE);
    refuses("own-to-his/inner", WALK_FAILS, EREMOTE);
    refuses("place/other", WALK_FAILS, ENOENT);
    refuses("file", WALK_FAILS, ENOTDIR);
    refuses("file/other", WALK_MAKES_DIRECTORIES, ENOTDIR);
    refuses("", WALK_MAKES_DIRECTORIES, ENOENT);
    g_assert_cmpint(access("place/other", F_OK), ==, -1);
    g_assert_no_errno(rmdir("place/new/newer"));
    g_assert_no_errno(rmdir("place/new"));
    g_assert_no_errno(rmdir("place/inner"));
    g_assert_no_errno(rmdir("place"));
    g_assert_no_errno(unlink("own"));
    g_assert_no_errno(unlink("his"));
    g_assert_no_errno(unlink("own-to-his"));
    g_assert_no_errno(unlink("file"));
    g_assert_no_errno(chdir("/"));
    g_assert_no_errno(rmdir(folder));
}

/* What his process has mounted there may never answer: nothing is opened behind such a link. */
static void
test_links_of_proc(void)
{
    static const char *const places[] = {"/proc/self/root", "/proc/self/cwd/.", "/proc/thread-self/root/proc"};
    if (geteuid() != 0) {
        g_test_skip("only root has links of other users");
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chdir(folder));
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        Walk walk;
        add_link("own", places[i], 0);
        g_assert_cmpint(walk_to(&walk, "own", WALK_FAILS), ==, 0);
        walk_end(&walk);
        g_assert_no_errno(unlink("own"));
        add_link("his", places[i], SOMEBODY);
        g_assert_cmpint(walk_to(&walk, "his", WALK_FAILS), ==, EREMOTE);
        g_assert_true(walk_is_of_proc(walk.at));
        walk_end(&walk);
        g_assert_no_errno(unlink("his"));
    }
    g_assert_no_errno(chdir("/"));
    g_assert_no_errno(rmdir(folder));
}

/* Where it is by now, and not what its path names. */
static void
test_at_an_open_directory(void)
{
    struct stat one, other;
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chdir(folder));
    g_assert_no_errno(mkdir("place", 0755));
    g_assert_no_errno(mkdir("elsewhere", 0755));
    const int base = walk_open_directory("place", WALK_FAILS);
    g_assert_no_errno(base);
    g_assert_no_errno(rename("place", "moved"));
    g_assert_no_errno(symlink("elsewhere", "place"));
    const int fd = walk_open_directory_at(base, "new/newer", WALK_MAKES_DIRECTORIES);
    g_assert_no_errno(fd);
    g_assert_no_errno(fstat(fd, &one));
    g_assert_no_errno(stat("moved/new/newer", &other));
    g_assert_cmpuint(one.st_ino, ==, other.st_ino);
    close(fd);
    close(base);
    static const char *const made[] = {"moved/new/newer", "moved/new", "moved", "elsewhere", "place"};
    for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
        g_assert_no_errno(remove(made[i]));
    g_assert_no_errno(chdir("/"));
    g_assert_no_errno(rmdir(folder));
}

/* Where others decide, a command is supervised. */
static void
test_decided_by_us(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root has files of other users");
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chdir(folder));
    g_assert_no_errno(mkdir("place", 0755));
    g_assert_no_errno(mkdir("his-place", 0755));
    g_assert_no_errno(chown("his-place", SOMEBODY, SOMEBODY));
    add_link("own", "place", 0);
    add_link("to-his", "his-place", 0);
    add_link("his", "place", SOMEBODY);
    static const char *const ours[] = {"/", "place", "./own/../place", "none"};
    static const char *const others[] = {"his",         "his-place", "to-his/../place",
                                         "to-his/none", "../none",   "/proc/self/root"};
    for (gsize i = 0; i < G_N_ELEMENTS(ours); i++)
        g_assert_true(walk_is_decided_by_us(ours[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_false(walk_is_decided_by_us(others[i]));
    static const char *const made[] = {"own", "to-his", "his", "place", "his-place"};
    for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
        g_assert_no_errno(remove(made[i]));
    g_assert_no_errno(chdir("/"));
    g_assert_no_errno(rmdir(folder));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/walk/to-write", test_to_write);
    g_test_add_func("/walk/links-of-proc", test_links_of_proc);
    g_test_add_func("/walk/at-an-open-directory", test_at_an_open_directory);
    g_test_add_func("/walk/decided-by-us", test_decided_by_us);
    return g_test_run();
}
