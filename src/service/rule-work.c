/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-work.h"

#include "service/live.h"
#include "service/post-queue.h"
#include "service/rule-file.h"
#include "service/rule-program.h"
#include "service/rule-report.h"

#include "client/exchange.h"
#include "routes/render.h"
#include "routes/route.h"
#include "target/own-room.h"

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    POSTS_AT_ONCE = 8,
    POSTS_TO_ONE = 2, /* to one server, so that a slow one does not hold up what is for others */
    POST_ATTEMPTS = 3,
    POST_PAUSE_S = 1,        /* pause before the second attempt; twice as long before the third */
    POST_DEADLINE_S = 10,    /* deadline of one attempt */
    RECORDING_GRACE_S = 120, /* time after its end for the dump */
    TOO_MANY_REQUESTS = 429,
    SERVER_ERRORS = 500,
};

/* Files that actions create for later actions. */
enum { FILE_DUMP, FILE_STATISTICS, FILES };

typedef struct RuleWork RuleWork;

struct RuleWorks {
    Service *service;
    RuleWorkDone done;
    gpointer data;
    GPtrArray *running; /* of RuleWork */
    GThreadPool *posts; /* of Post; NULL: nothing was sent yet */
    PostQueue *waiting; /* of Post */
    guint last_number;
    gboolean stopping; /* no more programs are started */
};

/* The actions of one firing. */
struct RuleWork {
    RuleWorks *works;
    guint number; /* identifies it for threads */
    Rule *rule;
    ServiceTarget *target;
    char *because;
    gint64 time_us;   /* wall clock */
    guint next;       /* index of the next action */
    json_t *actions;  /* results of the previous actions */
    int files[FILES]; /* files that they have created (rule-file.h); -1: none */
    guint64 held;     /* their bytes */
    guint64 dump, bytes;
    guint failed;
    guint64 recording; /* the recording to wait for; 0: none */
    GSource *alarm;
    RuleProgram *program;
    ServiceTicket *ticket;
};

/* Paths of the files in a program (rule-program.h). */
static const char *const file_places[FILES] = {"/dev/fd/3", "/dev/fd/4"};

static void run_next(RuleWork *work);

/* ---- the end of an action ---- */

static void
end_alarm(RuleWork *work)
{
    if (work->alarm != NULL)
        g_source_destroy(work->alarm);
    g_clear_pointer(&work->alarm, g_source_unref);
}

static void
free_work(gpointer data)
{
    RuleWork *work = data;
    end_alarm(work);
    if (work->ticket != NULL)
        service_ticket_cancel(work->ticket);
    g_clear_pointer(&work->program, rule_program_free);
    for (guint i = 0; i < FILES; i++)
        rule_file_free(work->files[i]);
    json_decref(work->actions);
    service_target_unref(work->target);
    rule_unref(work->rule);
    g_free(work->because);
    g_free(work);
}

/* Ends the current action; FAILURE is a sentence or NULL. */
static void
end_action(RuleWork *work, const char *failure)
{
    const RuleAction *action = &g_array_index(work->rule->actions, RuleAction, work->next);
    json_t *row = json_pack("{s:s, s:b}", "action", rule_action_name(action->kind), "done", failure == NULL);
    if (failure != NULL) {
        work->failed++;
        json_object_set_new(row, "failure", json_string(failure));
        service_say(work->works->service, "rule %s on %s: %s failed: %s", work->rule->name,
                    service_target_label(work->target), rule_action_name(action->kind), failure);
    }
    json_array_append_new(work->actions, row);
    work->next++;
    run_next(work);
}

static void
end_work(RuleWork *work)
{
    RuleWorks *works = work->works;
    const RuleOutcome outcome = {
        .rule = work->rule, .target = work->target, .bytes = work->bytes, .failed = work->failed};
    g_autofree char *detail = g_strdup_printf("%s: %u of %u actions done", work->rule->name,
                                              work->rule->actions->len - work->failed, work->rule->actions->len);
    const ServiceEvent event = {.type = SERVICE_EVENT_RULE_DONE, .subject = work->dump, .detail = detail};
    live_emit(work->target, &event);
    works->done(&outcome, works->data);
    g_ptr_array_remove_fast(works->running, work);
}

/* ---- actions on the target, on a thread ---- */

