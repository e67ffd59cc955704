/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/fleet": queries to the store of all hosts' dumps that the operator configured, answered by `jescope fleet`
 * in a child (render.h). Answers are about other users' processes: for clients that may see every target. */
#include "site/offload.h"
#include "site/table.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/query.h"
#include "routes/render.h"
#include "routes/reply.h"
#include "routes/report-format.h"
#include "routes/report-query.h"

#include <string.h>

enum {
    SECONDS = 120,
    WORD_MAX = 64,
    QUESTION = 3, /* index of the component in the path */
};

/* The supported queries. */
typedef struct {
    const char *name;
    const char *operand;        /* the parameter that becomes the operand; NULL: none */
    const char *const *options; /* parameters passed on unchanged, NULL at the end */
    gboolean needed;            /* the operand is required */
    gboolean reports;           /* in a report format, else JSON */
} Question;

#define PART_NAMES(prefix)                                                                                             \
    prefix "version", prefix "host", prefix "zone", prefix "label", prefix "at", prefix "from", prefix "to"

static const char *const part[] = {PART_NAMES(""), "window", NULL};
static const char *const ranked[] = {PART_NAMES(""), "window", "count", NULL};
static const char *const two_parts[] = {PART_NAMES(""), PART_NAMES("base-"), "window", NULL};
static const char *const part_of_service[] = {"service", PART_NAMES(""), "window", NULL};

static const Question questions[] = {
    {"services", NULL, part, FALSE, FALSE},     {"top", "by", ranked, FALSE, FALSE},
    {"hosts", "service", part, TRUE, FALSE},    {"trace", "function", part_of_service, TRUE, FALSE},
    {"growth", "service", part, TRUE, FALSE},   {"report", "service", part, TRUE, TRUE},
    {"diff", "service", two_parts, TRUE, TRUE},
};

/* A request. */
typedef struct {
    const SiteStore *store;
    const char *content_type;
    char *question, *operand;
    GPtrArray *options;
} Ask;

static const Question *
question_of(const char *path)
{
    char word[WORD_MAX] = "";
    path_component(path, QUESTION, word, sizeof(word));
    for (gsize i = 0; i < G_N_ELEMENTS(questions); i++)
        if (strcmp(questions[i].name, word) == 0)
            return &questions[i];
    return NULL;
}

/* On a thread. */
static void
answer_ask(gpointer data, gint *left, RouteReply *reply)
{
    const Ask *ask = data;
    Failure failure = {0};
    int descriptor = -1;
    const RenderSetup setup = {
        .program = RENDER_SELF, .seconds = SECONDS, .is_wanted = offload_is_wanted, .data = left};
    const RenderQuestion wanted = {ask->question, (const char *const *)(void *)ask->options->pdata, ask->operand};
    Outcome result = render_question(&setup, &wanted, &descriptor, &failure);
    if (result == OUTCOME_DONE)
        reply_file(reply, ask->content_type, descriptor);
    else if (result == OUTCOME_NOT_FOUND)
        native_error(reply, 404, &(NativeError){"not_found", "see GET /api/v1/fleet/services"}, "%s", failure.why);
    else if (result == OUTCOME_SYSTEM)
        native_error(reply, 502, &(NativeError){"store", "see whether the store of --store answers"}, "%s",
                     failure.why);
    else
        native_failure(reply, result, &failure);
}

static void
free_ask(gpointer data)
{
    Ask *ask = data;
    g_free(ask->question);
    g_free(ask->operand);
    g_clear_pointer(&ask->options, g_ptr_array_unref);
    g_free(ask);
}

static void
add_option(GPtrArray *options, const char *name, const char *value)
{
    g_ptr_array_add(options, g_strdup_printf("--%s=%s", name, value));
}

static void
add_store(GPtrArray *options, const SiteStore *store)
{
    add_option(options, "store", store->url);
    if (store->token_file != NULL)
        add_option(options, "token-file", store->token_file);
    if (store->ca_file != NULL)
        add_option(options, "ca-file", store->ca_file);
}

/* FALSE: REPLY is the error. */
static gboolean
add_report(Ask *ask, const RouteRequest *request, RouteReply *reply)
{
    QueryValue word = {.text = "json"};
    ReportQuery query;
    native_find(request, "format", &word);
    const ReportFormat *format = report_format_find(word.state == QUERY_ABSENT ? "json" : word.text);
    if (format == NULL || (format->flags & REPORT_FORMAT_SOURCE_LINES) != 0) {
        native_refuse(reply, "format", word.text, "a format of reports without lines of source files");
        return FALSE;
    }
    if (!report_query_read(&query, request, reply))
        return FALSE;
    ask->content_type = format->content_type;
    add_option(ask->options, "format", format->name);
    for (const char *const *option = query.options; *option != NULL; option++)
        g_ptr_array_add(ask->options, g_strdup(*option));
    return TRUE;
}

/* FALSE: REPLY is the error. */
static gboolean
fill(Ask *ask, const Question *question, const RouteRequest *request, RouteReply *reply)
{
    uint64_t sums = 0;
    QueryValue value;
    add_store(ask->options, ask->store);
    for (const char *const *name = question->options; *name != NULL; name++)
        if (native_find(request, *name, &value) != QUERY_ABSENT)
            add_option(ask->options, *name, value.text);
    if (!native_read(request, NATIVE_BOOLEAN, "sum", &sums, reply) ||
        (question->reports && !add_report(ask, request, reply)))
        return FALSE;
    if (sums != 0)
        g_ptr_array_add(ask->options, g_strdup("--sum"));
    if (!question->reports)
        g_ptr_array_add(ask->options, g_strdup("--json"));
    g_ptr_array_add(ask->options, NULL);
    if (question->operand != NULL && native_find(request, question->operand, &value) != QUERY_ABSENT)
        ask->operand = g_strdup(value.text);
    if (question->needed && ask->operand == NULL)
        native_error(reply, 400, &(NativeError){"missing_parameter", "see GET /api/v1/fleet/services"},
                     "the parameter %s is missing", question->operand);
    return ask->operand != NULL || !question->needed;
}

