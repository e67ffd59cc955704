/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a process generates at run time, from the file that its compiler writes for perf:
 * https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jit-interface.txt. One line per function,
 * "START SIZE NAME", numbers in hex; code is moved and discarded, so later lines replace earlier ones.
 */
#ifndef JESCOPE_SYMBOLIZE_PERF_MAP_H
#define JESCOPE_SYMBOLIZE_PERF_MAP_H

#include "confine/target-files.h"

#include <glib.h>

#define PERF_MAP_MAX_SIZE (64 << 20) /* bytes read; a large node process writes about ten */
#define PERF_MAP_MAX_NAME 4096 /* bytes of a name, which may be found for any number of addresses; the rest is cut */

typedef struct PerfMap PerfMap;

/* Takes over text (size bytes and a NUL). Invalid lines are skipped. */
PerfMap *perf_map_parse(char *text, gsize size);
void perf_map_free(PerfMap *map);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PerfMap, perf_map_free)

/* The name of the function at address, or NULL; lives as long as map. */
const char *perf_map_find(const PerfMap *map, guint64 address);

/*
 * The map of a live process, by its id in its own namespace and in its mount namespace, opened with files. NULL: no
 * file, or it belongs to neither the process's user nor root.
 */
PerfMap *perf_map_open(TargetFiles *files, pid_t pid);

#endif
