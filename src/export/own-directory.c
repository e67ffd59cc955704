/* SPDX-License-Identifier: Apache-2.0 */
#include "export/own-directory.h"

#include "confine/walk.h"
#include "export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* For messages. */
static char *
full_path(int base, const char *path)
{
    g_autofree char *above = base != AT_FDCWD ? walk_name(base) : NULL;
    return above != NULL ? g_build_filename(above, path, NULL) : g_strdup(path);
}

static gboolean
is_ours_alone(const struct stat *st)
{
    return (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int
own_directory_open(int base, const char *path, const char *option, GError **error)
{
    struct stat st;
    const int directory = walk_open_directory_at(base, path, WALK_MAKES_DIRECTORIES);
    const int code = directory < 0 || fstat(directory, &st) != 0 ? errno : 0;
    if (code == 0 && is_ours_alone(&st))
        return directory;
    g_autofree char *named = full_path(base, path);
    if (code != 0)
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot create %s: %s", named, walk_strerror(code));
    else
        g_set_error(
            error, EXPORT_ERROR, EXPORT_ERROR_FILE,
            "%s belongs to another user, or its mode lets others write to it; give a %s that only you can write to",
            named, option);
    if (directory >= 0)
        close(directory);
    return -1;
}
