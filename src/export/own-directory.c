/* SPDX-License-Identifier: Apache-2.0 */
#include "export/own-directory.h"

#include "export/sink.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

gboolean
own_directory_make(const char *directory, const char *option, GError **error)
{
    struct stat st;
    if (g_mkdir_with_parents(directory, 0700) != 0 || stat(directory, &st) != 0) {
        int code = errno;
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot create %s: %s", directory, g_strerror(code));
        return FALSE;
    }
    if ((st.st_uid == geteuid() || st.st_uid == 0) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE,
                "%s belongs to another user, or its mode lets others write to it; give a %s that only you can write to",
                directory, option);
    return FALSE;
}
