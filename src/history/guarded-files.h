/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a history as SQLite may open them. SQLite replays a journal next to a database, left by a crash; it may
 * name a "super-journal" anywhere, which SQLite then deletes. Any user with write access to the directory can create
 * one.
 */
#ifndef JESCOPE_HISTORY_GUARDED_FILES_H
#define JESCOPE_HISTORY_GUARDED_FILES_H

#include <errno.h>

/* The sqlite3_system_errno() of a file that was refused. */
enum { GUARDED_FILES_REFUSED = EBADMSG };

/* The name of a virtual file system for sqlite3_open_v2(): SQLite's own, which opens no super-journal, and a journal or
 * log only of root, of the caller or of the owner of the database; otherwise SQLITE_CANTOPEN. From any thread. */
const char *guarded_files(void);

#endif
