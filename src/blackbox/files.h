/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the black box and their names. Returned strings must be freed. */
#ifndef JESCOPE_BLACKBOX_FILES_H
#define JESCOPE_BLACKBOX_FILES_H

#include <glib.h>
#include <sys/types.h>

/* The directory of the life of process PID, called NAME, below ROOT. */
char *files_life(const char *root, const char *name, pid_t pid, guint64 start_time);

/* Parses the last component of such a path; FALSE if it is invalid. */
gboolean files_parse_life(const char *base, pid_t *pid, guint64 *start_time);

char *files_dump(const char *life, guint number);
char *files_snapshot(const char *life, guint number);
char *files_end(const char *life);

/* The numbers of the snapshots in LIFE, ascending, of guint. */
GArray *files_numbers(const char *life);

/* The paths of the directories in DIRECTORY, of char *; empty if it does not exist. */
GPtrArray *files_subdirectories(const char *directory, GError **error);

/* The id in /proc/sys/kernel/random/boot_id; "" if unknown. */
char *files_boot(void);

/* Locks LIFE until the returned descriptor is closed; -1 with BLACKBOX_ERROR_BUSY or _FILE. */
int files_lock(const char *life, GError **error);
gboolean files_is_locked(const char *life);

/* Creates ROOT unless it exists. Files in it are removed by name, so other users must not be able to write to it:
 * otherwise it fails with BLACKBOX_ERROR_FILE. */
gboolean files_make_root(const char *root, GError **error);

/* Removes LIFE with everything in it, or only what an interrupted write (source/durable.h) has left in it. */
void files_remove_life(const char *life);
void files_remove_unfinished(const char *life);

#endif
