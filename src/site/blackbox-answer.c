/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/blackbox": the black box's data on processes, and reports on it. */
#include "site/offload.h"
#include "site/table.h"

#include "blackbox/describe.h"
#include "confine/account.h"
#include "confine/rights.h"
#include "routes/native-dump.h"
#include "routes/native-reply.h"
#include "routes/native.h"
#include "routes/path.h"
#include "routes/query.h"
#include "routes/reply.h"
#include "routes/report-query.h"
#include "routes/values.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WORD_MAX = 64,
};

static const char hint[] = "see GET /api/v1/blackbox";

/* A request. */
typedef struct _Ask Ask;
struct _Ask {
    Service *service;
    Viewer viewer;
    guint64 peer; /* as ServiceWork.peer */
    unsigned grants;
    char *path, *query;
    char *directory; /* NULL: none */
    void (*answer)(const Ask *ask, GPtrArray *lives, RouteReply *reply);
};

/* ---- what is kept, on a thread ---- */

/* Like a running target: all of its user ids were this user's. */
static gboolean
is_visible(const BlackboxLife *life, Viewer viewer)
{
    if (viewer == VIEWER_ALL)
        return TRUE;
    if (viewer < 0 || life->snapshots->len == 0)
        return FALSE;
    for (guint i = 0; i < life->snapshots->len; i++)
        if (((const BlackboxSnapshot *)life->snapshots->pdata[i])->sole_user != (uid_t)viewer)
            return FALSE;
    return TRUE;
}

static GPtrArray *
read_visible(const Ask *ask, const char *name, GError **error)
{
    const char *const directories[] = {ask->directory, NULL};
    GPtrArray *lives = blackbox_all_lives(directories, name, NULL, error);
    for (guint i = lives != NULL ? lives->len : 0; i > 0; i--)
        if (!is_visible(lives->pdata[i - 1], ask->viewer))
            g_ptr_array_remove_index(lives, i - 1);
    return lives;
}

static void
answer_list(const Ask *ask, GPtrArray *lives, RouteReply *reply)
{
    g_autoptr(GString) text = g_string_new("{\"lives\":[");
    for (guint i = 0; i < lives->len; i++) {
        g_autofree char *life = blackbox_json(lives->pdata[i]);
        g_string_append_printf(text, "%s%s", i > 0 ? "," : "", life);
    }
    g_string_append(text, "]}\n");
    reply_begin(reply, 200, REPLY_JSON);
    reply_add(reply, text->str, text->len);
}

/* The process named by the path; NULL: there is none, and REPLY has the error. */
static const BlackboxLife *
find_life(const Ask *ask, const GPtrArray *lives, RouteReply *reply)
{
    char word[WORD_MAX] = "";
    path_component(ask->path, NATIVE_TARGET, word, sizeof(word));
    for (guint i = 0; i < lives->len; i++) {
        g_autofree char *id = blackbox_life_id(lives->pdata[i]);
        if (strcmp(id, word) == 0)
            return lives->pdata[i];
    }
    native_error(reply, 404, &(NativeError){"not_found", hint}, "nothing is kept of process %s", word);
    return NULL;
}

static void
answer_one(const Ask *ask, GPtrArray *lives, RouteReply *reply)
{
    const BlackboxLife *life = find_life(ask, lives, reply);
    g_autofree char *text = life != NULL ? blackbox_json(life) : NULL;
    if (text == NULL)
        return;
    reply_begin(reply, 200, REPLY_JSON);
    reply_add(reply, text, strlen(text));
    reply_add(reply, "\n", 1);
}

/* ---- reports of a snapshot: the dumps of a process that has ended, as native-dump.h sends them ---- */

typedef struct {
    const Ask *ask;
    const BlackboxLife *life;
} Kept;

static size_t
kept_dumps(void *host, RouteDump *rows, size_t n)
{
    const Kept *kept = host;
    size_t count = 0;
    for (guint i = kept->life->snapshots->len; i > 0 && count < n; i--) {
        const BlackboxSnapshot *snapshot = kept->life->snapshots->pdata[i - 1];
        if (snapshot->dump != NULL)
            rows[count++] = (RouteDump){
                .id = snapshot->number, .taken_ms = (guint64)snapshot->time_us / 1000, .bytes = snapshot->dump_bytes};
    }
    return count;
}

static int
copy_dump(int from, const BlackboxSnapshot *snapshot)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = snapshot->time_us / G_USEC_PER_SEC}};
    int copy = memfd_create("jescope-dump", MFD_CLOEXEC);
    if (copy >= 0 && transfer_copy(from, copy, G_MAXUINT64) && lseek(copy, 0, SEEK_SET) == 0 &&
        futimens(copy, times) == 0)
        return copy;
    if (copy >= 0)
        close(copy);
    return -1;
}

/* A copy of FROM owned by the author of the file names in it: a report opens those files with the rights of that
 * user. */
static int
copy_for_owner(int from, const BlackboxSnapshot *snapshot)
{
    Rights rights;
    RightsBefore before;
    if (geteuid() != 0 || snapshot->owner == 0)
        return copy_dump(from, snapshot);
    rights_of_user(snapshot->owner, &rights);
    const gboolean entered = rights_enter(&rights, &before);
    int copy = entered ? copy_dump(from, snapshot) : -1;
    const int code = entered ? errno : EPERM;
    rights_leave(&before);
    rights_clear(&rights);
    errno = code;
    return copy;
}

