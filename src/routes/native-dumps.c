/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-dump.h"
#include "routes/native.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/report-format.h"
#include "routes/report-query.h"
#include "routes/values.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WORD_MAX = 32,
    NAME_SIZE = 64,
};

/* The raw dump. */
static const ReportFormat raw = {.name = "raw", .content_type = REPLY_BYTES, .suffix = ".heap"};

static const char list_hint[] = "see GET .../dumps; 'now' takes a dump, 'latest' is the newest one kept";

static void
add_dump(Json *json, const RouteDump *dump)
{
    json_number(json, "id", dump->id);
    json_seconds(json, "taken", dump->taken_ms);
    json_number(json, "bytes", dump->bytes);
    if (dump->recording != 0)
        json_number(json, "recording", dump->recording);
    else
        json_put_null(json, "recording");
}

static void
native_dumps(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteDump rows[ROUTE_DUMPS_MAX];
    size_t n = host->ops->dumps(host->data, rows, ROUTE_DUMPS_MAX);
    Json json;
    native_begin(&json, reply, 200);
    json_begin_array(&json, "dumps");
    for (size_t i = 0; i < n; i++) {
        json_begin_object(&json, NULL);
        add_dump(&json, &rows[i]);
        json_end(&json);
    }
    json_end(&json);
    native_end(&json);
}