typedef struct {
    RuleActionKind kind;
    gint64 amount;
    guint64 recording; /* the recording whose dump is wanted; 0: none */
} Ask;

typedef struct {
    char *failure; /* NULL: none */
    guint64 recording, dump, bytes;
    int file; /* rule-file.h; -1: none */
} Answer;

static void
free_answer(gpointer data)
{
    Answer *answer = data;
    rule_file_free(answer->file);
    g_free(answer->failure);
    g_free(answer);
}

/* The message of an error document. To be freed. */
static char *
read_failure(const RouteReply *reply)
{
    const char *message = NULL;
    json_t *document = json_loadb(reply->body, reply->descriptor < 0 ? reply->body_size : 0, 0, NULL);
    json_unpack(document, "{s:{s:s}}", "error", "message", &message);
    char *failure = message != NULL ? g_strdup(message) : g_strdup_printf("status %u", reply->status);
    json_decref(document);
    return failure;
}

/* Executes a request of the API. */
static void
request(const RouteHost *host, const RouteRequest *wanted, Answer *answer)
{
    g_autofree RouteReply *reply = g_new(RouteReply, 1);
    const RouteMatch match = routes_find(routes_tables, 1u << ROUTE_NUMBER_NATIVE, wanted);
    routes_answer(host, &match, wanted, reply);
    if (reply->status >= 400)
        answer->failure = read_failure(reply);
    if (reply->descriptor >= 0)
        close(reply->descriptor);
}

static void
ask_control(const RouteHost *host, const Ask *ask, Answer *answer)
{
    g_autofree char *query =
        ask->kind == RULE_DECAY
            ? g_strdup_printf("dirty_ms=%" G_GINT64_FORMAT "&muzzy_ms=%" G_GINT64_FORMAT, ask->amount, ask->amount)
        : ask->amount > 0 ? g_strdup_printf("sample=%" G_GINT64_FORMAT, ask->amount)
                          : g_strdup("");
    static const char *const paths[RULE_ACTIONS] = {
        [RULE_PURGE] = "purge", [RULE_DECAY] = "decay", [RULE_RENEW] = "reset"};
    g_autofree char *path = g_strdup_printf("/api/v1/targets/self/%s", paths[ask->kind]);
    const RouteRequest wanted = {
        .method = ask->kind == RULE_DECAY ? "PUT" : "POST", .path = path, .query = query, .body = ""};
    request(host, &wanted, answer);
}

static Outcome
open_dump(const RouteHost *host, const RouteDump *dump, Answer *answer, Failure *failure)
{
    answer->dump = dump->id;
    answer->bytes = dump->bytes;
    return host->ops->dump_open(host->data, dump->id, &answer->file, failure);
}

static Outcome
ask_recorded(const RouteHost *host, const Ask *ask, Answer *answer, Failure *failure)
{
    g_autofree RouteRecording *recordings = g_new(RouteRecording, ROUTE_RECORDINGS_MAX);
    RouteDump dumps[ROUTE_DUMPS_MAX];
    gsize n = host->ops->recordings(host->data, recordings, ROUTE_RECORDINGS_MAX);
    gsize n_dumps = host->ops->dumps(host->data, dumps, ROUTE_DUMPS_MAX);
    for (gsize i = 0; i < n; i++) {
        if (recordings[i].id != ask->recording)
            continue;
        for (gsize d = 0; d < n_dumps; d++)
            if (recordings[i].dump != 0 && dumps[d].id == recordings[i].dump)
                return open_dump(host, &dumps[d], answer, failure);
        if (recordings[i].failure.why[0] != '\0')
            return failure_set(failure, OUTCOME_NOT_FOUND, "%s", recordings[i].failure.why);
    }
    return failure_set(failure, OUTCOME_NOT_FOUND, "the recording has left no dump");
}

static Outcome
ask_dump(const RouteHost *host, Answer *answer, Failure *failure)
{
    RouteDump dump;
    Outcome result = host->ops->dump_take(host->data, NULL, &dump, failure);
    return result == OUTCOME_DONE ? open_dump(host, &dump, answer, failure) : result;
}

static Outcome
ask_recording(const RouteHost *host, const Ask *ask, Answer *answer, Failure *failure)
{
    const RouteRecordingRequest wanted = {.duration_ms = (guint64)ask->amount};
    RouteRecording recording;
    if (ask->recording != 0)
        return ask_recorded(host, ask, answer, failure);
    Outcome result = host->ops->recording_start(host->data, &wanted, &recording, failure);
    if (result == OUTCOME_DONE)
        answer->recording = recording.id;
    return result;
}

