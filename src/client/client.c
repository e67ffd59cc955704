/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include "client/document.h"
#include "confine/rights.h"
#include "target/implementation.h"
#include "text/printable.h"
#include "wire/sampler-choice.h"

#include <gio/gio.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum {
    ANSWER_MS = 10000,
    OUTPUT_MS = 300000, /* for a dump and its transfer */
    DOCUMENT_MAX = 8 << 20,
    SHOWN_IDS = 20,
    ID_COLUMNS = 64,  /* of an id or name that is shown */
    SAMPLE_MAX = 128, /* controls: one request each */
};

static const char targets_path[] = "/api/v1/targets/";

/* Which process a status is about. */
typedef struct {
    char unique[STATUS_UNIQUE_MAX]; /* "": unknown, as without /proc */
    pid_t pid;
    gdouble started;
} ServerProcess;

typedef struct {
    Target target;
    Connection *connection;
    char *path;             /* "/api/v1/targets/ID" */
    ServerProcess process;  /* the one that all requests after the first are about; pid 0: not known yet */
    guint64 sampler_memory; /* for the next request that switches sampling on; 0: unchanged */
} ServerTarget;

static ServerTarget *
server_of(Target *target)
{
    return (ServerTarget *)target;
}

gboolean
client_is_url(const char *name)
{
    return strstr(name, "://") != NULL;
}

/* ---- documents ---- */

/* Reads the document in FD, if there is one, which answers REQUEST. */
static json_t *
read_document(int fd, const ExchangeRequest *request, GError **error)
{
    g_autoptr(GError) why = NULL;
    gsize length;
    if (fd < 0)
        return NULL;
    g_autofree char *text = document_read(fd, &length, error);
    json_t *document = text != NULL ? document_parse(text, length, &why) : NULL;
    if (why != NULL)
        g_set_error(error, TARGET_ERROR, why->code, "%s %s: %s", request->method, request->path, why->message);
    return document;
}

static gboolean
set_gone(const ServerTarget *self, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", self->target.label);
    return FALSE;
}

/* connection_exchange(). What a server says of a process that has ended is of use only to who names one. */
static int
exchange(const ServerTarget *self, const ExchangeRequest *request, GError **error)
{
    GError *cause = NULL;
    int fd = connection_exchange(self->connection, request, &cause);
    if (self->process.pid != 0 && g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE)) {
        g_clear_error(&cause);
        set_gone(self, error);
    }
    if (cause != NULL)
        g_propagate_error(error, cause);
    return fd;
}

/* The document that answers REQUEST, whose path is BELOW, after that of the target. */
static json_t *
ask(const ServerTarget *self, const char *below, ExchangeRequest request, GError **error)
{
    g_autofree char *path = g_strconcat(self->path, below, NULL);
    request.path = path;
    request.type = "application/json";
    request.limit = DOCUMENT_MAX;
    return read_document(exchange(self, &request, error), &request, error);
}

/* METHOD on the path below that of the target. */
G_GNUC_PRINTF(4, 5)
static json_t *
ask_target(ServerTarget *self, const char *method, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *below = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const ExchangeRequest request = {
        .method = method, .deadline_ms = target_time_limit(&self->target, ANSWER_MS), .is_quick = TRUE};
    return ask(self, below, request, error);
}

static gboolean
set_malformed(const Target *target, const char *what, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                "%s: the server's %s is malformed; is it another version of jescope?", target->label, what);
    return FALSE;
}

/* ---- operations ---- */

static gboolean
is_same(const ServerProcess *one, const ServerProcess *other)
{
    if (one->unique[0] != '\0')
        return strcmp(one->unique, other->unique) == 0;
    return one->pid == other->pid && one->started == other->started;
}

/* Binds SELF to the process of its first answer: its name, and its pid, may be those of another one later. */
static gboolean
check_process(ServerTarget *self, const json_t *status, const WireHelloReply *hello, GError **error)
{
    ServerProcess process = {.pid = hello->pid, .started = json_number_value(json_object_get(status, "started"))};
    document_text(status, "unique", process.unique, sizeof(process.unique));
    if (self->process.pid != 0)
        return is_same(&self->process, &process) || set_gone(self, error);
    self->process = process;
    if (process.unique[0] == '\0')
        return TRUE;
    g_autofree char *id = g_uri_escape_string(process.unique, NULL, FALSE);
    g_free(self->path);
    self->path = g_strconcat(targets_path, id, NULL);
    return TRUE;
}

