/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program can have its arenas map and release memory by functions of its own (extent hooks, in jemalloc 4 chunk
 * hooks), which may take locks that the stopped thread holds: a call of jemalloc that calls them would never return.
 */
#ifndef JESCOPE_TARGET_EXTENT_HOOKS_H
#define JESCOPE_TARGET_EXTENT_HOOKS_H

#include "target/remote-control.h"

/* Whether writing CONTROL releases memory of an arena, by its hooks. */
gboolean extent_hooks_are_called_by(const char *control);

/* Finds the first arena, of those that CONTROL names, with functions that are not jemalloc's: *ARENA, or -1 if there is
 * none. Where jemalloc's code is unknown, no function counts as its own. FALSE if TRACEE, in a visit, could not be
 * asked. */
gboolean extent_hooks_find(Tracee *tracee, const RemoteJemalloc *jemalloc, const char *control, int *arena,
                           GError **error);

#endif