/* NULL: EXCHANGE may ask. */
static const AnswerFailure *
why_refused(const Site *site, Exchange *exchange)
{
    static const AnswerFailure hidden = {403, "not_allowed",
                                         "the fleet is shown to clients that see every target of this machine",
                                         "use a token, or connect as the user of the server"};
    static const AnswerFailure missing = {409, "no_store", "this server has no store of a fleet",
                                          "start it with --store=clickhouse://HOST:8123/DATABASE"};
    return exchange_viewer(exchange) != VIEWER_ALL ? &hidden : site->store.url == NULL ? &missing : NULL;
}

static void
serve_question(Site *site, Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    const Question *question = question_of(request->path);
    RouteReply reply = {.descriptor = -1};
    const AnswerFailure *failure = why_refused(site, exchange);
    if (failure != NULL) {
        exchange_fail(exchange, failure);
        return;
    }
    Ask *ask = g_new0(Ask, 1);
    *ask = (Ask){.store = &site->store,
                 .content_type = REPLY_JSON,
                 .question = g_strdup(question->name),
                 .options = g_ptr_array_new_with_free_func(g_free)};
    if (fill(ask, question, request, &reply)) {
        offload(site, exchange,
                &(Offload){.answer = answer_ask, .data = ask, .free_data = free_ask, .kind = OFFLOAD_FLEET});
        return;
    }
    exchange_answer(exchange,
                    answer_new_route(&reply, exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN, NULL));
    free_ask(ask);
}

/* For the page: whether a store is configured. */
static void
serve_state(Site *site, Exchange *exchange)
{
    gboolean asks = site->store.url != NULL && exchange_viewer(exchange) == VIEWER_ALL;
    const char *text = asks ? "{\"store\":true}\n" : "{\"store\":false}\n";
    exchange_answer(exchange, answer_new(200, REPLY_JSON, g_bytes_new(text, strlen(text)), ANSWER_PLAIN));
}

/* ---- the table ---- */

#define PART_ROWS(prefix, of, when)                                                                                    \
    {prefix "version", "text", of "processes of this version"}, {prefix "host", "text", of "processes on this host"},  \
        {prefix "zone", "text", of "processes in this zone"},                                                          \
        {prefix "label", "text", of "processes with this label, NAME=VALUE"},                                          \
        {prefix "at", "text", when "state at this time (default: of the latest dump)"},                                \
        {prefix "from", "text", when "mean over a range of time from here"},                                           \
    {                                                                                                                  \
        prefix "to", "text", when "end of the range (default: now)"                                                    \
    }
#define WINDOW_ROW                                                                                                     \
    {                                                                                                                  \
        "window", "duration", "a process counts with its latest dump of this long before a time (default 5m)"          \
    }
#define SERVICE_ROW                                                                                                    \
    {                                                                                                                  \
        "service", "text", "the service"                                                                               \
    }

static const RouteParameter part_parameters[] = {PART_ROWS("", "only ", ""), WINDOW_ROW, {0}};
static const RouteParameter top_parameters[] = {
    {"by", "bytes|waste|growth", "order of services (default bytes)"},
    {"count", "integer", "maximum number of services; 0: no limit (default 20)"},
    PART_ROWS("", "only ", ""),
    WINDOW_ROW,
    {0}};
static const RouteParameter service_parameters[] = {SERVICE_ROW, PART_ROWS("", "only ", ""), WINDOW_ROW, {0}};
static const RouteParameter trace_parameters[] = {
    {"function", "text", "the function"}, SERVICE_ROW, PART_ROWS("", "only ", ""), WINDOW_ROW, {0}};
static const RouteParameter report_parameters[] = {SERVICE_ROW, PART_ROWS("", "only ", ""), WINDOW_ROW,
                                                   REPORT_FORMAT_ROW, REPORT_DOCUMENT_ROWS{0}};
static const RouteParameter diff_parameters[] = {
    SERVICE_ROW,
    PART_ROWS("", "only ", ""),
    PART_ROWS("base-", "before, ", "before, "),
    WINDOW_ROW,
    {"sum", "boolean", "compare all processes together instead of the mean of one"},
    REPORT_FORMAT_ROW,
    REPORT_DOCUMENT_ROWS{0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet", "whether this server has a store of a fleet to ask",
     .serve = serve_state},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/services", "services of the fleet, and what they have in use",
     .parameters = part_parameters, .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/top", "services that hold, waste or grow most",
     .parameters = top_parameters, .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/report",
     "report of what holds the memory of all processes of a service", .parameters = report_parameters,
     .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/diff",
     "change of a service between two versions, hosts, zones or times", .parameters = diff_parameters,
     .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/growth", "functions and stacks of a service that grow",
     .parameters = service_parameters, .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/hosts", "hosts of a service, and those that differ",
     .parameters = service_parameters, .serve = serve_question},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/fleet/trace", "what one function has held over time, on each host",
     .parameters = trace_parameters, .serve = serve_question},
};

const RouteTable fleet_answer_routes = {rows, G_N_ELEMENTS(rows)};
