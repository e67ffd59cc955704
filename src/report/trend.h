/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth over several dumps: functions and stacks of functions with their verdict and its evidence, as text or JSON.
 * Names, wrappers and filters are those of reports (report/view.h): each name is one row, independent of addresses.
 */
#ifndef JESCOPE_REPORT_TREND_H
#define JESCOPE_REPORT_TREND_H

#include "profile/growth.h"
#include "report/report.h"

/* A responsible function: the deepest one with most of some growth that does not merely allocate for others. */
typedef struct {
    const char *const *functions; /* the function, and its callers outwards */
    guint n_functions;
    gdouble grown; /* from the first to the last dump */
    gdouble p;     /* the probability of such growth by chance */
} TrendCulprit;

typedef struct {
    const Growth *growth;
    const Symbols *symbols;   /* of growth_profile(growth) */
    const char *const *names; /* of the dumps, in order */
    const gdouble *times;     /* of the dumps, seconds */
    gsize n_profiles;
    gboolean has_times;           /* FALSE: times are the numbers of the dumps */
    const char *const *notes;     /* notes for every reader, NULL-terminated, or NULL */
    const TrendCulprit *culprits; /* those with the most growth first, or NULL */
    guint n_culprits;
} TrendInput;

typedef enum {
    TREND_TEXT,
    TREND_JSON,
} TrendFormat;

/* Uses value, filters, granularity and limit of options (default 10 functions and 10 stacks; JSON: all). Fails with
 * REPORT_ERROR_EMPTY if there is no stack, or none passes the filters: then nothing is written as text, and JSON has
 * the reason among its notes. */
gboolean trend_write(const TrendInput *input, const ReportOptions *options, TrendFormat format, GOutputStream *out,
                     GError **error);

#endif
