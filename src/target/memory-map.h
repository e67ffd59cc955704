/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/maps, and other lists of /proc, line by line: a process decides how long they are, and may make
 * them hundreds of megabytes. */
#ifndef JESCOPE_TARGET_MEMORY_MAP_H
#define JESCOPE_TARGET_MEMORY_MAP_H

#include "target/reach.h"

#include <glib.h>
#include <sys/types.h>

typedef enum {
    MEMORY_MAP_READ,
    MEMORY_MAP_STOPPED,   /* EACH has seen enough */
    MEMORY_MAP_TOO_LARGE, /* longer than the limit: the rest was not read */
    MEMORY_MAP_DENIED,    /* may not be read */
    MEMORY_MAP_GONE,      /* the process has ended */
} MemoryMapEnd;

enum {
    /* Half a million mappings with names of usual length; the kernel writes this in half a second. */
    MEMORY_MAP_MAX = 32 << 20,
};

/* LINE is without its line feed, and EACH's to change. FALSE ends the reading. */
typedef gboolean (*MemoryMapFunc)(char *line, gpointer data);

/* Calls EACH for every line, for no more than LIMIT bytes; needs no memory beyond a line's. */
MemoryMapEnd memory_map_read(pid_t pid, gsize limit, MemoryMapFunc each, gpointer data);

/* The same of another FILE of process PID. */
MemoryMapEnd memory_map_read_file(pid_t pid, ReachFile file, gsize limit, MemoryMapFunc each, gpointer data);

/* The same of another list of process PID, e.g. "net/unix". */
MemoryMapEnd memory_map_read_list(pid_t pid, const char *list, gsize limit, MemoryMapFunc each, gpointer data);

#endif
