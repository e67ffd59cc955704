/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth over several dumps: functions and stacks of functions with their verdict and its evidence, as text or JSON.
 * Names, wrappers and filters are those of reports (report/view.h): each name is one row, independent of addresses.
 */
#ifndef JESCOPE_REPORT_TREND_H
#define JESCOPE_REPORT_TREND_H

#include "profile/growth.h"
#include "report/report.h"

/* A function to blame: the deepest one with most of some growth, which does not only allocate for others. */
typedef struct {
    const char *const *functions; /* it, and its callers outwards */
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
    gboolean has_times;           /* FALSE: times only count the dumps */
    const char *const *notes;     /* sentences that every reader should see, NULL-terminated, or NULL */
    const TrendCulprit *culprits; /* the most growth first, or NULL */
    guint n_culprits;
} TrendInput;

typedef enum {
    TREND_TEXT,
    TREND_JSON,
} TrendFormat;

/* Of options count value, filters, granularity and limit (default 10 functions and 10 stacks; JSON: all). Fails with
 * REPORT_ERROR_EMPTY where there is no stack, or the filters leave none: then text is not written, and JSON has the
 * reason among its notes. */
gboolean trend_write(const TrendInput *input, const ReportOptions *options, TrendFormat format, GOutputStream *out,
                     GError **error);

#endif
