/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the list of mapped files at the end of a heap dump. */
#ifndef JESCOPE_TARGET_DUMP_MAPS_H
#define JESCOPE_TARGET_DUMP_MAPS_H

#include "target/output-file.h"
#include "target/process.h"

#include <glib.h>
#include <sys/types.h>

/* Takes ownership of FD, a dump written by WRITER, the process FOUND. Appends the list of mapped files if jemalloc
 * could not open /proc/self/maps, as in a chroot; a read-only FD stays as it is. Returns FD; -1 on error. */
int dump_maps_complete(int fd, const Process *found, const OutputWriter *writer, GError **error);

#endif