static const BlackboxSnapshot *
find_dump(const BlackboxLife *life, guint64 number)
{
    for (guint i = 0; i < life->snapshots->len; i++) {
        const BlackboxSnapshot *snapshot = life->snapshots->pdata[i];
        if (snapshot->number == number && snapshot->dump != NULL)
            return snapshot;
    }
    return NULL;
}

static Outcome
kept_dump_open(void *host, uint64_t id, int *descriptor, Failure *failure)
{
    const BlackboxSnapshot *snapshot = find_dump(((const Kept *)host)->life, id);
    int file = snapshot != NULL ? open(snapshot->dump, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (file < 0)
        return failure_set(failure, OUTCOME_NOT_FOUND, "no such dump");
    int copy = copy_for_owner(file, snapshot);
    const int code = errno;
    close(file);
    if (copy < 0)
        return failure_set_error(failure, OUTCOME_SYSTEM, code, "cannot read the dump");
    *descriptor = copy;
    return OUTCOME_DONE;
}

static Outcome
kept_render(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    const Kept *kept = host;
    g_autofree char *title = g_strdup_printf("%s (%d)", kept->life->name, (int)kept->life->pid);
    const ServiceRender wanted = {
        .account = account_of(kept->life->user), .peer = kept->ask->peer, .title = title, .rendering = rendering};
    return service_render(kept->ask->service, &wanted, descriptor, failure);
}

static void
answer_dump(const Ask *ask, GPtrArray *lives, RouteReply *reply)
{
    static const RouteHostOps ops = {.dumps = kept_dumps, .dump_open = kept_dump_open, .render = kept_render};
    const RouteRequest request = {.method = "GET", .path = ask->path, .query = ask->query, .body = ""};
    Kept kept = {.ask = ask, .life = find_life(ask, lives, reply)};
    const RouteHost host = {.ops = &ops, .data = &kept, .grants = ask->grants};
    char word[WORD_MAX] = "";
    uint64_t number = 0;
    RouteDump latest;
    if (kept.life == NULL)
        return;
    path_component(ask->path, NATIVE_ID, word, sizeof(word));
    if (strcmp(word, "latest") == 0)
        number = kept_dumps(&kept, &latest, 1) == 1 ? latest.id : 0;
    else if (!value_unsigned(word, &number))
        number = 0;
    if (number != 0 && find_dump(kept.life, number) != NULL)
        native_send_dump(&host, &request, number, reply);
    else
        native_error(reply, 404, &(NativeError){"not_found", hint}, "no dump '%s' of process %d is kept", word,
                     (int)kept.life->pid);
}

static void
answer_ask(gpointer data, gint *left, RouteReply *reply)
{
    const Ask *ask = data;
    QueryValue name = {.text = ""};
    g_autoptr(GError) failed = NULL;
    const gboolean named = ask->answer == answer_list && query_find(ask->query, "name", &name) != QUERY_ABSENT;
    g_autoptr(GPtrArray) lives = read_visible(ask, named ? name.text : NULL, &failed);
    if (lives != NULL)
        ask->answer(ask, lives, reply);
    else
        native_error(reply, 500, &(NativeError){"system", "see the log of the server"}, "%s", failed->message);
}

/* ---- in the main context ---- */

static void
free_ask(gpointer data)
{
    Ask *ask = data;
    g_free(ask->path);
    g_free(ask->query);
    g_free(ask->directory);
    g_free(ask);
}

static void
begin(Site *site, Exchange *exchange, void (*answer)(const Ask *ask, GPtrArray *lives, RouteReply *reply))
{
    const RouteRequest *request = exchange_request(exchange);
    Ask *ask = g_new(Ask, 1);
    *ask = (Ask){.service = site->service,
                 .viewer = exchange_viewer(exchange),
                 .peer = peer_id_for_share(exchange_peer(exchange)),
                 .grants = site->grants,
                 .path = g_strdup(request->path),
                 .query = g_strdup(request->query),
                 .directory = g_strdup(service_blackbox_directory(site->service)),
                 .answer = answer};
    offload(site, exchange,
            &(Offload){.answer = answer_ask,
                       .data = ask,
                       .free_data = free_ask,
                       .kind = answer == answer_dump ? OFFLOAD_REPORT : OFFLOAD_READ});
}

static void
serve_list(Site *site, Exchange *exchange)
{
    begin(site, exchange, answer_list);
}

static void
serve_one(Site *site, Exchange *exchange)
{
    begin(site, exchange, answer_one);
}

static void
serve_dump(Site *site, Exchange *exchange)
{
    begin(site, exchange, answer_dump);
}

static const RouteParameter list_parameters[] = {
    {"name", "text", "only processes of this name, or with this pid"},
    {0},
};

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/blackbox",
     "processes of which the black box has kept snapshots, and how they ended, the latest first",
     .parameters = list_parameters, .serve = serve_list},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/blackbox/{process}", "one of them", .serve = serve_one},
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/blackbox/{process}/dumps/{dump}",
     "the dump of a snapshot, or a report of it; 'latest' is the last one", .parameters = report_query_parameters,
     .serve = serve_dump},
};

const RouteTable blackbox_answer_routes = {rows, G_N_ELEMENTS(rows)};