static gboolean
server_hello(Target *target, WireHelloReply *hello, GError **error)
{
    json_t *status = ask_target(server_of(target), "GET", error, "%s", "");
    gboolean sound = status != NULL && (document_hello(status, hello) || set_malformed(target, "status", error)) &&
                     check_process(server_of(target), status, hello, error);
    json_decref(status);
    return sound;
}

static const char *const type_names[] = {
    [WIRE_TYPE_NONE] = "none",     [WIRE_TYPE_BOOL] = "bool",   [WIRE_TYPE_UNSIGNED] = "unsigned",
    [WIRE_TYPE_SIZE] = "size",     [WIRE_TYPE_SSIZE] = "ssize", [WIRE_TYPE_U64] = "u64",
    [WIRE_TYPE_STRING] = "string",
};

static gboolean
server_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    json_t *answer = ask_target(server_of(target), "GET", error, "/controls/%s?type=%s", control, type_names[type]);
    const json_t *given = json_object_get(answer, "value");
    *value = (WireCtlReply){.value = json_is_boolean(given) ? json_is_true(given) : (guint64)json_integer_value(given)};
    if (type == WIRE_TYPE_STRING)
        document_text(answer, "value", value->text, sizeof(value->text));
    gboolean sound = answer != NULL && (given != NULL || set_malformed(target, control, error));
    json_decref(answer);
    return sound;
}

/* The parameters of a request that switches sampling on, by which the API chooses a sampler and sets its memory. */
static char *
take_choice(ServerTarget *self, WireSampler sampler)
{
    GString *parameters = g_string_new(NULL);
    if (sampler != WIRE_SAMPLER_AUTO)
        g_string_append_printf(parameters, "&sampler=%s", sampler_choice_words[sampler]);
    if (self->sampler_memory != 0)
        g_string_append_printf(parameters, "&sampler-memory=%" G_GUINT64_FORMAT, self->sampler_memory);
    self->sampler_memory = 0;
    return g_string_free(parameters, FALSE);
}

static gboolean
switch_on(ServerTarget *self, WireSampler sampler, GError **error)
{
    g_autofree char *choice = take_choice(self, sampler);
    json_t *profiling = ask_target(self, "PUT", error, "/profiling?active=true%s", choice);
    json_decref(profiling);
    return profiling != NULL;
}

static gboolean
server_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    g_autofree char *query = NULL;
    ServerTarget *self = server_of(target);
    if (strcmp(control, WIRE_SAMPLER_CONTROL) == 0 && value <= WIRE_SAMPLER_JESCOPE)
        return switch_on(self, (WireSampler)value, error);
    if (strcmp(control, "prof.active") == 0 && value != 0 && self->sampler_memory != 0)
        return switch_on(self, WIRE_SAMPLER_AUTO, error);
    if (strcmp(control, WIRE_SAMPLER_MEMORY_CONTROL) == 0) {
        self->sampler_memory = value;
        return TRUE;
    }
    if (type == WIRE_TYPE_BOOL)
        query = g_strdup_printf("&value=%s", value != 0 ? "true" : "false");
    else if (type == WIRE_TYPE_SSIZE)
        query = g_strdup_printf("&value=%" G_GINT64_FORMAT, (gint64)value);
    else if (type != WIRE_TYPE_NONE)
        query = g_strdup_printf("&value=%" G_GUINT64_FORMAT, value);
    json_t *answer =
        ask_target(self, "PUT", error, "/controls/%s?type=%s%s", control, type_names[type], query != NULL ? query : "");
    json_decref(answer);
    return answer != NULL;
}

