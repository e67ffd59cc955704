/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that a command writes: it appears under its name only when complete, and never replaces an existing one. "-"
 * is stdout. An existing pipe or device is written to directly.
 */
#ifndef JESCOPE_CLI_OUTPUT_H
#define JESCOPE_CLI_OUTPUT_H

#include <glib.h>

/* The permissions of a new file. */
typedef enum {
    OUTPUT_SHARED,  /* by the umask: reports */
    OUTPUT_PRIVATE, /* its owner alone, whatever the umask: dumps are kept as core files are */
} OutputAccess;

typedef struct _Output Output;

/* Errors of all these name the file and are CLI_ERROR_FAILED. */
Output *output_open(const char *path, OutputAccess access, GError **error);

/* Appends what descriptor FD holds from its offset to its end. */
gboolean output_copy(Output *output, int fd, GError **error);

/* Appends LENGTH bytes. */
gboolean output_write(Output *output, const char *bytes, gsize length, GError **error);

/* Makes the file appear; nothing may be appended afterwards. */
gboolean output_commit(Output *output, GError **error);

/* Without output_commit() before, nothing remains. */
void output_free(Output *output);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Output, output_free)

/* NAME.PID.YYYYmmddTHHMMSS.heap (local time) with NAME fit for a file name, ".2", ".3"... before ".heap" if that is
 * taken. */
char *output_dump_name(const char *name, int pid);

#endif
