/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a process's transparent huge pages is zeros: small pages that would not be resident without them, or that
 * were written with zeros. An estimate from some hundred small pages, chosen at random; they are read (proc(5): mem)
 * and nothing but whether all of their bytes are zero is kept. Only pages that are resident are read.
 */
#ifndef JESCOPE_TARGET_HUGE_PAGES_H
#define JESCOPE_TARGET_HUGE_PAGES_H

#include "target/mappings.h"

/* Estimates of bytes by kind of mapping, for at most TIME_US microseconds. FALSE, *ZEROS untouched: the memory of the
 * process may not be read, or there was no time. */
gboolean huge_pages_read_zeros(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 zeros[MAPPING_KINDS]);

#endif
