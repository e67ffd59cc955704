/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/files": dumps that clients upload, and reports on them. */
#include "site/offload.h"
#include "site/sent-files.h"
#include "site/table.h"

#include "routes/native-dump.h"
#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/native.h"
#include "routes/path.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/report-query.h"
#include "routes/values.h"
#include "service/held-files.h"
#include "target/reach.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WORD_MAX = 32,
    MS_PER_S = 1000,
};

static const char unnamed[] = "dropped file";

/* ---- answers ---- */

static void
add_file(Json *json, const SentFile *file)
{
    char id[WORD_MAX];
    g_snprintf(id, sizeof(id), "%" G_GUINT64_FORMAT, file->id);
    json_text(json, "id", id);
    json_text(json, "name", file->name);
    json_number(json, "bytes", file->bytes);
    json_seconds(json, "sent", (guint64)file->sent * MS_PER_S);
    json_boolean(json, "kept", file->kept);
    if (file->kept)
        json_put_null(json, "idle_seconds");
    else
        json_number(json, "idle_seconds", HELD_FILES_IDLE_S);
}

static void
send_reply(Exchange *exchange, RouteReply *reply)
{
    exchange_answer(exchange, answer_new_route(reply, ANSWER_PLAIN, NULL));
}

static void
send_file(Exchange *exchange, const SentFile *file, unsigned status)
{
    RouteReply reply = {.descriptor = -1};
    Json json;
    native_begin(&json, &reply, status);
    add_file(&json, file);
    native_end(&json);
    if (status == 201)
        native_location(&reply, exchange_request(exchange), file->id);
    send_reply(exchange, &reply);
}

static void
send_unknown(Exchange *exchange, const char *word)
{
    RouteReply reply = {.descriptor = -1};
    native_error(&reply, 404,
                 &(NativeError){"not_found", "a file that is not kept is forgotten 15 minutes after it was last used; "
                                             "send it again"},
                 "no such file: %s", word);
    send_reply(exchange, &reply);
}

static void
read_word(const Exchange *exchange, char word[static WORD_MAX])
{
    word[0] = '\0';
    path_component(exchange_request(exchange)->path, NATIVE_TARGET, word, WORD_MAX);
}

/* The file named by the path; NULL: there is none, and EXCHANGE is answered. */
static const SentFile *
find_named(const Site *site, Exchange *exchange)
{
    char word[WORD_MAX];
    uint64_t id = 0;
    read_word(exchange, word);
    const SentFile *file = value_unsigned(word, &id) ? sent_files_find(site->sent, id) : NULL;
    if (file == NULL)
        send_unknown(exchange, word);
    return file;
}

/* ---- sending ---- */

/* When the file was written: names of younger program files are not used. */
static void
set_time(int fd, guint64 seconds)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
    if (seconds != 0)
        futimens(fd, times);
}

static void
serve_send(Site *site, Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    QueryValue name;
    RouteReply reply = {.descriptor = -1};
    uint64_t time = 0;
    if (!native_read(request, NATIVE_NUMBER, "time", &time, &reply)) {
        send_reply(exchange, &reply);
        return;
    }
    int fd = exchange_take_file(exchange);
    if (fd < 0) {
        exchange_fail(exchange, &(AnswerFailure){.status = 400,
                                                 .code = "empty",
                                                 .message = "the body of the request is empty",
                                                 .hint = "send the heap dump as the body"});
        return;
    }
    set_time(fd, time);
    const gboolean named = native_find(request, "name", &name) == QUERY_GIVEN && name.text[0] != '\0';
    const SentFile wanted = {.user = exchange_user(exchange),
                             .payer = peer_id(exchange_peer(exchange)),
                             .name = named ? name.text : (char *)(guintptr)unnamed,
                             .sent = g_get_real_time() / G_USEC_PER_SEC};
    const SentFile *file = sent_files_add(site->sent, &wanted, fd);
    close(fd);
    if (file != NULL)
        send_file(exchange, file, 201);
    else
        exchange_fail(exchange,
                      &(AnswerFailure){
                          .status = 507,
                          .code = "too_large",
                          .message = "there is no room for the file beside those that are kept, or too little memory",
                          .hint = "remove a file that is kept, or compress this one"});
}

