/* SPDX-License-Identifier: Apache-2.0 */
#include "export/own-directory.h"

#include "confine/walk.h"
#include "export/sink.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

gboolean
own_directory_make(const char *directory, const char *option, GError **error)
{
    struct stat st;
    const int made = walk_open_directory(directory, WALK_MAKES_DIRECTORIES);
    if (made < 0 || fstat(made, &st) != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot create %s: %s", directory, walk_strerror(errno));
        return FALSE;
    }
    close(made);
    if ((st.st_uid == geteuid() || st.st_uid == 0) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE,
                "%s belongs to another user, or its mode lets others write to it; give a %s that only you can write to",
                directory, option);
    return FALSE;
}
