/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client.h"

#include "broker/protocol.h"
#include "confine/channel.h"
#include "service/failure.h"
#include "service/scan.h"
#include "target/proxy.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
    BRIEF_MS = 10000,    /* longer than what is within them waits for */
    OWN_DUMP_MS = 60000, /* the process chooses the file system, which may never answer */
};

static int broker = -1;
static GMutex turn; /* serializes requests with their replies */

void
broker_client_init(int socket)
{
    broker = socket;
}

/* ---- requests ---- */

/* PROCESS as it was found; NULL: the request is not about one. */
static BrokerRequest *
request_new(BrokerKind kind, const Process *process, const char *text)
{
    BrokerRequest *request = g_new0(BrokerRequest, 1);
    request->magic = BROKER_MAGIC;
    request->kind = kind;
    g_strlcpy(request->text, text, sizeof(request->text));
    if (process == NULL)
        return request;
    request->pid = process->pid;
    request->start_time = process->start_time;
    memcpy(request->uids, process->uids, sizeof(request->uids));
    memcpy(request->gids, process->gids, sizeof(request->gids));
    request->closed = process->closed != FALSE;
    return request;
}

/* For what is read by a pid alone: who uses it looks afterwards whether the process is the one that he means
 * (process_change_check()). */
static BrokerRequest *
request_for_pid(BrokerKind kind, pid_t pid, const char *text)
{
    Process process = {.pid = pid};
    process_look(pid, &process);
    return request_new(kind, &process, text);
}

static gboolean
exchange(const ChannelMessage *asked, ChannelMessage *message)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&turn);
    return channel_send(broker, asked) && channel_receive(broker, message);
}

/* Sends a request and receives its reply. Returns 0 or an errno value; *FD (FD may be NULL) is set to the reply's
 * descriptor, or -1. */
static int
ask_with(BrokerRequest *request, const int *fds, guint n_fds, int *fd)
{
    BrokerReply reply;
    ChannelMessage asked = {.bytes = request, .size = sizeof(*request), .n_fds = n_fds};
    ChannelMessage message = {.bytes = &reply, .size = sizeof(reply)};
    if (n_fds > 0)
        memcpy(asked.fds, fds, n_fds * sizeof(*fds));
    if (!exchange(&asked, &message) || message.size != sizeof(reply))
        return EIO;
    if (fd != NULL)
        *fd = message.n_fds > 0 ? message.fds[--message.n_fds] : -1;
    channel_close_fds(&message);
    return reply.error;
}

static int
ask(BrokerRequest *request, int *fd)
{
    return ask_with(request, NULL, 0, fd);
}

/* Requests a descriptor; -1 with errno. */
static int
ask_for_descriptor(BrokerRequest *request)
{
    int fd = -1;
    int error = ask(request, &fd);
    errno = error != 0 ? error : EIO;
    return error == 0 ? fd : -1;
}

/* ---- sessions with one answer ---- */

/* Receives an answer of SIZE bytes from SOCKET, which is closed, with or without a descriptor in *FD. */
static gboolean
receive_answer(int socket, gpointer bytes, gsize size, int *fd)
{
    ChannelMessage message = {.bytes = bytes, .size = size};
    gboolean got = channel_receive(socket, &message) && message.size == size;
    *fd = got && message.n_fds > 0 ? message.fds[--message.n_fds] : -1;
    channel_close_fds(&message);
    close(socket);
    return got;
}

/* Waits for the answer of SESSION, which is closed: a process may delay it without end, and it is then left to itself.
 * *FD is set as by receive_answer(). Returns 0 or an errno value. */
static int
await_result(int session, int ms, BrokerResult *result, int *fd)
{
    struct pollfd ready = {.fd = session, .events = POLLIN};
    *fd = -1;
    if (poll(&ready, 1, ms) == 0) {
        close(session);
        return ETIMEDOUT;
    }
    return receive_answer(session, result, sizeof(*result), fd) ? result->error : EIO;
}

/* Has REQUEST answered by a session that ends soon unless its process delays it. *FD (FD may be NULL) is set to its
 * descriptor or -1. Returns 0 or an errno value. */
static int
ask_briefly(BrokerRequest *request, BrokerResult *result, int *fd)
{
    int session = -1, got = -1;
    int error = ask(request, &session);
    if (error == 0)
        error = await_result(session, BRIEF_MS, result, &got);
    if (fd != NULL)
        *fd = got;
    else if (got >= 0)
        close(got);
    return error;
}

/* Requests a descriptor from such a session; -1 with errno. */
static int
ask_briefly_for_descriptor(BrokerRequest *request)
{
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    int fd = -1;
    int error = ask_briefly(request, result, &fd);
    errno = error != 0 ? error : EIO;
    return fd;
}

static int
reach_file(const Process *found, ReachFile file)
{
    g_autofree BrokerRequest *request = request_new(BROKER_OPEN, found, "");
    request->detail = file;
    return ask_briefly_for_descriptor(request);
}