/* ---- the list ---- */

typedef struct {
    Json json;
    Viewer viewer;
} List;

static void
add_visible(const SentFile *file, gpointer data)
{
    List *list = data;
    if (list->viewer != VIEWER_ALL && (list->viewer < 0 || (uid_t)list->viewer != file->user))
        return;
    json_begin_object(&list->json, NULL);
    add_file(&list->json, file);
    json_end(&list->json);
}

static void
serve_list(Site *site, Exchange *exchange)
{
    RouteReply reply = {.descriptor = -1};
    List list = {.viewer = exchange_viewer(exchange)};
    native_begin(&list.json, &reply, 200);
    json_begin_array(&list.json, "files");
    sent_files_each_kept(site->sent, add_visible, &list);
    json_end(&list.json);
    native_end(&list.json);
    send_reply(exchange, &reply);
}

static void
serve_one(Site *site, Exchange *exchange)
{
    const SentFile *file = find_named(site, exchange);
    if (file != NULL)
        send_file(exchange, file, 200);
}

/* ---- changes ---- */

static void
audit(const Site *site, const Exchange *exchange, unsigned status)
{
    g_autofree char *about = audit_describe(exchange, NULL);
    RouteReply reply = {.status = status, .descriptor = -1};
    g_autoptr(Answer) answer = answer_new_route(&reply, ANSWER_PLAIN, NULL);
    audit_change(site->audit, about, answer);
}

static void
serve_keep(Site *site, Exchange *exchange)
{
    const SentFile *file = find_named(site, exchange);
    if (file == NULL)
        return;
    const gboolean kept = sent_files_keep(site->sent, file->id) == HELD_FILES_DONE;
    audit(site, exchange, kept ? 200 : 507);
    if (kept)
        send_file(exchange, file, 200);
    else
        exchange_fail(exchange,
                      &(AnswerFailure){.status = 507,
                                       .code = "too_much_kept",
                                       .message = "64 MiB or 16 files of one user can be kept, and twice that in all",
                                       .hint = "remove a file that is kept"});
}

static void
serve_remove(Site *site, Exchange *exchange)
{
    RouteReply reply = {.descriptor = -1};
    const SentFile *file = find_named(site, exchange);
    Json json;
    if (file == NULL)
        return;
    sent_files_remove(site->sent, file->id);
    audit(site, exchange, 200);
    native_begin(&json, &reply, 200);
    json_boolean(&json, "removed", true);
    native_end(&json);
    send_reply(exchange, &reply);
}

/* ---- reports ---- */

/* A request for a report; its files are its own. */
typedef struct {
    Service *service;
    SentFile file; /* with its name */
    guint64 base_id;
    int dump, base; /* -1: none */
    gboolean names; /* whether its client may have the files opened that the dump names */
    unsigned grants;
    char *path, *query;
} Ask;

static size_t
no_dumps(void *host, RouteDump *rows, size_t n)
{
    return 0;
}

static Outcome
open_sent(void *host, uint64_t id, int *descriptor, Failure *failure)
{
    const Ask *ask = host;
    int fd = id == ask->file.id ? ask->dump : ask->base_id == id ? ask->base : -1;
    fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0)
        return OUTCOME_NOT_FOUND;
    *descriptor = fd;
    return OUTCOME_DONE;
}

/* The child reports errors in a file. */
static Outcome
unless_unreadable(Outcome result, const Failure *failure)
{
    return result == OUTCOME_SYSTEM && failure->error == 0 ? OUTCOME_UNREADABLE : result;
}

static Outcome
render_with(const Ask *ask, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    const ServiceRender wanted = {
        .account = ask->file.payer, .title = ask->file.name, .rendering = rendering, .no_files = !ask->names};
    return service_render(ask->service, &wanted, descriptor, failure);
}

static Outcome
render_sent(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    return unless_unreadable(render_with(host, rendering, descriptor, failure), failure);
}

static Outcome
render_tree(gpointer data, const char *format, const char *const *options, int *report, Failure *failure)
{
    const Ask *ask = data;
    const RouteRendering rendering = {.format = format, .options = options, .dump = ask->dump, .base = ask->base};
    return render_with(ask, &rendering, report, failure);
}

