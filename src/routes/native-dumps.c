/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-dump.h"
#include "routes/native.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/report-query.h"
#include "routes/values.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WORD_MAX = 32,
    NAME_SIZE = 64,
};

static const char list_hint[] = "GET .../dumps lists those there are; 'now' takes one, 'latest' is the newest kept";

static void
add_dump(Json *json, const RouteDump *dump)
{
    json_number(json, "id", dump->id);
    json_seconds(json, "taken", dump->taken_ms);
    json_number(json, "bytes", dump->bytes);
    if (dump->recording != 0) {
        json_number(json, "recording", dump->recording);
    } else {
        json_put_null(json, "recording");
    }
}

void
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

void
native_dump_take(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    RouteFailure failure = {0};
    RouteDump dump;
    Json json;
    RouteResult result = host->ops->dump_take(host->data, &dump, &failure);
    if (result != ROUTE_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    native_begin(&json, reply, 201);
    add_dump(&json, &dump);
    native_end(&json);
    reply_header(reply, "Location", "%s/%llu", request->path, (unsigned long long)dump.id);
}

/* What a request is about: the dump in one form, perhaps against another one. */
typedef struct {
    const RouteHost *host;
    const RouteRequest *request;
    RouteReply *reply;
    const ReportForm *form;
    ReportQuery query;
    uint64_t id;   /* 0: taken now */
    uint64_t base; /* 0: none */
} Sending;

/* The id that WORD stands for: a number, or the newest dump kept. False: there is none, and the reply says so. */
static bool
resolve(const Sending *sending, const char *word, uint64_t *id)
{
    RouteDump latest;
    bool found = strcmp(word, "latest") == 0
                     ? sending->host->ops->dumps(sending->host->data, &latest, 1) == 1 && (*id = latest.id, true)
                     : value_unsigned(word, id) && *id != 0;
    if (!found) {
        native_error(sending->reply, 404, &(NativeError){"not_found", list_hint}, "there is no dump '%s'", word);
    }
    return found;
}

static bool
open_dump(const Sending *sending, uint64_t id, int *descriptor)
{
    RouteFailure failure = {0};
    RouteResult result = sending->host->ops->dump_open(sending->host->data, id, descriptor, &failure);
    if (result == ROUTE_NOT_FOUND) {
        native_error(sending->reply, 404, &(NativeError){"not_found", list_hint}, "there is no dump '%llu'",
                     (unsigned long long)id);
    } else if (result != ROUTE_DONE) {
        native_failure(sending->reply, result, &failure);
    }
    return result == ROUTE_DONE;
}

static bool
take_dump(const Sending *sending, int *descriptor)
{
    RouteFailure failure = {0};
    RouteResult result = sending->host->ops->dump(sending->host->data, descriptor, &failure);
    if (result != ROUTE_DONE) {
        native_failure(sending->reply, result, &failure);
    }
    return result == ROUTE_DONE;
}

/* Closes DUMP. False: the reply says why there is no report. */
static bool
render(const Sending *sending, int dump, int *report)
{
    RouteRendering rendering = {
        .format = sending->form->name, .options = sending->query.options, .dump = dump, .base = -1};
    RouteFailure failure = {0};
    bool opened = sending->base == 0 || open_dump(sending, sending->base, &rendering.base);
    RouteResult result =
        opened ? sending->host->ops->render(sending->host->data, &rendering, report, &failure) : ROUTE_NOT_FOUND;
    close(dump);
    if (rendering.base >= 0) {
        close(rendering.base);
    }
    if (opened && result != ROUTE_DONE) {
        native_failure(sending->reply, result, &failure);
    }
    return result == ROUTE_DONE;
}

/* A name that any file system and any shell takes as it is. */
static void
add_name_header(const Sending *sending)
{
    char name[NAME_SIZE] = "target";
    path_component(sending->request->path, NATIVE_TARGET, name, sizeof name);
    for (char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-';
        *c = plain || (*c == '.' && c != name) ? *c : '_';
    }
    const char *disposition = sending->form->is_download ? "attachment" : "inline";
    if (sending->id != 0) {
        reply_header(sending->reply, "Content-Disposition", "%s; filename=\"%s.%llu%s\"", disposition, name,
                     (unsigned long long)sending->id, sending->form->suffix);
    } else {
        reply_header(sending->reply, "Content-Disposition", "%s; filename=\"%s%s\"", disposition, name,
                     sending->form->suffix);
    }
}

/* What is kept never changes: the same request has the same answer, as far as names go. */
static void
add_tag(const Sending *sending)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    for (const char *c = sending->request->query; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619;
    }
    reply_header(sending->reply, "ETag", "\"%llu-%llu-%s-%08x\"", (unsigned long long)sending->id,
                 (unsigned long long)sending->base, sending->form->name, hash);
}

static bool
read_base(Sending *sending)
{
    QueryValue base;
    if (native_find(sending->request, "base", &base) == QUERY_ABSENT) {
        return true;
    }
    if (!report_form_takes_base(sending->form)) {
        native_refuse(sending->reply, "base", base.text, "left out: this format holds no difference");
        return false;
    }
    return resolve(sending, base.text, &sending->base);
}

static bool
read_format(Sending *sending)
{
    QueryValue format;
    native_find(sending->request, "format", &format);
    sending->form = report_form_find(format.state == QUERY_ABSENT ? "raw" : format.text);
    if (sending->form == NULL) {
        native_refuse(sending->reply, "format", format.text, "one of raw|" REPORT_FORMAT_WORDS);
    }
    return sending->form != NULL;
}

static void
send(Sending *sending)
{
    int descriptor = -1;
    int report = -1;
    if (!read_format(sending) || !read_base(sending) ||
        !report_query_read(&sending->query, sending->request, sending->reply)) {
        return;
    }
    if (sending->id != 0 ? !open_dump(sending, sending->id, &descriptor) : !take_dump(sending, &descriptor)) {
        return;
    }
    if (!sending->form->is_raw && !render(sending, descriptor, &report)) {
        return;
    }
    reply_file(sending->reply, sending->form->content_type, sending->form->is_raw ? descriptor : report);
    add_name_header(sending);
    if (sending->id != 0) {
        add_tag(sending);
    }
}

void
native_send_dump(const RouteHost *host, const RouteRequest *request, uint64_t id, RouteReply *reply)
{
    Sending sending = {.host = host, .request = request, .reply = reply, .id = id};
    send(&sending);
}

void
native_dump(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Sending sending = {.host = host, .request = request, .reply = reply};
    char word[WORD_MAX] = "";
    path_component(request->path, NATIVE_ID, word, sizeof word);
    if (strcmp(word, "now") == 0 || resolve(&sending, word, &sending.id)) {
        send(&sending);
    }
}
