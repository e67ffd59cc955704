/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file of a command: it appears under its name only when complete, and never replaces an existing one. "-" is
 * stdout. An existing pipe or device is written to directly.
 */
#ifndef JESCOPE_CLI_OUTPUT_H
#define JESCOPE_CLI_OUTPUT_H

#include <glib.h>

/* The permissions of a new file. */
typedef enum {
    OUTPUT_SHARED,  /* as the umask permits: reports */
    OUTPUT_PRIVATE, /* for its owner only, whatever the umask: dumps, like core files */
} OutputAccess;

typedef struct _Output Output;

/* Errors of all these functions name the file and are CLI_ERROR_FAILED. */
Output *output_open(const char *path, OutputAccess access, GError **error);

/* Appends the content of descriptor FD from its offset to its end. */
gboolean output_copy(Output *output, int fd, GError **error);

/* Appends LENGTH bytes. */
gboolean output_write(Output *output, const char *bytes, gsize length, GError **error);

/* Makes the file appear under its name; nothing may be appended afterwards. */
gboolean output_commit(Output *output, GError **error);

/* Without a preceding output_commit(), discards the file. */
void output_free(Output *output);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Output, output_free)

/* NAME.PID.YYYYmmddTHHMMSS.heap (local time) with NAME made valid for a file name, ".2", ".3"... before ".heap" if that
 * exists. */
char *output_dump_name(const char *name, int pid);

#endif