/* Printing statistics refreshes them, and requires no permission to change anything. */
static gboolean
refresh(ServerTarget *self, GError **error)
{
    g_autofree char *path = g_strconcat(self->path, "/statistics?format=text&options=gmdablxeh", NULL);
    const ExchangeRequest request = {.method = "GET",
                                     .path = path,
                                     .type = "text/plain",
                                     .limit = DOCUMENT_MAX,
                                     .deadline_ms = target_time_limit(&self->target, ANSWER_MS),
                                     .is_quick = TRUE};
    int fd = exchange(self, &request, error);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static gboolean
server_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error)
{
    char name[WIRE_CONTROL_NAME_MAX];
    if ((guint64)request->n * request->count > SAMPLE_MAX) {
        g_set_error(error, TARGET_ERROR, OUTCOME_NOT_ALLOWED,
                    "%s: a server answers one control at a time, and %u are asked for", target->label,
                    request->n * request->count);
        return FALSE;
    }
    if (request->refresh && !refresh(server_of(target), error))
        return FALSE;
    for (guint i = 0; i < request->n * request->count; i++) {
        guint64 *row = rows + (gsize)(i / request->n) * (1 + request->n);
        guint column = i % request->n;
        WireType type = target_sample_name(request, column, request->first + i / request->n, name);
        WireCtlReply value;
        g_autoptr(GError) cause = NULL;
        row[0] = column == 0 ? 0 : row[0];
        row[1 + column] = 0;
        if (server_read(target, name, type, &value, &cause)) {
            row[0] |= G_GUINT64_CONSTANT(1) << column;
            row[1 + column] = value.value;
        } else if (!g_error_matches(cause, TARGET_ERROR, OUTCOME_CONTROL_FAILED)) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
    }
    return TRUE;
}

static int
fetch(Target *target, const char *path, const char *type, GError **error)
{
    ServerTarget *self = server_of(target);
    g_autofree char *whole = g_strconcat(self->path, path, NULL);
    const ExchangeRequest request = {.method = "GET",
                                     .path = whole,
                                     .type = type,
                                     .limit = target->output_max,
                                     .deadline_ms = target_time_limit(target, OUTPUT_MS)};
    return exchange(self, &request, error);
}

static int
fetch_dump(Target *target, const char *format, GError **error)
{
    g_autofree char *limit = target->output_max > TARGET_OUTPUT_DEFAULT
                                 ? g_strdup_printf("&max-output=%" G_GUINT64_FORMAT, target->output_max)
                                 : g_strdup("");
    g_autofree char *path =
        g_strdup_printf("/dumps/now?format=%s%s%s", format, limit, target_is_forced(target) ? "&force=true" : "");
    return fetch(target, path, "application/octet-stream", error);
}

static int
server_output(Target *target, const char *letters, GError **error)
{
    if (letters == NULL)
        return fetch_dump(target, "raw", error);
    gboolean json = strchr(letters, 'J') != NULL;
    g_autoptr(GString) omitted = g_string_new(letters);
    g_string_replace(omitted, "J", "", 0);
    g_autofree char *path = g_strdup_printf("/statistics?format=%s&options=%s", json ? "json" : "text", omitted->str);
    return fetch(target, path, json ? "application/json" : "text/plain", error);
}

static int
server_output_named(Target *target, GError **error)
{
    return fetch_dump(target, "symbolized", error);
}

static gboolean
server_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error)
{
    ServerTarget *self = server_of(target);
    json_t *profiling = NULL;
    g_autofree char *period = request->period != 0 ? g_strdup_printf("&sample=%" G_GUINT64_FORMAT,
                                                                     G_GUINT64_CONSTANT(1) << (request->period - 1))
                                                   : g_strdup("");
    if (request->action == WIRE_LEASE_TAKE) {
        const WireSampler sampler = (request->flags & WIRE_LEASE_JESCOPE) != 0    ? WIRE_SAMPLER_JESCOPE
                                    : (request->flags & WIRE_LEASE_JEMALLOC) != 0 ? WIRE_SAMPLER_JEMALLOC
                                                                                  : WIRE_SAMPLER_AUTO;
        g_autofree char *choice = take_choice(self, sampler);
        profiling = ask_target(self, "PUT", error, "/profiling?active=%s&for=%" G_GUINT64_FORMAT "ms%s%s",
                               request->active ? "true" : "false", request->duration_ms, period, choice);
    } else if (request->action == WIRE_LEASE_RENEW) {
        profiling =
            ask_target(self, "PUT", error, "/profiling/leases/%" G_GUINT64_FORMAT "?for=%" G_GUINT64_FORMAT "ms",
                       request->lease_id, request->duration_ms);
    } else {
        profiling = ask_target(self, "DELETE", error, "/profiling/leases/%" G_GUINT64_FORMAT, request->lease_id);
    }
    gboolean sound = profiling != NULL && (document_lease(profiling, lease) || set_malformed(target, "lease", error));
    json_decref(profiling);
    return sound;
}

static void
server_free(Target *target)
{
    ServerTarget *self = server_of(target);
    connection_free(self->connection);
    g_free(self->path);
}

static const TargetOps server_ops = {
    .via = TARGET_VIA_SERVER,
    .hello = server_hello,
    .read = server_read,
    .write = server_write,
    .sample = server_sample,
    .output = server_output,
    .output_named = server_output_named,
    .lease = server_lease,
    .free = server_free,
};