static int
reach_connect(const Process *process, const char *path)
{
    g_autofree BrokerRequest *request = request_new(BROKER_CONNECT, process, path);
    return ask_briefly_for_descriptor(request);
}

static char *
reach_variable(pid_t pid, const char *name)
{
    g_autofree BrokerRequest *request = request_for_pid(BROKER_VARIABLE, pid, name);
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    gboolean present = ask_briefly(request, result, NULL) == 0 && result->present != 0;
    return present ? g_strndup(result->value, sizeof(result->value) - 1) : NULL;
}

static int
reach_own_dump(const ReachOwnDump *wanted)
{
    g_autofree BrokerRequest *request = request_new(BROKER_OWN_DUMP, wanted->process, wanted->prefix);
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    int session = -1, fd;
    request->detail = (guint32)wanted->inner;
    int error = wanted->prefix[0] == '\0' ? EINVAL : ask_with(request, &wanted->dump, 1, &session);
    if (error != 0 || session < 0)
        return error != 0 ? error : EIO;
    return await_result(session, OWN_DUMP_MS, result, &fd);
}

/* ---- the rest of ReachOps ---- */

static Target *
reach_open_target(const Process *process, const char *address, TargetVia via, GError **error)
{
    g_autofree BrokerRequest *request = request_new(BROKER_TARGET, process, address);
    request->detail = via;
    int session = ask_for_descriptor(request);
    if (session >= 0)
        return proxy_open(session, process, error);
    int code = errno;
    if (code == ESRCH)
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has ended", process->name, (int)process->pid);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot reach %s (%d): %s", process->name, (int)process->pid,
                    g_strerror(code));
    return NULL;
}

static int
reach_setting(const char *path)
{
    g_autofree BrokerRequest *request = request_new(BROKER_FILE, NULL, path);
    return ask_for_descriptor(request);
}

static int
reach_exit_events(void)
{
    g_autofree BrokerRequest *request = request_new(BROKER_EXITS, NULL, "");
    return ask_for_descriptor(request);
}

static void
reach_watch(int inotify)
{
    g_autofree BrokerRequest *request = request_new(BROKER_WATCH, NULL, "");
    ask_with(request, &inotify, 1, NULL);
}

static void
reach_remove(const char *path)
{
    g_autofree BrokerRequest *request = request_new(BROKER_UNLINK, NULL, path);
    ask(request, NULL);
}

const ReachOps *
broker_client_reach(void)
{
    static const ReachOps reach = {
        .user = 0,
        .open = reach_file,
        .connect = reach_connect,
        .variable = reach_variable,
        .target = reach_open_target,
        .own_dump = reach_own_dump,
        .setting = reach_setting,
        .exit_events = reach_exit_events,
        .watch = reach_watch,
        .unlink = reach_remove,
    };
    return &reach;
}

/* ---- scans ---- */

static gpointer
scanner_open(guint per_user)
{
    g_autofree BrokerRequest *request = request_new(BROKER_SCAN, NULL, "");
    request->number = per_user;
    int session = ask_for_descriptor(request);
    return session >= 0 ? GINT_TO_POINTER(session) : NULL;
}

static void
scanner_close(gpointer scanner)
{
    close(GPOINTER_TO_INT(scanner));
}

static void
take_seen(const BrokerSeen *seen, ScanResult *result)
{
    if (seen->kind == BROKER_SEEN_LOST) {
        const ScanLost lost = {.pid = seen->process.pid, .start_time = seen->process.start_time};
        g_array_append_val(result->lost, lost);
    } else if (seen->kind == BROKER_SEEN_TROUBLE) {
        g_free(result->trouble);
        result->trouble = g_strdup(seen->address);
    } else {
        const ScanFound found = {
            .process = seen->process,
            .address = g_strdup(seen->address),
            .named = seen->named != 0,
            .identity = identity_of(seen->user, seen->unit, seen->program),
        };
        found.identity->contained = seen->contained != 0;
        g_array_append_val(result->found, found);
    }
}

static gboolean
send_hints(int session, const GArray *pids)
{
    BrokerHints hints = {.n = pids != NULL ? MIN(pids->len, BROKER_HINTS_MAX) : 0};
    const ChannelMessage message = {.bytes = &hints, .size = sizeof(hints)};
    for (guint i = 0; i < hints.n; i++)
        hints.pids[i] = g_array_index(pids, pid_t, i);
    return channel_send(session, &message);
}

static ScanResult *
scan(gpointer scanner, const GArray *pids)
{
    int session = GPOINTER_TO_INT(scanner);
    g_autoptr(ScanResult) result = scan_result_new();
    g_autofree BrokerSeen *seen = g_new0(BrokerSeen, 1);
    if (!send_hints(session, pids))
        return NULL;
    for (;;) {
        ChannelMessage message = {.bytes = seen, .size = sizeof(*seen)};
        if (!channel_receive(session, &message))
            return NULL;
        channel_close_fds(&message);
        if (seen->kind == BROKER_SEEN_END)
            return g_steal_pointer(&result);
        take_seen(seen, result);
    }
}

