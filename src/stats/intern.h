/* SPDX-License-Identifier: Apache-2.0 */
/* Strings out of files that samples share: versions, arena names, writers of a log. */
#ifndef JESCOPE_STATS_INTERN_H
#define JESCOPE_STATS_INTERN_H

#include <glib.h>

/* TEXT as an interned string. Interned strings are never freed, so no more than 65536 come out of here in the life of
 * the process (a file could otherwise fill the memory); then NULL, which readers take for "unknown". Thread-safe. */
const char *stats_intern(const char *text, gsize length);

#endif