json_t *
client_document(Target *target, const char *below, guint deadline_ms, GError **error)
{
    return ask(server_of(target), below, (ExchangeRequest){.method = "GET", .deadline_ms = deadline_ms}, error);
}

/* ---- opening ---- */

/* "4711 (redis-server), 4712 (nginx)". */
static char *
list_ids(const json_t *targets)
{
    GString *list = g_string_new(NULL);
    const size_t n = json_array_size(targets);
    for (size_t i = 0; i < MIN(n, SHOWN_IDS); i++) {
        const json_t *row = json_array_get(targets, i);
        const char *id = json_string_value(json_object_get(row, "id"));
        const char *name = json_string_value(json_object_get(row, "name"));
        g_autofree char *shown_id = text_cut(id != NULL ? id : "?", ID_COLUMNS);
        g_autofree char *shown_name = text_cut(name != NULL ? name : "?", ID_COLUMNS);
        g_string_append_printf(list, "%s%s (%s)", i > 0 ? ", " : "", shown_id, shown_name);
    }
    if (n > SHOWN_IDS)
        g_string_append_printf(list, " and %zu more", n - SHOWN_IDS);
    text_clean_line(list->str, list->len + 1);
    return g_string_free(list, FALSE);
}

/* The id of the server's only target. A program with libjescope has no list; its id is "self". */
static char *
only_id(Connection *connection, const ClientUrl *url, GError **error)
{
    GError *failure = NULL;
    const ExchangeRequest list = {.method = "GET",
                                  .path = "/api/v1/targets",
                                  .type = "application/json",
                                  .limit = DOCUMENT_MAX,
                                  .deadline_ms = ANSWER_MS,
                                  .is_quick = TRUE};
    json_t *document = read_document(connection_exchange(connection, &list, &failure), &list, &failure);
    const json_t *targets = json_object_get(document, "targets");
    const json_t *only = json_array_get(targets, 0);
    const char *unique = json_string_value(json_object_get(only, "unique"));
    const char *id = unique != NULL ? unique : json_string_value(json_object_get(only, "id"));
    char *escaped = NULL;
    if (g_error_matches(failure, TARGET_ERROR, OUTCOME_NOT_FOUND)) {
        g_clear_error(&failure);
        return g_strdup("self");
    }
    if (document == NULL) {
        g_propagate_error(error, failure);
        return NULL;
    }
    if (!json_is_array(targets)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL, "%s has no list of targets; is it a jescope server?",
                    url->server);
    } else if (json_array_size(targets) == 1 && id != NULL) {
        escaped = g_uri_escape_string(id, NULL, FALSE);
    } else if (json_array_size(targets) == 0) {
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROCESS, "%s serves no target now", url->server);
    } else {
        g_autofree char *ids = list_ids(targets);
        g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS, "%s serves %zu targets; add /targets/ID to the URL: %s",
                    url->server, json_array_size(targets), ids);
    }
    json_decref(document);
    return escaped;
}

static Target *
open_at(const ClientUrl *url, const ClientAccess *access, GError **error)
{
    WireHelloReply hello;
    g_autoptr(Connection) connection = connection_new(url, access, error);
    g_autofree char *id = connection == NULL ? NULL
                          : url->id != NULL  ? g_strdup(url->id)
                                             : only_id(connection, url, error);
    if (id == NULL)
        return NULL;
    ServerTarget *self = g_new0(ServerTarget, 1);
    Target *target = &self->target;
    target->ops = &server_ops;
    target->user = RIGHTS_NOBODY;
    self->connection = g_steal_pointer(&connection);
    self->path = g_strconcat(targets_path, id, NULL);
    target->operand = g_strdup(url->text);
    target_set_name(target, url->text);
    if (!server_hello(target, &hello, error)) {
        target_free(target);
        return NULL;
    }
    target_set_name(target, hello.name);
    target->own_pid = hello.pid;
    g_free(target->label);
    target->label = g_strdup_printf("%s (%d) of %s", hello.name, (int)hello.pid, url->server);
    target->note = connection_note(self->connection);
    return target;
}

Target *
client_open(const char *text, const ClientAccess *access, GError **error)
{
    ClientUrl url;
    if (!client_url_parse(text, &url, error))
        return NULL;
    Target *target = open_at(&url, access, error);
    client_url_clear(&url);
    return target;
}
