/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as a query asks for them: the options of `jescope report` that a client may give. */
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

/* False: a value is invalid, and the reply has the error. The report itself checks values such as regular expressions.
 * */
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

/* For a report of something else than a dump of a target. */
#define REPORT_FORMAT_ROW                                                                                              \
    {                                                                                                                  \
        "format", REPORT_FORMAT_WORDS, "a report of it (docs/formats.md; default json)"                                \
    }
#define REPORT_DOCUMENT_ROWS REPORT_SHAPE_OPTIONS(REPORT_PARAMETER_ROW) REPORT_SELECT_OPTIONS(REPORT_PARAMETER_ROW)

/* Rows of RouteParameter for all of it, "format" and "base" too. */
extern const RouteParameter report_query_parameters[];

/* Those of a report of the growth over several dumps. */
extern const RouteParameter growth_query_parameters[];

/* How a dump is taken. */
#define CAPTURE_PARAMETER_ROWS                                                                                         \
    {"force", "boolean", "take the dump even if the target's memory control group may have no room for it"},           \
    {                                                                                                                  \
        "max-output", "size", "maximum size of the dump, from 4KiB to 64GiB (default 1GiB)"                            \
    }

/* How one that stays is taken. */
#define KEEP_PARAMETER_ROWS {"symbolize", "boolean", "store the names of functions in the dump"}, CAPTURE_PARAMETER_ROWS

/* These and CAPTURE_PARAMETER_ROWS. */
extern const RouteParameter dump_query_parameters[];

#endif
