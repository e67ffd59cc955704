/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates how much of a process's transparent huge pages is zeros: small pages that would not be resident without
 * huge pages, or that were filled with zeros. Some hundred resident small pages, chosen at random, are read (proc(5):
 * mem); only whether all their bytes are zero is kept.
 */
#ifndef JESCOPE_TARGET_HUGE_PAGES_H
#define JESCOPE_TARGET_HUGE_PAGES_H

#include "target/mappings.h"

/* Sets ZEROS to estimates in bytes by kind of mapping; takes at most TIME_US microseconds. FALSE, with ZEROS unchanged,
 * if the memory of the process may not be read or there was no time. */
gboolean huge_pages_read_zeros(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 zeros[MAPPING_KINDS]);

#endif
