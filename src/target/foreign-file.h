/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory file that a stopped thread has just created with memfd_create(). The other threads of the process run, may
 * be hostile, and may replace its descriptor at any moment. So the descriptor is copied once (pidfd_getfd(2): nothing
 * is opened, the copy has the process's own rights and cannot be replaced) and then checked.
 */
#ifndef JESCOPE_TARGET_FOREIGN_FILE_H
#define JESCOPE_TARGET_FOREIGN_FILE_H

#include <glib.h>
#include <sys/types.h>

/* memfd_create() flags by which the file is recognised. */
extern const guint64 foreign_file_flags;

/* A descriptor of our own of NUMBER of THREAD; an empty, unsealed memory file that can be read and written, which is in
 * no file system. -1 with OUTCOME_PERMISSION if it is anything else or cannot be taken. */
int foreign_file_take(pid_t thread, gint64 number, GError **error);

#endif
