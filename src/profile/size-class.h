/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc's size classes, by number: four in each doubling, which are all sizes with at most three significant bits.
 * Below 32 bytes they are multiples of 8. Not every jemalloc has the classes between multiples of 16 below 128 bytes.
 */
#ifndef JESCOPE_PROFILE_SIZE_CLASS_H
#define JESCOPE_PROFILE_SIZE_CLASS_H

#include <glib.h>

enum { SIZE_CLASSES = 256 }; /* an upper bound of their numbers */

/* The smallest class of at least SIZE bytes. */
guint32 size_class_of(guint64 size);

/* Bytes. */
gdouble size_class_bytes(guint32 size_class);

/* "1.25 KiB", newly allocated. Exact. */
char *size_class_text(guint32 size_class);

/* The class of objects of this mean size. FALSE: they are of several classes, and *size_class is the smallest one that
 * is not below their mean. */
gboolean size_class_of_mean(gdouble mean, guint32 *size_class);

#endif
