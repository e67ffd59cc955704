/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/files.h"

#include "blackbox/life.h"
#include "confine/walk.h"
#include "source/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char snapshot_suffix[] = ".snapshot";

static gboolean
set_failed(const char *what, const char *path, GError **error)
{
    g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot %s %s: %s", what, path, g_strerror(errno));
    return FALSE;
}

char *
files_life(const char *root, const char *name, pid_t pid, guint64 start_time)
{
    g_autofree char *fit = g_strdup(name);
    g_autofree char *base = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)pid, start_time);
    g_strcanon(fit, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '_');
    if (fit[0] == '.')
        fit[0] = '_';
    return g_build_filename(root, fit[0] != '\0' ? fit : "_", base, NULL); /* a process may have no name */
}

gboolean
files_parse_life(const char *base, pid_t *pid, guint64 *start_time)
{
    g_auto(GStrv) parts = g_strsplit(base, ".", 2);
    guint64 number;
    if (g_strv_length(parts) != 2 || !g_ascii_string_to_unsigned(parts[0], 10, 1, G_MAXINT32, &number, NULL) ||
        !g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXUINT64, start_time, NULL))
        return FALSE;
    *pid = (pid_t)number;
    return TRUE;
}

char *
files_dump(const char *life, guint number)
{
    return g_strdup_printf("%s/%06u.heap", life, number);
}

char *
files_snapshot(const char *life, guint number)
{
    return g_strdup_printf("%s/%06u%s", life, number, snapshot_suffix);
}

char *
files_end(const char *life)
{
    return g_build_filename(life, "end", NULL);
}

static gint
ascending(gconstpointer a, gconstpointer b)
{
    const guint one = *(const guint *)a, other = *(const guint *)b;
    return one < other ? -1 : one > other ? 1 : 0;
}

GArray *
files_numbers(const char *life)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GDir) directory = g_dir_open(life, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        guint64 number;
        g_autofree char *stem = g_strdup(name);
        if (!g_str_has_suffix(name, snapshot_suffix))
            continue;
        stem[strlen(stem) - strlen(snapshot_suffix)] = '\0';
        guint one = g_ascii_string_to_unsigned(stem, 10, 1, G_MAXUINT32, &number, NULL) ? (guint)number : 0;
        if (one != 0)
            g_array_append_val(numbers, one);
    }
    g_array_sort(numbers, ascending);
    return numbers;
}

GPtrArray *
files_subdirectories(const char *directory, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) opened = g_dir_open(directory, 0, &cause);
    const char *name;
    if (opened == NULL && !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "%s", cause->message);
        return NULL;
    }
    while (opened != NULL && (name = g_dir_read_name(opened)) != NULL) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            g_ptr_array_add(paths, g_steal_pointer(&path));
    }
    return g_steal_pointer(&paths);
}

char *
files_boot(void)
{
    char *boot = NULL;
    return g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL) ? g_strstrip(boot) : g_strdup("");
}

/* For a lock of the open file, not of the process: testing it takes no lock, not even briefly. */
static const struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

int
files_lock(const char *life, GError **error)
{
    g_autofree char *path = g_build_filename(life, "lock", NULL);
    struct flock lock = whole_file;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        set_failed("open", path, error);
        return -1;
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return fd;
    g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_BUSY,
                "another jescope already keeps snapshots of this process in %s; give another --directory", life);
    close(fd);
    return -1;
}

gboolean
files_is_locked(const char *life)
{
    g_autofree char *path = g_build_filename(life, "lock", NULL);
    struct flock lock = whole_file;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    gboolean locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

gboolean
files_make_root(const char *root, GError **error)
{
    struct stat st;
    const int made = walk_open_directory(root, WALK_MAKES_DIRECTORIES);
    if (made < 0 || fstat(made, &st) != 0) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot make the directory %s: %s", root,
                    walk_strerror(errno));
        return FALSE;
    }
    close(made);
    const gboolean ours = st.st_uid == geteuid() || st.st_uid == 0;
    if (ours && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return TRUE;
    g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE,
                "%s belongs to another user, or its mode lets others write to it; give a --directory that only you can "
                "write to",
                root);
    return FALSE;
}

/* Removes the files in LIFE whose names end with SUFFIX. */
static void
remove_files(const char *life, const char *suffix)
{
    g_autoptr(GDir) directory = g_dir_open(life, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *path = g_build_filename(life, name, NULL);
        if (g_str_has_suffix(name, suffix))
            unlink(path);
    }
}

void
files_remove_life(const char *life)
{
    g_autofree char *name = g_path_get_dirname(life);
    remove_files(life, snapshot_suffix); /* first: a dump without one is not a snapshot */
    remove_files(life, "");
    rmdir(life);
    rmdir(name); /* fails if it contains another life */
}

void
files_remove_unfinished(const char *life)
{
    remove_files(life, DURABLE_UNFINISHED);
}
