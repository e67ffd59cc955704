/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a report: the sum of its sources, optionally compared with another one. In two steps, as in source.h. */
#ifndef JESCOPE_SOURCE_COMPARISON_H
#define JESCOPE_SOURCE_COMPARISON_H

#include "source/source.h"

typedef struct {
    GPtrArray *now_parts, *base_parts; /* Source; base_parts is NULL without a base */
    Source *now, *base;                /* set by comparison_finish(); base may be NULL */
} Comparison;

/* Opens `names` (n of them) and `base` (or NULL) like source_begin_all(). comparison must be cleared, also on error. */
gboolean comparison_begin(Comparison *comparison, char *const *names, guint n, char *base, const SourceOptions *options,
                          GError **error);

/* Reads and symbolizes them. */
gboolean comparison_finish(Comparison *comparison, const SourceOptions *options, GError **error);

/* source_author() of all. */
uid_t comparison_author(const Comparison *comparison);

/* The descriptors that comparison_finish() needs, of int. */
GArray *comparison_descriptors(const Comparison *comparison);

void comparison_clear(Comparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Comparison, comparison_clear)

#endif
