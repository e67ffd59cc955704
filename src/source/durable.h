/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are whole and on the disk, or not there. */
#ifndef JESCOPE_SOURCE_DURABLE_H
#define JESCOPE_SOURCE_DURABLE_H

#include <glib.h>

/* What durable_write() leaves behind if it is interrupted ends with this. */
#define DURABLE_UNFINISHED ".new"

/* Replaces PATH by a file with SIZE bytes: a new file beside it, fdatasync(), rename(), fsync() of the directory; mode
 * 0600. FALSE with G_FILE_ERROR: PATH is as it was. Any number of threads and processes may write the same PATH. */
gboolean durable_write(const char *path, gconstpointer bytes, gsize size, GError **error);

/* The same with all that DESCRIPTOR holds. */
gboolean durable_copy(const char *path, int descriptor, GError **error);

#endif
