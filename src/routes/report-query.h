/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `jescope report` in the query of a request. */
#ifndef JESCOPE_ROUTES_REPORT_QUERY_H
#define JESCOPE_ROUTES_REPORT_QUERY_H

#include "routes/query.h"
#include "routes/report-options.h"
#include "routes/route.h"

#define REPORT_ONE(name, letter, kind, member, about, argument) +1
enum {
    REPORT_QUERY_OPTIONS =
        0 REPORT_SHAPE_OPTIONS(REPORT_ONE) REPORT_SELECT_OPTIONS(REPORT_ONE) REPORT_READ_OPTIONS(REPORT_ONE),
    REPORT_OPTION_MAX = QUERY_VALUE_MAX + 24, /* with "--NAME=" */
};

/* Arguments for RouteRendering.options, which points into it. */
typedef struct {
    const char *options[REPORT_QUERY_OPTIONS + 1];
    char texts[REPORT_QUERY_OPTIONS][REPORT_OPTION_MAX];
} ReportQuery;

/* False: a value is invalid, and the reply is the error. Values such as regular expressions are checked by the report
 * itself. */
bool report_query_read(ReportQuery *query, const RouteRequest *request, RouteReply *reply);

/* Whether OPTION, "--NAME" or "--NAME=VALUE", can result from a request. */
bool report_query_offers(const char *option);

/* Rows of RouteParameter for a list of report-options.h. */
#define REPORT_PARAMETER_KIND_TEXT(argument)     "text"
#define REPORT_PARAMETER_KIND_WORDS(argument)    argument
#define REPORT_PARAMETER_KIND_REGEX(argument)    "regex"
#define REPORT_PARAMETER_KIND_FRACTION(argument) "fraction"
#define REPORT_PARAMETER_KIND_FLAG(argument)     "boolean"
#define REPORT_PARAMETER_KIND_COUNT(argument)    "integer"
#define REPORT_PARAMETER_ROW(name, letter, kind, member, about, argument)                                              \
    {name, REPORT_PARAMETER_KIND_##kind(argument), about},

/* For a report that is not of one target's dump. */
#define REPORT_FORMAT_ROW                                                                                              \
    {                                                                                                                  \
        "format", REPORT_FORMAT_WORDS, "a report of it (docs/formats.md; default json)"                                \
    }
#define REPORT_DOCUMENT_ROWS REPORT_SHAPE_OPTIONS(REPORT_PARAMETER_ROW) REPORT_SELECT_OPTIONS(REPORT_PARAMETER_ROW)

/* Rows of RouteParameter for all of them, including "format" and "base". */
extern const RouteParameter report_query_parameters[];

/* Parameters of a growth report. */
extern const RouteParameter growth_query_parameters[];

/* Rows for options of taking a dump. */
#define CAPTURE_PARAMETER_ROWS                                                                                         \
    {"force", "boolean", "take the dump even if the target's memory control group may have no room for it"},           \
    {                                                                                                                  \
        "max-output", "size", "maximum size of the dump, from 4KiB to 64GiB (default 1GiB)"                            \
    }

/* Rows for options of taking a dump that is kept. */
#define KEEP_PARAMETER_ROWS {"symbolize", "boolean", "store the names of functions in the dump"}, CAPTURE_PARAMETER_ROWS

/* report_query_parameters and CAPTURE_PARAMETER_ROWS. */
extern const RouteParameter dump_query_parameters[];

#endif
