/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a dump to the file that jemalloc would create if prof.dump were given no name: PREFIX.PID.N.mN.heap according
 * to opt.prof_prefix. jescope creates the file, with the target's privileges, in its root and working directory. The
 * names are predictable, so an existing file or link of another user is neither followed nor overwritten.
 */
#ifndef JESCOPE_TARGET_OWN_DUMP_H
#define JESCOPE_TARGET_OWN_DUMP_H

#include "target/reach.h"

/* The code of an error is an errno value. */
#define TARGET_OWN_DUMP_ERROR (target_own_dump_error_quark())
GQuark target_own_dump_error_quark(void);

/* Creates and writes the file. Returns 0 or an errno value. */
int own_dump_store(const ReachOwnDump *wanted);

/* Takes a dump of TARGET and stores it. Errors of the target are TARGET_ERROR, those of the file
 * TARGET_OWN_DUMP_ERROR. */
gboolean target_dump_to_own_file(Target *target, GError **error);

#endif