/* ---- reports ---- */

static void
add_word(GString *words, const char *word)
{
    g_string_append_len(words, word, (gssize)strlen(word) + 1);
}

/* Sets the text of REQUEST to WORDS, then OPTIONS, each NUL-terminated. FALSE if they do not fit. */
static gboolean
put_words(BrokerRequest *request, GString *words, const char *const *options)
{
    for (const char *const *option = options; option != NULL && *option != NULL; option++)
        add_word(words, *option);
    add_word(words, "");
    if (words->len > sizeof(request->text))
        return FALSE;
    memcpy(request->text, words->str, words->len);
    return TRUE;
}

/* A request for a report with SETUP. */
static BrokerRequest *
request_report(BrokerKind kind, const RenderSetup *setup)
{
    BrokerRequest *request = setup->pid != 0 ? request_for_pid(kind, setup->pid, "") : request_new(kind, NULL, "");
    request->detail = setup->seconds;
    request->number = setup->bytes;
    if (request->start_time == 0)
        request->pid = 0; /* the process has ended */
    return request;
}

static Outcome
fail(Failure *failure, int error)
{
    return failure_set_error(failure, OUTCOME_SYSTEM, error, "cannot have a report made");
}

typedef struct {
    const int *fds;
    guint n;
} Descriptors;

static Outcome
receive_report(BrokerRequest *request, const Descriptors *handed, int *descriptor, Failure *failure)
{
    BrokerRendered rendered;
    int session = -1;
    int error = ask_with(request, handed->fds, handed->n, &session);
    if (error == 0 && !receive_answer(session, &rendered, sizeof(rendered), descriptor))
        error = EIO;
    if (error != 0)
        return fail(failure, error);
    *failure = rendered.failure;
    return (Outcome)rendered.result;
}

static Outcome
render(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    const int fds[] = {rendering->dump, rendering->base};
    const Descriptors handed = {fds, rendering->base >= 0 ? 2 : 1};
    g_autofree BrokerRequest *request = request_report(BROKER_RENDER, setup);
    g_autoptr(GString) words = g_string_new(NULL);
    add_word(words, rendering->format);
    add_word(words, setup->title);
    if (!put_words(request, words, rendering->options))
        return fail(failure, E2BIG);
    return receive_report(request, &handed, descriptor, failure);
}

static Outcome
growth(const RenderSetup *setup, const RenderGrowth *wanted, int *descriptor, Failure *failure)
{
    const Descriptors handed = {wanted->dumps, (guint)wanted->n};
    g_autofree BrokerRequest *request = request_report(BROKER_GROWTH, setup);
    g_autoptr(GString) words = g_string_new(NULL);
    for (gsize i = 0; i < wanted->n; i++) {
        g_string_append_printf(words, "%" G_GUINT64_FORMAT, wanted->ids[i]);
        g_string_append_len(words, "", 1);
    }
    if (!put_words(request, words, wanted->options))
        return fail(failure, E2BIG);
    return receive_report(request, &handed, descriptor, failure);
}

/* Waits for the answer of SESSION. FALSE if it is no longer wanted. */
static gboolean
wait_for_answer(int session, const RenderSetup *setup)
{
    enum { WANTED_MS = 200 };
    struct pollfd answer = {.fd = session, .events = POLLIN};
    while (poll(&answer, 1, WANTED_MS) <= 0)
        if (setup->is_wanted != NULL && !setup->is_wanted(setup->data))
            return FALSE;
    return TRUE;
}

static Outcome
examine(const RenderSetup *setup, const ServiceExamination *wanted, int *descriptor, Failure *failure)
{
    g_autofree BrokerRequest *request = request_for_pid(BROKER_EXAMINE, setup->pid, wanted->address);
    request->start_time = setup->start_time;
    BrokerRendered rendered;
    int session = -1;
    request->detail = setup->seconds;
    request->number = wanted->watch_ms;
    int error = ask_with(request, &wanted->kept, wanted->kept >= 0 ? 1 : 0, &session);
    if (error == 0 && !wait_for_answer(session, setup)) {
        close(session);
        error = ECANCELED;
    } else if (error == 0 && !receive_answer(session, &rendered, sizeof(rendered), descriptor)) {
        error = EIO;
    }
    if (error != 0)
        return failure_set_error(failure, OUTCOME_SYSTEM, error, "cannot have the target examined");
    *failure = rendered.failure;
    return (Outcome)rendered.result;
}

const ServiceRoot *
broker_client_root(void)
{
    static const ServiceRoot root = {.scanner_new = scanner_open,
                                     .scanner_free = scanner_close,
                                     .scan = scan,
                                     .render = render,
                                     .growth = growth,
                                     .examine = examine};
    return &root;
}