static Outcome
page_of_sent(void *host, const RoutePage *page, int *descriptor, Failure *failure)
{
    const Ask *ask = host;
    if (page->base != 0 && ask->base < 0)
        return failure_set(failure, OUTCOME_NOT_FOUND, "no such file: %llu", (unsigned long long)page->base);
    g_autofree char *key = g_strdup_printf("file %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s", ask->file.id,
                                           page->base, ask->names ? "names" : "no names");
    const ServicePage wanted = {
        .account = ask->file.payer, .key = key, .options = page->options, .render = render_tree, .data = host};
    return unless_unreadable(service_page(ask->service, &wanted, descriptor, failure), failure);
}

static void
answer_dump(gpointer data, gint *left, RouteReply *reply)
{
    static const RouteHostOps ops = {
        .dumps = no_dumps, .dump_open = open_sent, .render = render_sent, .page = page_of_sent};
    Ask *ask = data;
    const RouteRequest request = {.method = "GET", .path = ask->path, .query = ask->query, .body = ""};
    const RouteHost host = {.ops = &ops, .data = ask, .grants = ask->grants};
    native_send_dump(&host, &request, ask->file.id, reply);
}

static void
free_ask(gpointer data)
{
    Ask *ask = data;
    if (ask->dump >= 0)
        close(ask->dump);
    if (ask->base >= 0)
        close(ask->base);
    g_free(ask->file.name);
    g_free(ask->path);
    g_free(ask->query);
    g_free(ask);
}

/* Names of functions come from the files that a dump names, which any client could choose: so they are opened only for
 * clients that could read them otherwise. */
static gboolean
may_name_files(const Exchange *exchange)
{
    const uid_t user = exchange_user(exchange);
    return user == 0 || user == reach_user();
}

static void
serve_dump(Site *site, Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    const SentFile *file = find_named(site, exchange);
    QueryValue base;
    uint64_t base_id = 0;
    if (file == NULL)
        return;
    if (query_find(request->query, "base", &base) == QUERY_GIVEN)
        value_unsigned(base.text, &base_id);
    Ask *ask = g_new(Ask, 1);
    *ask = (Ask){.service = site->service,
                 .file = *file,
                 .base_id = base_id,
                 .dump = sent_files_open(site->sent, file->id),
                 .base = base_id != 0 ? sent_files_open(site->sent, base_id) : -1,
                 .names = may_name_files(exchange),
                 .grants = site->grants,
                 .path = g_strdup(request->path),
                 .query = g_strdup(request->query)};
    ask->file.name = g_strdup(file->name);
    offload(site, exchange,
            &(Offload){.answer = answer_dump, .data = ask, .free_data = free_ask, .kind = OFFLOAD_REPORT});
}

static const RouteParameter send_parameters[] = {
    {"name", "text", "what it is called (default: dropped file)"},
    {"time", "integer", "when it was written, seconds since 1970"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/files", "heap dumps that were sent to look at and are kept",
     .serve = serve_list},
    {ROUTE_DIALECT_NATIVE, "POST", "/api/v1/files",
     "send a heap dump (the body, at most 64 MiB, which may be compressed) to look at; unless it is kept, it is "
     "forgotten 15 minutes after it was last used",
     .parameters = send_parameters, .serve = serve_send},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/files/{file}", "one of them", .serve = serve_one},
    {ROUTE_DIALECT_NATIVE, "DELETE", "/api/v1/files/{file}", "forget it", .role = ROUTE_ROLE_CONTROL,
     .serve = serve_remove},
    {ROUTE_DIALECT_NATIVE, "POST", "/api/v1/files/{file}/keep",
     "keep it until the server ends or it is deleted; 64 MiB or 16 files of one user at most, and twice that in all",
     .role = ROUTE_ROLE_CONTROL, .serve = serve_keep},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/files/{file}/dump",
     "the dump, or a report of it; base is another file's id. Names of functions are those in the dump, except for "
     "root "
     "and the server's user on its machine",
     .parameters = report_query_parameters, .serve = serve_dump},
};

const RouteTable sent_answer_routes = {rows, G_N_ELEMENTS(rows)};
