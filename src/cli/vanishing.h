/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks code that a process unloads while it is recorded: without this, the addresses of its allocations would have no
 * names. */
#ifndef JESCOPE_CLI_VANISHING_H
#define JESCOPE_CLI_VANISHING_H

#include <glib.h>
#include <sys/types.h>

typedef struct Vanishing Vanishing;

Vanishing *vanishing_new(pid_t pid);
void vanishing_free(Vanishing *vanishing);

/* Reads the memory map; to be called as often as code may be loaded and unloaded. */
void vanishing_look(Vanishing *vanishing);

/* The files that were mapped executable and were unmapped, of char *: some may be mapped again. A file that is mapped
 * where others were before, one after the other, stands for them. */
GPtrArray *vanishing_files(const Vanishing *vanishing);

/* Adds the vanished mappings to DUMP, as lines of its memory map, where nothing else is mapped now; returns a new
 * memory file, and closes DUMP. Without any, and on errors, returns DUMP itself. */
int vanishing_complete(const Vanishing *vanishing, int dump);

#endif
