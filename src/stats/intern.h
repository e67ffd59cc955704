/* SPDX-License-Identifier: Apache-2.0 */
/* Strings from files that samples share: versions, arena names, writers of a log. */
#ifndef JESCOPE_STATS_INTERN_H
#define JESCOPE_STATS_INTERN_H

#include <glib.h>

/*
 * TEXT as an interned string, safe for a terminal (text/printable.h): equal texts have the same address for as long as
 * one of them is referenced. A new reference, to be dropped with stats_intern_unref(); NULL, which means "unknown", for
 * more than 512 bytes. References are counted, since the writers of the files choose how many texts there are.
 * Thread-safe, as the functions below.
 */
const char *stats_intern(const char *text, gsize length);

/* Another reference to an interned string. NULL is accepted, here and below. */
const char *stats_intern_ref(const char *interned);
void stats_intern_unref(const char *interned);

/* Replaces the reference in *PLACE by stats_intern(TEXT, LENGTH). */
void stats_intern_replace(const char **place, const char *text, gsize length);

#endif
