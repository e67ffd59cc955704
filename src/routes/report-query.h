/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as a query asks for them: the formats, and the options of `jescope report` that a client may give. */
#ifndef JESCOPE_ROUTES_REPORT_QUERY_H
#define JESCOPE_ROUTES_REPORT_QUERY_H

#include "routes/query.h"
#include "routes/report-options.h"
#include "routes/routes.h"

#define REPORT_ONE(name, letter, kind, member, about, argument) +1
enum {
    REPORT_QUERY_OPTIONS =
        0 REPORT_SHAPE_OPTIONS(REPORT_ONE) REPORT_SELECT_OPTIONS(REPORT_ONE) REPORT_READ_OPTIONS(REPORT_ONE),
    REPORT_OPTION_MAX = QUERY_VALUE_MAX + 24, /* with "--NAME=" */
};

/* A format of `jescope report`, or the dump as it is. */
typedef struct {
    const char *name;
    const char *content_type;
    const char *suffix; /* of a file that holds it */
    bool is_raw;
    bool is_download; /* nothing that a browser shows */
} ReportForm;

/* NULL: there is none of this name. */
const ReportForm *report_form_find(const char *name);
bool report_form_takes_base(const ReportForm *form);

/* Arguments for RouteRendering.options, which points into it. */
typedef struct {
    const char *options[REPORT_QUERY_OPTIONS + 1];
    char texts[REPORT_QUERY_OPTIONS][REPORT_OPTION_MAX];
} ReportQuery;

/* False: a value is not possible, and the reply says so. What needs more than a look, a regular expression for one, is
 * left to the report itself. */
bool report_query_read(ReportQuery *query, const RouteRequest *request, RouteReply *reply);

/* Rows of RouteParameter for all of it, "format" and "base" too. */
extern const RouteParameter report_query_parameters[];

#endif
