/* SPDX-License-Identifier: Apache-2.0 */
/* A request for /api/v1/targets/{target}/series. */
#ifndef JESCOPE_SITE_SERIES_QUERY_H
#define JESCOPE_SITE_SERIES_QUERY_H

#include "history/series.h"

#define SERIES_QUERY_ERROR (series_query_error_quark())
GQuark series_query_error_quark(void);

typedef enum {
    SERIES_QUERY_ERROR_PARAMETER,
} SeriesQueryError;

enum {
    SERIES_QUERY_SELECTORS_MAX = 16,
};

typedef struct {
    char **selectors; /* at least one */
    HistoryRange range;
    guint64 step_us;
    SeriesEach each;
    gboolean rate;
    const char *content_type;
    void (*write)(const GPtrArray *series, GString *out);
} SeriesRequest;

/* Reads the parameters metric (a selector of series.h, or several separated by ','; required), from, to (seconds since
 * 1970, "-2h", "now" or ISO 8601, in UTC unless it names an offset), step (a duration), each, rate and format of QUERY,
 * undecoded. Relative times refer to NOW_US. Errors name the parameter. Clear with series_request_clear(). */
gboolean series_request_parse(const char *query, gint64 now_us, SeriesRequest *request, GError **error);
void series_request_clear(SeriesRequest *request);

#endif
