/* SPDX-License-Identifier: Apache-2.0 */
/* What growth over several dumps looks like: stacks with their verdict and the evidence for it, as text or JSON. */
#ifndef JESCOPE_REPORT_TREND_H
#define JESCOPE_REPORT_TREND_H

#include "profile/growth.h"
#include "report/report.h"

typedef struct {
    const Growth *growth;
    const Symbols *symbols;   /* of growth_profile(growth) */
    const char *const *names; /* of the dumps, in order */
    const gdouble *times;     /* of the dumps, seconds */
    gsize n_profiles;
    gboolean has_times; /* FALSE: times only count the dumps */
} TrendInput;

typedef enum {
    TREND_TEXT,
    TREND_JSON,
} TrendFormat;

/* Of options count value, filters, granularity and limit (default 10 stacks; JSON: all). */
gboolean trend_write(const TrendInput *input, const ReportOptions *options, TrendFormat format, GOutputStream *out,
                     GError **error);

const char *trend_verdict_name(GrowthVerdict verdict); /* "still growing" */

#endif
