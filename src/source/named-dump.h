/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps that contain the names of their functions. */
#ifndef JESCOPE_SOURCE_NAMED_DUMP_H
#define JESCOPE_SOURCE_NAMED_DUMP_H

#include "target/target.h"

#include <glib.h>

/* A dump and its process. */
typedef struct {
    int fd;
    gboolean of_server; /* taken with CAPTURE_NAMES by a server */
    char *label;        /* of the process */
    pid_t pid;     /* 0: it has ended, and its files are opened at the paths in the dump, with the rights of owner */
    guint64 start; /* of the process with that pid, like Process.start_time; 0: unknown */
    uid_t owner;
    uid_t author; /* target_user() */
} NamedDump;

NamedDump *named_dump_new(int fd, const Target *target); /* takes ownership of fd; of a running process */
void named_dump_free(NamedDump *dump);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NamedDump, named_dump_free)

/*
 * Adds the function names of the process, in the report format symbolized: they are read in a confined process
 * (confine/confined.h), which may take seconds. The dump of a server's target has them already. On error the dump is
 * unchanged.
 */
gboolean named_dump_finish(NamedDump *dump, GError **error);

#endif
