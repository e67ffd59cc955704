/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/report-query.h"

#include "routes/native-parameters.h"
#include "routes/reply.h"
#include "routes/values.h"

#include <stdio.h>
#include <string.h>

static const ReportForm forms[] = {
    {"raw", REPLY_BYTES, ".heap", true, true},
    {"text", REPLY_UTF8, ".txt", false, false},
    {"tree", REPLY_UTF8, ".tree.txt", false, false},
    {"folded", REPLY_UTF8, ".folded.txt", false, false},
    {"flamegraph", "image/svg+xml", ".svg", false, false},
    {"callgraph", "text/vnd.graphviz", ".dot", false, false},
    {"callgraph-svg", "image/svg+xml", ".callgraph.svg", false, false},
    {"speedscope", REPLY_JSON, ".speedscope.json", false, false},
    {"pprof", REPLY_BYTES, ".pb.gz", false, true},
    {"symbolized", REPLY_BYTES, ".symbolized", false, true},
    {"source", REPLY_UTF8, ".source.txt", false, false},
    {"json", REPLY_JSON, ".json", false, false},
};

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

#define PARAMETER_KIND_TEXT(argument)                              "text"
#define PARAMETER_KIND_WORDS(argument)                             argument
#define PARAMETER_KIND_REGEX(argument)                             "regex"
#define PARAMETER_KIND_FRACTION(argument)                          "fraction"
#define PARAMETER_KIND_FLAG(argument)                              "boolean"
#define PARAMETER_KIND_COUNT(argument)                             "integer"
#define PARAMETER_ROW(name, letter, kind, member, about, argument) {name, PARAMETER_KIND_##kind(argument), about},
const RouteParameter report_query_parameters[] = {
    {"format", "raw|" REPORT_FORMAT_WORDS, "the dump as it is (raw, the default), or a report of it"},
    {"base", "id", "report what changed since this dump; 'latest' is the newest one kept"},
    REPORT_SHAPE_OPTIONS(PARAMETER_ROW) REPORT_SELECT_OPTIONS(PARAMETER_ROW) REPORT_READ_OPTIONS(PARAMETER_ROW){0},
};

const ReportForm *
report_form_find(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, name) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

bool
report_form_takes_base(const ReportForm *form)
{
    return !form->is_raw && strcmp(form->name, "symbolized") != 0;
}

/* False: the reply is a refusal. TEXT stays empty if there is nothing to add. */
static bool
read_option(const RouteRequest *request, size_t row, char *text, size_t size, RouteReply *reply)
{
    const char *name = options[row].name;
    QueryValue value;
    bool flag = false;
    uint64_t count;
    text[0] = '\0';
    if (options[row].kind == KIND_FLAG) {
        if (!native_boolean(request, name, NATIVE_OPTIONAL, &flag, reply)) {
            return false;
        }
        if (flag) {
            snprintf(text, size, "--%s", name);
        }
        return true;
    }
    if (native_find(request, name, &value) == QUERY_ABSENT) {
        return true;
    }
    if (options[row].kind == KIND_COUNT && (!value_unsigned(value.text, &count) || count > INT32_MAX)) {
        native_refuse(reply, name, value.text, "a number; 0 shows all");
        return false;
    }
    snprintf(text, size, "--%s=%s", name, value.text);
    return true;
}

bool
report_query_read(ReportQuery *query, const RouteRequest *request, RouteReply *reply)
{
    size_t n = 0;
    for (size_t i = 0; i < REPORT_QUERY_OPTIONS; i++) {
        if (!read_option(request, i, query->texts[i], sizeof query->texts[i], reply)) {
            return false;
        }
        if (query->texts[i][0] != '\0') {
            query->options[n++] = query->texts[i];
        }
    }
    query->options[n] = NULL;
    return true;
}
