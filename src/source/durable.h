/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files that are either complete and on the disk, or absent. */
#ifndef JESCOPE_SOURCE_DURABLE_H
#define JESCOPE_SOURCE_DURABLE_H

#include <glib.h>

/* The suffix of files that an interrupted durable_write() leaves. */
#define DURABLE_UNFINISHED ".new"

/* Replaces PATH by a file with SIZE bytes: a new file beside it, fdatasync(), rename(), fsync() of the directory; mode
 * 0600. FALSE with G_FILE_ERROR: PATH is unchanged. Any number of threads and processes may write the same PATH. */
gboolean durable_write(const char *path, gconstpointer bytes, gsize size, GError **error);

/* The same for the file NAME of the open DIRECTORY (O_PATH suffices), whatever its path names by then. */
gboolean durable_write_at(int directory, const char *name, gconstpointer bytes, gsize size, GError **error);

/* durable_write() with the whole content of DESCRIPTOR. */
gboolean durable_copy(const char *path, int descriptor, GError **error);

#endif
