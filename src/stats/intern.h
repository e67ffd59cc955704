/* SPDX-License-Identifier: Apache-2.0 */
/* Strings from files that samples share: versions, arena names, writers of a log. */
#ifndef JESCOPE_STATS_INTERN_H
#define JESCOPE_STATS_INTERN_H

#include <glib.h>

/* TEXT as an interned string, safe for a terminal (text/printable.h). Interned strings are never freed, so that a file
 * cannot exhaust memory there are at most 65536 per process; beyond that NULL, which means "unknown". Thread-safe. */
const char *stats_intern(const char *text, gsize length);

#endif
