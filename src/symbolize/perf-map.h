/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a process generates at run time, from the file that its compiler writes for perf:
 * https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jit-interface.txt. One line per function,
 * "START SIZE NAME", numbers in hex; code moves and is thrown away, so that later lines replace earlier ones.
 */
#ifndef JESCOPE_SYMBOLIZE_PERF_MAP_H
#define JESCOPE_SYMBOLIZE_PERF_MAP_H

#include "confine/target-files.h"

#include <glib.h>

#define PERF_MAP_MAX_SIZE (64 << 20) /* bytes read; a large node process writes about ten */

typedef struct PerfMap PerfMap;

/* Takes text over (size bytes and a NUL). Lines that make no sense are skipped. */
PerfMap *perf_map_parse(char *text, gsize size);
void perf_map_free(PerfMap *map);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PerfMap, perf_map_free)

/* The name of the function at address, or NULL; lives as long as map. */
const char *perf_map_find(const PerfMap *map, guint64 address);

/*
 * The map of a live process, by its own id and in its own mount namespace, opened by files. NULL: none, or it does not
 * belong to the process's user or root.
 */
PerfMap *perf_map_open(TargetFiles *files, pid_t pid);

#endif
