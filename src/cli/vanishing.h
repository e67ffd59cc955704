/* SPDX-License-Identifier: Apache-2.0 */
/* Code that a process loads and unloads while it is watched: what it allocated would have addresses without names. */
#ifndef JESCOPE_CLI_VANISHING_H
#define JESCOPE_CLI_VANISHING_H

#include <glib.h>
#include <sys/types.h>

typedef struct Vanishing Vanishing;

Vanishing *vanishing_new(pid_t pid);
void vanishing_free(Vanishing *vanishing);

/* Looks at the memory map; to be called as often as code may come and go. */
void vanishing_look(Vanishing *vanishing);

/* The files that were mapped executable and were unmapped, of char *: some may be mapped again. */
GPtrArray *vanishing_files(const Vanishing *vanishing);

/* DUMP with the mappings that have vanished, as lines of its memory map, where nothing else is mapped now; returns a
 * new memory file, and closes DUMP. Without any, and on errors, it is DUMP itself. */
int vanishing_complete(const Vanishing *vanishing, int dump);

#endif
