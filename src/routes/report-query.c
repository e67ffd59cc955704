/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/report-query.h"

#include "routes/native-parameters.h"
#include "routes/report-format.h"

#include <stdio.h>
#include <string.h>

typedef enum {
    KIND_TEXT,
    KIND_WORDS,
    KIND_REGEX,
    KIND_FRACTION,
    KIND_FLAG,
    KIND_COUNT,
} Kind;

#define OPTION_ROW(name, letter, kind, member, about, argument) {name, KIND_##kind},
static const struct {
    const char *name;
    Kind kind;
} options[] = {REPORT_SHAPE_OPTIONS(OPTION_ROW) REPORT_SELECT_OPTIONS(OPTION_ROW) REPORT_READ_OPTIONS(OPTION_ROW)};

#define REPORT_PARAMETER_ROWS                                                                                          \
    {"format", report_raw_words, "the dump as it is (raw, the default), or a report of it (docs/formats.md)"},         \
        {"base", "id",                                                                                                 \
         "report what changed since this dump, of this target or of another one of its user; 'latest' is the newest "  \
         "one kept of this target"},                                                                                   \
        REPORT_SHAPE_OPTIONS(REPORT_PARAMETER_ROW) REPORT_SELECT_OPTIONS(REPORT_PARAMETER_ROW)                         \
            REPORT_READ_OPTIONS(REPORT_PARAMETER_ROW)

const RouteParameter report_query_parameters[] = {REPORT_PARAMETER_ROWS{0}};

const RouteParameter growth_query_parameters[] = {
    {"by", REPORT_GRANULARITIES, "aggregate by"},
    {"count", "integer", "maximum number of functions and of stacks; 0: no limit"},
    REPORT_SELECT_OPTIONS(REPORT_PARAMETER_ROW) REPORT_READ_OPTIONS(REPORT_PARAMETER_ROW){0},
};

/* The last two apply to a dump that is taken now. */
const RouteParameter dump_query_parameters[] = {REPORT_PARAMETER_ROWS CAPTURE_PARAMETER_ROWS, {0}};

/* False: the reply is the error. TEXT stays empty if there is nothing to add. */
static bool
read_option(const RouteRequest *request, size_t row, char *text, size_t size, RouteReply *reply)
{
    const char *name = options[row].name;
    QueryValue value;
    uint64_t flag = 0;
    uint64_t count;
    text[0] = '\0';
    if (options[row].kind == KIND_FLAG) {
        if (!native_read(request, NATIVE_BOOLEAN, name, &flag, reply))
            return false;
        if (flag != 0)
            snprintf(text, size, "--%s", name);
        return true;
    }
    if (native_find(request, name, &value) == QUERY_ABSENT)
        return true;
    if (options[row].kind == KIND_COUNT && !native_read(request, NATIVE_COUNT, name, &count, reply))
        return false;
    snprintf(text, size, "--%s=%s", name, value.text);
    return true;
}

bool
report_query_offers(const char *option)
{
    if (strncmp(option, "--", 2) != 0)
        return false;
    size_t length = strcspn(option + 2, "=");
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, option + 2, length) == 0)
            return (option[2 + length] == '\0') == (options[i].kind == KIND_FLAG);
    return false;
}

bool
report_query_read(ReportQuery *query, const RouteRequest *request, RouteReply *reply)
{
    size_t n = 0;
    for (size_t i = 0; i < REPORT_QUERY_OPTIONS; i++) {
        if (!read_option(request, i, query->texts[i], sizeof(query->texts[i]), reply))
            return false;
        if (query->texts[i][0] != '\0')
            query->options[n++] = query->texts[i];
    }
    query->options[n] = NULL;
    return true;
}
