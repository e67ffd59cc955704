/* SPDX-License-Identifier: Apache-2.0 */
/* Memory files: what a target has written is checked, and what only this process has is sealed. */
#ifndef JESCOPE_TARGET_OUTPUT_FILE_H
#define JESCOPE_TARGET_OUTPUT_FILE_H

#include <glib.h>
#include <sys/types.h>

/* The writer's name for messages, and the maximum number of bytes that it may write. */
typedef struct {
    const char *label;
    guint64 limit;
    gboolean is_statistics; /* which can be made smaller */
} OutputWriter;

/* A new empty memory file, to be sent to a target; -1 on error (OUTCOME_SYSTEM). */
int output_file_new(GError **error);

/* FALSE with OUTCOME_TOO_LARGE if BYTES exceed WRITER's limit. */
gboolean output_file_check_bytes(guint64 bytes, const OutputWriter *writer, GError **error);

/* FALSE with OUTCOME_TOO_LARGE if FD exceeds WRITER's limit. To be called while the target writes. */
gboolean output_file_check_size(int fd, const OutputWriter *writer, GError **error);

/* FALSE unless FD has BYTES bytes, as WRITER reports, no holes, and no more than WRITER's limit. */
gboolean output_file_check(int fd, guint64 bytes, const OutputWriter *writer, GError **error);

/* Sets the error for a target, LABEL, that returned WHAT, which no agent does. Returns FALSE. */
gboolean output_file_set_malformed(const char *label, const char *what, GError **error);

/* Takes ownership of FD, a file that no other process has: seals it against changes and returns a separate read-only
 * descriptor at offset 0; FD itself if it is read-only, or -1. -1 on error; FD is closed then. */
int output_file_seal(int fd, const char *label, GError **error);

#endif
