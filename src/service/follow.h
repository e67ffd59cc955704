/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a log file as it grows (service/log-file.h). A child opens and reads it, which is given up where the file
 * system of the log does not answer (confine/aside.h): a poll then fails within 3 s, and later ones go on with another
 * child.
 */
#ifndef JESCOPE_SERVICE_FOLLOW_H
#define JESCOPE_SERVICE_FOLLOW_H

#include <glib.h>

typedef struct Follow Follow;

/* Called with each appended piece. FALSE with ERROR set ends follow_poll(). */
typedef gboolean (*FollowFunc)(const char *bytes, gsize length, gpointer data, GError **error);

/* Begins at the current end of PATH; if the file does not exist yet, it is read from its beginning once it appears. */
Follow *follow_new(const char *path, FollowFunc func, gpointer data);
void follow_free(Follow *follow);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Follow, follow_free)

/* Reads the text appended since the last call: at most 16 MiB, or a little more than 1 MiB of a file that belongs to
 * another user than root or the caller. FALSE with FUNC's error, or if the file exists but is not one that
 * input_file_open_regular() opens, or does not answer. */
gboolean follow_poll(Follow *follow, GError **error);

#endif
