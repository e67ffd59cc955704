/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps where a program was told to leave them: in a file as jemalloc makes one when prof.dump gets no name,
 * PREFIX.PID.N.mN.heap by opt.prof_prefix. The file is made by us, but with the target's rights, in its root and its
 * working directory, and only where there is none of that name: the names are predictable, and what another user has
 * put there must not be followed or overwritten.
 */
#ifndef JESCOPE_TARGET_OWN_DUMP_H
#define JESCOPE_TARGET_OWN_DUMP_H

#include "target/reach.h"

/* The code of an error is an errno value. */
#define TARGET_OWN_DUMP_ERROR (target_own_dump_error_quark())
GQuark target_own_dump_error_quark(void);

/* Makes the file. 0 or errno. */
int own_dump_store(const ReachOwnDump *wanted);

/* Errors of the target's are TARGET_ERROR, of the file's TARGET_OWN_DUMP_ERROR. */
gboolean target_dump_to_own_file(Target *target, GError **error);

#endif