static void
native_dump_take(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Failure failure = {0};
    RouteCapture capture;
    RouteDump dump;
    Json json;
    if (!native_capture(request, &capture, reply))
        return;
    Outcome result = host->ops->dump_take(host->data, &capture, &dump, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    native_begin(&json, reply, 201);
    add_dump(&json, &dump);
    native_end(&json);
    native_location(reply, request, dump.id);
}

/* The requested dump in one format, optionally compared with another one. */
typedef struct {
    const RouteHost *host;
    const RouteRequest *request;
    RouteReply *reply;
    const ReportFormat *format;
    ReportQuery query;
    RouteCapture capture; /* of one taken now */
    uint64_t id;          /* 0: taken now */
    uint64_t base;        /* 0: none */
} Sending;

/* The id of WORD: a number, or the newest kept dump. False: none, and the reply has the error. */
static bool
resolve(const Sending *sending, const char *word, uint64_t *id)
{
    RouteDump latest;
    bool found = strcmp(word, "latest") == 0
                     ? sending->host->ops->dumps(sending->host->data, &latest, 1) == 1 && (*id = latest.id, true)
                     : value_unsigned(word, id) && *id != 0;
    if (!found)
        native_error(sending->reply, 404, &(NativeError){"not_found", list_hint}, "no such dump: %s", word);
    return found;
}

static bool
open_dump(const Sending *sending, uint64_t id, int *descriptor)
{
    const RouteHostOps *ops = sending->host->ops;
    Failure failure = {0};
    Outcome result = id == sending->base && ops->base_open != NULL
                         ? ops->base_open(sending->host->data, id, descriptor, &failure)
                         : ops->dump_open(sending->host->data, id, descriptor, &failure);
    if (result == OUTCOME_NOT_FOUND) {
        native_error(sending->reply, 404, &(NativeError){"not_found", list_hint}, "no such dump: %llu",
                     (unsigned long long)id);
    } else if (result != OUTCOME_DONE) {
        native_failure(sending->reply, result, &failure);
    }
    return result == OUTCOME_DONE;
}

static bool
take_dump(const Sending *sending, int *descriptor)
{
    Failure failure = {0};
    Outcome result = sending->host->ops->dump(sending->host->data, &sending->capture, descriptor, &failure);
    if (result != OUTCOME_DONE)
        native_failure(sending->reply, result, &failure);
    return result == OUTCOME_DONE;
}

/* Closes DUMP. False: no report, and the reply has the error. */
static bool
render(const Sending *sending, int dump, int *report)
{
    RouteRendering rendering = {
        .format = sending->format->name, .options = sending->query.options, .dump = dump, .base = -1};
    Failure failure = {0};
    bool opened = sending->base == 0 || open_dump(sending, sending->base, &rendering.base);
    Outcome result =
        opened ? sending->host->ops->render(sending->host->data, &rendering, report, &failure) : OUTCOME_NOT_FOUND;
    close(dump);
    if (rendering.base >= 0)
        close(rendering.base);
    if (opened && result != OUTCOME_DONE)
        native_failure(sending->reply, result, &failure);
    return result == OUTCOME_DONE;
}

/* False: no report, and the reply has the error. */
static bool
send_page(const Sending *sending, int *report)
{
    const RoutePage page = {sending->query.options, sending->id, sending->base};
    Failure failure = {0};
    Outcome result = sending->host->ops->page(sending->host->data, &page, report, &failure);
    if (result == OUTCOME_NOT_FOUND)
        native_error(sending->reply, 404, &(NativeError){"not_found", list_hint}, "%s", failure.why);
    else if (result != OUTCOME_DONE)
        native_failure(sending->reply, result, &failure);
    return result == OUTCOME_DONE;
}

/* Sends the report, or the dump itself. False: the reply has the error. */
static bool
make_body(const Sending *sending, int *body)
{
    int dump = -1;
    bool is_page = sending->id != 0 && sending->host->ops->page != NULL && strcmp(sending->format->name, "page") == 0;
    if (is_page)
        return send_page(sending, body);
    if (sending->id != 0 ? !open_dump(sending, sending->id, &dump) : !take_dump(sending, &dump))
        return false;
    if (sending->format != &raw)
        return render(sending, dump, body);
    *body = dump;
    return true;
}

/* A name that is valid in any file system and shell. */
static void
add_name_header(const Sending *sending)
{
    char name[NAME_SIZE] = "target";
    path_component(sending->request->path, NATIVE_TARGET, name, sizeof(name));
    for (char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-';
        *c = plain || (*c == '.' && c != name) ? *c : '_';
    }
    const char *disposition = strcmp(sending->format->content_type, REPLY_BYTES) == 0 ? "attachment" : "inline";
    if (sending->id != 0) {
        reply_header(sending->reply, "Content-Disposition", "%s; filename=\"%s.%llu%s\"", disposition, name,
                     (unsigned long long)sending->id, sending->format->suffix);
    } else {
        reply_header(sending->reply, "Content-Disposition", "%s; filename=\"%s%s\"", disposition, name,
                     sending->format->suffix);
    }
}

/* A number of this process: in another one, the ids of dumps that are not kept in a file begin again. */
static unsigned long long
number_of_process(void)
{
    static _Atomic unsigned long long number;
    unsigned long long none = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_compare_exchange_strong(&number, &none, (unsigned long long)now.tv_sec * 1000000000 + (unsigned)now.tv_nsec);
    return atomic_load(&number);
}

/* A kept dump never changes: the same request has the same response, except for names. */
static void
add_tag(const Sending *sending)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    for (const char *c = sending->request->query; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619;
    reply_header(sending->reply, "ETag", "\"%llx-%llu-%llu-%s-%08x\"", number_of_process(),
                 (unsigned long long)sending->id, (unsigned long long)sending->base, sending->format->name, hash);
}

static bool
read_base(Sending *sending)
{
    QueryValue base;
    if (native_find(sending->request, "base", &base) == QUERY_ABSENT)
        return true;
    if (sending->format == &raw || (sending->format->flags & REPORT_FORMAT_NO_BASE) != 0) {
        native_refuse(sending->reply, "base", base.text, "omitted: this format cannot show a difference");
        return false;
    }
    return resolve(sending, base.text, &sending->base);
}

/* The names of source files come from the program, which could name any file that jescope may read. */
static bool
is_granted(const Sending *sending)
{
    if ((sending->format->flags & REPORT_FORMAT_SOURCE_LINES) == 0 || (sending->host->grants & ROUTE_GRANT_SOURCE) != 0)
        return true;
    native_error(
        sending->reply, 403,
        &(NativeError){
            "source_not_allowed",
            "start the server with --allow-source, or run 'jescope report --format=source' on the target's machine"},
        "this server does not send source lines");
    return false;
}

static bool
read_format(Sending *sending)
{
    QueryValue format;
    native_find(sending->request, "format", &format);
    bool is_raw = format.state == QUERY_ABSENT || strcmp(format.text, raw.name) == 0;
    sending->format = is_raw ? &raw : report_format_find(format.text);
    if (sending->format == NULL) {
        char must[FAILURE_WHY_MAX];
        snprintf(must, sizeof(must), "one of %s", report_raw_words);
        native_refuse(sending->reply, "format", format.text, must);
    }
    return sending->format != NULL && is_granted(sending);
}

static void
send(Sending *sending)
{
    int body = -1;
    if (!read_format(sending) || !read_base(sending) ||
        !report_query_read(&sending->query, sending->request, sending->reply) || !make_body(sending, &body))
        return;
    reply_file(sending->reply, sending->format->content_type, body);
    add_name_header(sending);
    if (sending->id != 0)
        add_tag(sending);
}

void
native_send_dump(const RouteHost *host, const RouteRequest *request, uint64_t id, RouteReply *reply)
{
    Sending sending = {.host = host, .request = request, .reply = reply, .id = id};
    send(&sending);
}

static const char *
find_capture_parameter(const RouteRequest *request)
{
    static const RouteParameter rows[] = {CAPTURE_PARAMETER_ROWS};
    QueryValue value;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (native_find(request, rows[i].name, &value) != QUERY_ABSENT)
            return rows[i].name;
    return NULL;
}

/* A request that overrides a limit may affect the target. */
static RouteRole
native_dump_role(const RouteRequest *request)
{
    return find_capture_parameter(request) != NULL ? ROUTE_ROLE_CONTROL : ROUTE_ROLE_READ;
}

static bool
check_uncaptured(const RouteRequest *request, RouteReply *reply)
{
    const char *name = find_capture_parameter(request);
    if (name != NULL) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", NATIVE_PARAMETERS_HINT},
                     "%s: only for a dump that is taken now, .../dumps/now", name);
    }
    return name == NULL;
}

static void
native_dump(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Sending sending = {.host = host, .request = request, .reply = reply};
    char word[WORD_MAX] = "";
    path_component(request->path, NATIVE_ID, word, sizeof(word));
    if (strcmp(word, "now") == 0 ? native_capture(request, &sending.capture, reply)
                                 : check_uncaptured(request, reply) && resolve(&sending, word, &sending.id))
        send(&sending);
}

static const RouteParameter dump_take_parameters[] = {
    KEEP_PARAMETER_ROWS,
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/dumps", "kept dumps, newest first", .answer = native_dumps},
    {ROUTE_DIALECT_NATIVE, "POST", NATIVE_PATH "/dumps", "take a dump and keep it", .parameters = dump_take_parameters,
     .flags = ROUTE_SLOW, .role = ROUTE_ROLE_CONTROL, .answer = native_dump_take},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/dumps/{dump}",
     "a dump, or a report of it; 'now' takes a dump without keeping it, 'latest' is the newest one kept",
     .parameters = dump_query_parameters, .flags = ROUTE_SLOW, .role_of = native_dump_role, .answer = native_dump},
};

const RouteTable native_dumps_routes = {rows, sizeof(rows) / sizeof(rows[0])};