static gpointer
ask_target(const RouteHost *host, gpointer data)
{
    const Ask *ask = data;
    Answer *answer = g_new0(Answer, 1);
    Failure failure = {0};
    Outcome result = OUTCOME_DONE;
    answer->file = -1;
    if (ask->kind == RULE_RECORD)
        result = ask_recording(host, ask, answer, &failure);
    else if (ask->kind == RULE_DUMP)
        result = ask_dump(host, answer, &failure);
    else if (ask->kind == RULE_STATISTICS)
        result = host->ops->stats(host->data, "J", &answer->file, &failure);
    else
        ask_control(host, ask, answer);
    if (result == OUTCOME_DONE && answer->file >= 0) {
        answer->file = rule_file_new(answer->file, &failure);
        result = answer->file >= 0 ? OUTCOME_DONE : OUTCOME_SYSTEM;
    }
    if (result != OUTCOME_DONE)
        answer->failure = g_strdup(failure.why);
    return answer;
}

/* ---- and in the main context ---- */

static guint64
bytes_of(int file)
{
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 ? (guint64)status.st_size : 0;
}

/* Whether the actions on processes of WORK's user may hold BYTES more. */
static gboolean
may_hold(const RuleWork *work, guint64 bytes)
{
    const RuleWorks *works = work->works;
    for (guint i = 0; i < works->running->len; i++) {
        const RuleWork *other = works->running->pdata[i];
        bytes += live_account(other->target) == live_account(work->target) ? other->held : 0;
    }
    return bytes <= works->service->options.limits.rule_bytes && own_room_may_hold(bytes);
}

/* The earlier file of PLACE makes room first. */
static void
take_file(RuleWork *work, guint place, Answer *answer)
{
    const guint64 bytes = bytes_of(answer->file);
    if (answer->file < 0)
        return;
    work->held -= bytes_of(work->files[place]);
    rule_file_free(work->files[place]);
    work->files[place] = -1;
    if (!may_hold(work, bytes)) {
        g_free(answer->failure);
        answer->failure = g_strdup("there is too little memory left for what it would hold for later actions");
        return;
    }
    work->held += bytes;
    work->files[place] = answer->file;
    answer->file = -1;
}

static gboolean
on_recording_late(gpointer data)
{
    RuleWork *work = data;
    work->recording = 0;
    end_alarm(work);
    end_action(work, "the recording did not end in time");
    return G_SOURCE_REMOVE;
}

static void
wait_for_recording(RuleWork *work, guint64 recording)
{
    const RuleAction *action = &g_array_index(work->rule->actions, RuleAction, work->next);
    work->recording = recording;
    work->alarm = service_new_alarm(work->works->service, on_recording_late, work);
    g_source_set_ready_time(work->alarm,
                            g_get_monotonic_time() + action->amount * 1000 + RECORDING_GRACE_S * G_USEC_PER_SEC);
}

static void
on_answer(gpointer result, const GError *error, gpointer data)
{
    RuleWork *work = data;
    Answer *answer = result;
    work->ticket = NULL;
    if (answer == NULL) {
        end_action(work, error->message);
        return;
    }
    if (answer->recording != 0) {
        wait_for_recording(work, answer->recording);
        return;
    }
    const RuleAction *action = &g_array_index(work->rule->actions, RuleAction, work->next);
    take_file(work, action->kind == RULE_STATISTICS ? FILE_STATISTICS : FILE_DUMP, answer);
    if (answer->dump != 0)
        work->dump = answer->dump;
    work->bytes += answer->bytes;
    end_action(work, answer->failure);
}

static void
submit(RuleWork *work, guint64 recording)
{
    const RuleAction *action = &g_array_index(work->rule->actions, RuleAction, work->next);
    const Ask ask = {action->kind, action->amount, recording};
    g_autofree char *who = g_strdup_printf("rule %s", work->rule->name);
    g_autoptr(GError) error = NULL;
    const ServiceWork wanted = {.pace = SERVICE_SLOW,
                                .who = who,
                                .func = ask_target,
                                .data = g_memdup2(&ask, sizeof(ask)),
                                .free_data = g_free,
                                .free_result = free_answer};
    work->ticket = service_target_submit(work->target, &wanted, on_answer, work, &error);
    if (work->ticket == NULL)
        end_action(work, error->message);
}

