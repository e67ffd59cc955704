/* SPDX-License-Identifier: Apache-2.0 */
#include "history/guarded-files.h"

#include "confine/rights.h"

#include <sqlite3.h>
#include <sys/stat.h>

static sqlite3_vfs guarded;
static int (*open_plain)(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *opened);

gboolean
guarded_files_allow(uid_t of_journal, uid_t of_database)
{
    return rights_are_trusted(of_journal) || of_journal == of_database;
}

/* A missing file is trusted: the caller will create it. */
static gboolean
is_trusted(sqlite3_filename journal)
{
    struct stat status, database;
    if (lstat(journal, &status) != 0 || rights_are_trusted(status.st_uid))
        return TRUE;
    return stat(sqlite3_filename_database(journal), &database) == 0 &&
           guarded_files_allow(status.st_uid, database.st_uid);
}

static int
open_guarded(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *opened)
{
    const gboolean journal = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    if ((flags & SQLITE_OPEN_SUPER_JOURNAL) == 0 && (!journal || is_trusted(name)))
        return open_plain(vfs, name, file, flags, opened);
    file->pMethods = NULL;
    errno = GUARDED_FILES_REFUSED;
    return SQLITE_CANTOPEN;
}

const char *
guarded_files(void)
{
    static gsize made;
    if (g_once_init_enter(&made)) {
        guarded = *sqlite3_vfs_find(NULL);
        open_plain = guarded.xOpen;
        guarded.zName = "jescope";
        guarded.xOpen = open_guarded;
        sqlite3_vfs_register(&guarded, 0);
        g_once_init_leave(&made, 1);
    }
    return guarded.zName;
}
