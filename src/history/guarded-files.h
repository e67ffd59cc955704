/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restricts the files that SQLite may open beside a history. SQLite replays a journal that a crash has left next to a
 * database; the journal may name a "super-journal" anywhere, which SQLite then deletes. Any user with write access to
 * the directory can create one.
 */
#ifndef JESCOPE_HISTORY_GUARDED_FILES_H
#define JESCOPE_HISTORY_GUARDED_FILES_H

#include <errno.h>
#include <glib.h>
#include <sys/types.h>

/* The sqlite3_system_errno() for a refused file. */
enum { GUARDED_FILES_REFUSED = EBADMSG };

/* Whether a journal or log of the user OF_JOURNAL may be replayed into a database of OF_DATABASE. */
gboolean guarded_files_allow(uid_t of_journal, uid_t of_database);

/* The name of a virtual file system for sqlite3_open_v2(). It is SQLite's default, except that opening a super-journal,
 * or a journal or log that does not belong to root, the caller or the owner of the database, fails with
 * SQLITE_CANTOPEN. For a confined process, which cannot see whose they are, its parent checks (handed.h). Thread-safe.
 */
const char *guarded_files(void);

#endif
