/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps and other lists of /proc line by line, since a process can make them hundreds of megabytes
 * long. */
#ifndef JESCOPE_TARGET_MEMORY_MAP_H
#define JESCOPE_TARGET_MEMORY_MAP_H

#include "target/reach.h"

#include <glib.h>
#include <sys/types.h>

typedef enum {
    MEMORY_MAP_READ,
    MEMORY_MAP_STOPPED,   /* EACH returned FALSE */
    MEMORY_MAP_TOO_LARGE, /* longer than the limit: the rest was not read */
    MEMORY_MAP_DENIED,    /* reading is not permitted */
    MEMORY_MAP_GONE,      /* the process has ended */
} MemoryMapEnd;

enum {
    /* Half a million mappings with names of usual length; the kernel writes this in half a second. */
    MEMORY_MAP_MAX = 32 << 20,
};

/* Called for each line, without its line feed; may modify LINE. FALSE ends the reading. */
typedef gboolean (*MemoryMapFunc)(char *line, gpointer data);

/* Calls EACH for every line of /proc/PID/maps, up to LIMIT bytes. Memory use is bounded by the length of a line. */
MemoryMapEnd memory_map_read(pid_t pid, gsize limit, MemoryMapFunc each, gpointer data);

/* The same for a FILE of the process FOUND, as of reach_open() (reach-open.h). */
MemoryMapEnd memory_map_read_file(const Process *found, ReachFile file, gsize limit, MemoryMapFunc each, gpointer data);

/* The same for another list of process PID, e.g. "net/unix". */
MemoryMapEnd memory_map_read_list(pid_t pid, const char *list, gsize limit, MemoryMapFunc each, gpointer data);

#endif
