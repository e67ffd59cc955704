/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several dumps of one program, in the order they were taken, and what their times mean for its growth. In two steps,
 * as in source.h.
 */
#ifndef JESCOPE_SOURCE_DUMPS_H
#define JESCOPE_SOURCE_DUMPS_H

#include "profile/growth.h"
#include "source/source.h"

typedef struct {
    GPtrArray *sources;  /* Source */
    GPtrArray *profiles; /* of sources */
    GPtrArray *names;    /* of sources */
    GArray *times;       /* gdouble: seconds since 1970, or the numbers of the dumps */
    GArray *clock;       /* gdouble: seconds of sampling if known, else times; NULL: times */
    GPtrArray *notes;    /* char *, NULL-terminated: notes */
    TargetFiles *files;
    gboolean has_times;
    gboolean partial; /* a part of a dump could not be read */
} Dumps;

/* Opens `names` (NULL-terminated), and takes dumps of live targets. Sets the files for names in options. dumps must be
 * cleared, also on error. */
gboolean dumps_begin(Dumps *dumps, char *const *names, SourceOptions *options, GError **error);

/* Reads them: profiles, times, clock and notes. */
gboolean dumps_finish(Dumps *dumps, const SourceOptions *options, GError **error);

/* Names the first dump that does not carry VALUE, and the reason; NULL: all carry it. */
char *dumps_why_unknown(const Dumps *dumps, ProfileValue value);

/* Whether nothing was sampled in any dump. */
gboolean dumps_are_empty(const Dumps *dumps, ProfileValue value);

/* Calls growth_new() with the dumps and their clock. */
Growth *dumps_growth(const Dumps *dumps, ProfileValue value, GError **error);

void dumps_clear(Dumps *dumps);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Dumps, dumps_clear)

#endif