void
rule_works_note(RuleWorks *works, const ServiceEvent *event)
{
    for (guint i = 0; event->type == SERVICE_EVENT_RECORDING_ENDED && i < works->running->len; i++) {
        RuleWork *work = works->running->pdata[i];
        if (work->recording == 0 || work->recording != event->subject ||
            strcmp(service_target_unique(work->target), event->unique) != 0)
            continue;
        work->recording = 0;
        end_alarm(work);
        submit(work, event->subject);
        return;
    }
}

/* ---- programs ---- */

static gboolean
end_needed(gpointer data)
{
    service_end_needed(data);
    return G_SOURCE_REMOVE;
}

static void
on_program_ended(const char *failure, gpointer data)
{
    RuleWork *work = data;
    const RuleWorks *works = work->works;
    g_clear_pointer(&work->program, rule_program_free);
    end_action(work, failure);
    if (works->stopping) /* after its messages */
        service_post(works->service, end_needed, works->service, NULL);
}

static char **
make_environment(const RuleWork *work)
{
    g_autofree char *time = rule_report_time(work->time_us);
    g_autofree char *dump = g_strdup_printf("%" G_GUINT64_FORMAT, work->dump);
    g_autofree char *operand = process_operand(live_process(work->target));
    char **environment = NULL;
    const struct {
        const char *name, *value;
    } rows[] = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"LANG", "C.UTF-8"},
        {"JESCOPE_RULE", work->rule->name},
        {"JESCOPE_BECAUSE", work->because},
        {"JESCOPE_TIME", time},
        {"JESCOPE_PID", service_target_id(work->target)},
        {"JESCOPE_TARGET", operand},
        {"JESCOPE_PROCESS", service_target_name(work->target)},
        {"JESCOPE_SERIES", service_target_series(work->target)},
        {"JESCOPE_DUMP_ID", work->dump != 0 ? dump : NULL},
        {"JESCOPE_DUMP", work->files[FILE_DUMP] >= 0 ? file_places[FILE_DUMP] : NULL},
        {"JESCOPE_STATISTICS", work->files[FILE_STATISTICS] >= 0 ? file_places[FILE_STATISTICS] : NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].value != NULL)
            environment = g_environ_setenv(environment, rows[i].name, rows[i].value, TRUE);
    return environment;
}

static void
start_program(RuleWork *work, char **argv, const char *user)
{
    g_auto(GStrv) environment = make_environment(work);
    g_autoptr(GError) error = NULL;
    if (work->works->stopping) {
        end_action(work, "jescope was told to stop");
        return;
    }
    int files[FILES];
    const RuleProgramSetup setup = {.argv = argv,
                                    .environment = environment,
                                    .user = user,
                                    .files = files,
                                    .n_files = FILES,
                                    .limit_us = work->rule->time_limit_us};
    for (guint i = 0; i < FILES; i++)
        files[i] = work->files[i] >= 0 ? rule_file_open(work->files[i]) : -1;
    work->program = rule_program_start(&setup, work->works->service->context, on_program_ended, work, &error);
    for (guint i = 0; i < FILES; i++)
        if (files[i] >= 0)
            close(files[i]);
    if (work->program == NULL)
        end_action(work, error->message);
}

static void
run_program(RuleWork *work, const RuleAction *action)
{
    start_program(work, action->argv, work->rule->run_as);
}

/* Pushes the last dump with `jescope push` as jescope's own user, which symbolizes in a confined child and queues what
 * it cannot send. */
static void
push_dump(RuleWork *work, const RuleAction *action)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    const char *const words[] = {RENDER_SELF, "push", file_places[FILE_DUMP]};
    if (work->files[FILE_DUMP] < 0) {
        end_action(work, "there is no dump to push");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        g_ptr_array_add(argv, g_strdup(words[i]));
    g_ptr_array_add(argv, g_strdup_printf("--service=%s", service_target_name(work->target)));
    g_ptr_array_add(argv, g_strdup_printf("--for=%" G_GINT64_FORMAT "ms", work->rule->time_limit_us / 2000));
    for (char **word = action->argv; *word != NULL; word++)
        g_ptr_array_add(argv, g_strdup(*word));
    g_ptr_array_add(argv, NULL);
    start_program(work, (char **)argv->pdata, NULL);
}

