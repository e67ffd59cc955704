/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory file that a stopped thread has just created with memfd_create(). The other threads of the process run, may
 * be hostile, and may replace its descriptor at any moment. So the descriptor is first copied with pidfd_getfd(2),
 * which opens nothing and keeps the process's access mode, and the copy, which cannot be replaced, is checked.
 */
#ifndef JESCOPE_TARGET_FOREIGN_FILE_H
#define JESCOPE_TARGET_FOREIGN_FILE_H

#include <glib.h>
#include <sys/stat.h>
#include <sys/types.h>

/* memfd_create() flags by which the file is recognised. */
extern const guint64 foreign_file_flags;

/* A copy of descriptor NUMBER of THREAD. It must be an empty, unsealed, readable and writable memory file outside of
 * any file system; otherwise, or if it cannot be copied, -1 with OUTCOME_PERMISSION. */
int foreign_file_take(pid_t thread, gint64 number, GError **error);

/* fstat() of descriptor NUMBER of THREAD, of any file. FALSE with errno. */
gboolean foreign_file_stat(pid_t thread, gint64 number, struct stat *st);

#endif