/* ---- web hooks ---- */

/* The data of a thread, used by it alone. */
typedef struct {
    Service *service; /* a reference */
    guint number;     /* RuleWork.number */
    char *server;     /* that the URL names */
    char *url, *body;
    uid_t server_user; /* of the action */
    gint64 limit_us;
    char *failure;
} Post;

static void
free_post(gpointer data)
{
    Post *post = data;
    service_unref(post->service);
    g_free(post->server);
    g_free(post->url);
    g_free(post->body);
    g_free(post->failure);
    g_free(post);
}

static RuleWork *
find_work(const RuleWorks *works, guint number)
{
    for (guint i = 0; i < works->running->len; i++)
        if (((RuleWork *)works->running->pdata[i])->number == number)
            return works->running->pdata[i];
    return NULL;
}

typedef struct {
    Post *post;
    RuleWorks *works;
} Posted;

static void
free_posted(gpointer data)
{
    Posted *posted = data;
    free_post(posted->post);
    g_free(posted);
}

static void
begin_posts(RuleWorks *works)
{
    Post *post;
    while ((post = post_queue_next(works->waiting, g_get_monotonic_time())) != NULL)
        g_thread_pool_push(works->posts, post, NULL);
}

static gboolean
on_posted(gpointer data)
{
    const Posted *posted = data;
    RuleWork *work = find_work(posted->works, posted->post->number);
    post_queue_done(posted->works->waiting, posted->post->server);
    begin_posts(posted->works);
    end_action(work, posted->post->failure);
    return G_SOURCE_REMOVE;
}

static gboolean
is_stopping(Service *service)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&service->lock);
    return service->stopping || service->closed;
}

/* TRUE if delivered, or if another attempt is useless. */
static gboolean
try_post(Post *post, gint64 end_us)
{
    g_autoptr(GError) error = NULL;
    gint64 left_ms = (end_us - g_get_monotonic_time()) / 1000;
    long status = connection_post_json(post->url, post->server_user, post->body,
                                       (guint)CLAMP(left_ms, 1, POST_DEADLINE_S * 1000), &error);
    g_clear_pointer(&post->failure, g_free);
    if (status >= 200 && status < 300)
        return TRUE;
    post->failure = status != 0 ? g_strdup_printf("the server answered with status %ld%s", status,
                                                  status >= 300 && status < 400 ? "; redirects are not followed" : "")
                                : g_strdup(error->message);
    return status != 0 && status != TOO_MANY_REQUESTS && status < SERVER_ERRORS;
}

static void
post_on_thread(gpointer data, gpointer works)
{
    Post *post = data;
    gint64 end_us = g_get_monotonic_time() + post->limit_us;
    for (guint i = 0; i < POST_ATTEMPTS && (i == 0 || !is_stopping(post->service)); i++) {
        gint64 pause_us = i == 0 ? 0 : ((gint64)POST_PAUSE_S << (i - 1)) * G_USEC_PER_SEC;
        if (pause_us > 0 && g_get_monotonic_time() + pause_us >= end_us)
            break;
        g_usleep((gulong)pause_us);
        if (try_post(post, end_us))
            break;
    }
    Posted *posted = g_new(Posted, 1);
    *posted = (Posted){post, works};
    service_post(post->service, on_posted, posted, free_posted);
}

static RuleReport
report_of(const RuleWork *work)
{
    return (RuleReport){.rule = work->rule->name,
                        .because = work->because,
                        .time_us = work->time_us,
                        .id = service_target_id(work->target),
                        .unique = service_target_unique(work->target),
                        .name = service_target_name(work->target),
                        .series = service_target_series(work->target),
                        .actions = work->actions,
                        .dump = work->dump};
}

static char *
server_of(const char *url)
{
    g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
    return uri != NULL ? g_strdup_printf("%s:%d", g_uri_get_host(uri), g_uri_get_port(uri)) : g_strdup("");
}

/* Takes ownership of BODY. */
static void
post_body(RuleWork *work, const RuleAction *action, char *body)
{
    RuleWorks *works = work->works;
    Post *post = g_new0(Post, 1);
    *post = (Post){.service = service_ref(works->service),
                   .number = work->number,
                   .server = server_of(action->url),
                   .url = g_strdup(action->url),
                   .server_user = action->server_user,
                   .body = body,
                   .limit_us = work->rule->time_limit_us};
    if (works->posts == NULL)
        works->posts = g_thread_pool_new(post_on_thread, works, POSTS_AT_ONCE, FALSE, NULL);
    post_queue_add(works->waiting, live_account(work->target), post->server, post);
    begin_posts(works);
}

static void
post_document(RuleWork *work, const RuleAction *action)
{
    const RuleReport report = report_of(work);
    post_body(work, action, rule_report_document(&report));
}

static void
post_log_record(RuleWork *work, const RuleAction *action)
{
    const RuleReport report = report_of(work);
    post_body(work, action, rule_report_otlp(&report, g_get_host_name()));
}

/* ---- all actions ---- */

static void
ask_for(RuleWork *work, const RuleAction *action)
{
    submit(work, 0);
}

static void
write_line(RuleWork *work, const RuleAction *action)
{
    service_say(work->works->service, "rule %s: %s: %s", work->rule->name, service_target_label(work->target),
                work->because);
    end_action(work, NULL);
}

static void
send_to_syslog(RuleWork *work, const RuleAction *action)
{
    const RuleReport report = report_of(work);
    g_autoptr(GError) error = NULL;
    rule_report_syslog(&report, action->path, &error);
    end_action(work, error != NULL ? error->message : NULL);
}

static void (*const starters[RULE_ACTIONS])(RuleWork *work, const RuleAction *action) = {
    [RULE_RECORD] = ask_for,       [RULE_DUMP] = ask_for,          [RULE_STATISTICS] = ask_for,
    [RULE_PURGE] = ask_for,        [RULE_DECAY] = ask_for,         [RULE_RENEW] = ask_for,
    [RULE_RUN] = run_program,      [RULE_PUSH] = push_dump,        [RULE_POST] = post_document,
    [RULE_OTLP] = post_log_record, [RULE_SYSLOG] = send_to_syslog, [RULE_LOG] = write_line};

static void
run_next(RuleWork *work)
{
    if (work->next == work->rule->actions->len) {
        end_work(work);
        return;
    }
    const RuleAction *action = &g_array_index(work->rule->actions, RuleAction, work->next);
    starters[action->kind](work, action);
}

void
rule_works_begin(RuleWorks *works, Rule *rule, ServiceTarget *target, const char *because)
{
    g_autofree char *detail = g_strdup_printf("%s: %s", rule->name, because);
    const ServiceEvent event = {.type = SERVICE_EVENT_RULE_FIRED, .detail = detail};
    RuleWork *work = g_new0(RuleWork, 1);
    *work = (RuleWork){.works = works,
                       .number = ++works->last_number,
                       .rule = rule_ref(rule),
                       .target = service_target_ref(target),
                       .because = g_strdup(because),
                       .time_us = g_get_real_time(),
                       .actions = json_array(),
                       .files = {-1, -1}};
    g_ptr_array_add(works->running, work);
    live_emit(target, &event);
    run_next(work);
}

RuleWorks *
rule_works_new(Service *service, RuleWorkDone done, gpointer data)
{
    RuleWorks *works = g_new0(RuleWorks, 1);
    *works = (RuleWorks){
        .service = service, .done = done, .data = data, .running = g_ptr_array_new_with_free_func(free_work)};
    works->waiting = post_queue_new(POSTS_AT_ONCE, POSTS_TO_ONE, free_post);
    return works;
}

void
rule_works_stop(RuleWorks *works)
{
    if (works->stopping)
        return;
    works->stopping = TRUE;
    for (guint i = 0; i < works->running->len; i++) {
        const RuleWork *work = works->running->pdata[i];
        if (work->program == NULL)
            continue;
        service_begin_needed(works->service);
        rule_program_stop(work->program);
    }
}

void
rule_works_close(RuleWorks *works)
{
    g_ptr_array_set_size(works->running, 0);
    post_queue_clear(works->waiting); /* each has a reference to the service */
}

void
rule_works_free(RuleWorks *works)
{
    if (works->posts != NULL)
        g_thread_pool_free(works->posts, FALSE, FALSE);
    post_queue_free(works->waiting);
    g_ptr_array_unref(works->running);
    g_free(works);
}
