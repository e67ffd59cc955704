/* SPDX-License-Identifier: Apache-2.0 */
#include "target/proxy.h"
#include "target/process.h"

#include "target/implementation.h"

#include "confine/channel.h"
#include "wire/message.h"

#include <string.h>
#include <unistd.h>

enum {
    WORDS = 1024, /* of rows in one reply */
    TEXT_MAX = 1024,
};

typedef enum {
    ASK_HELLO,
    ASK_READ,
    ASK_WRITE,
    ASK_SAMPLE,
    ASK_OUTPUT,
    ASK_LEASE,
    ASK_LEAVE,
    ASK_COUNT,
} Ask;

typedef struct {
    guint32 ask;
    guint32 type;                      /* WireType; OUTPUT: whether text has letters */
    char text[WIRE_SAMPLE_NAMES_SIZE]; /* a control, letters, or names as in a SampleRequest; ends with two NULs */
    guint64 value;
    gint64 until;                     /* target_wait_until() */
    OutputPlan plan;                  /* OUTPUT */
    guint32 n, first, count, refresh; /* SAMPLE */
    WireLeaseRequest lease;
} Request;

typedef struct {
    gint32 failed;
    gint32 code;    /* Outcome */
    gint32 failure; /* target_errno() */
    char message[TEXT_MAX];
    union {
        struct {
            gint32 pid;
            guint32 via, user;
            char name[TEXT_MAX], note[TEXT_MAX];
        } opened;
        WireHelloReply hello;
        WireCtlReply value;
        WireLease lease;
        struct {
            guint64 spent_ns;
            guint64 words[WORDS];
        } sample;
    };
} Reply;

/* ---- the end with the target ---- */

static void
set_failed(Reply *reply, const GError *error)
{
    reply->failed = TRUE;
    reply->code = error->domain == TARGET_ERROR ? error->code : OUTCOME_PROTOCOL;
    g_strlcpy(reply->message, error->message, sizeof(reply->message));
}

/* Checks untrusted names for target_sample(). */
static gboolean
names_are_whole(const Request *request)
{
    gsize length = 0;
    for (guint i = 0; i < request->n; i++) {
        if (length >= sizeof(request->text) - 1 || request->text[length] == '\0')
            return FALSE;
        length += strlen(request->text + length) + 1;
    }
    return length < sizeof(request->text) && request->text[length] == '\0';
}

static gboolean
is_sound(const Request *request, gsize size)
{
    if (size != sizeof(*request) || request->ask >= ASK_COUNT || request->text[sizeof(request->text) - 1] != '\0' ||
        request->type > WIRE_TYPE_STRING || request->until < 0)
        return FALSE;
    if (request->ask == ASK_LEASE)
        return wire_lease_is_sound(&request->lease);
    if (request->ask == ASK_OUTPUT)
        return strlen(request->text) < WIRE_LETTERS_MAX;
    if (request->ask != ASK_SAMPLE)
        return strlen(request->text) < WIRE_TEXT_MAX;
    return request->n >= 1 && request->n <= WIRE_SAMPLE_CONTROLS_MAX && request->count >= 1 &&
           (guint64)request->count * (1 + request->n) <= WORDS && names_are_whole(request);
}

static gboolean
do_sample(Target *target, const Request *request, Reply *reply, GError **error)
{
    const SampleRequest sample = {.names = request->text,
                                  .n = request->n,
                                  .first = request->first,
                                  .count = request->count,
                                  .refresh = request->refresh != 0};
    return target_sample(target, &sample, reply->sample.words, &reply->sample.spent_ns, error);
}

static gboolean
do_output(Target *target, const Request *request, ChannelMessage *message, GError **error)
{
    /* The other end completes it. */
    target->output_max = request->value != 0 ? request->value : target_output_limit();
    target->plan = request->plan;
    int fd = target_output(target, request->type != 0 ? request->text : NULL, error);
    if (fd < 0)
        return FALSE;
    message->fds[message->n_fds++] = fd;
    return TRUE;
}

static gboolean
act(Target *target, const Request *request, Reply *reply, ChannelMessage *message, GError **error)
{
    switch ((Ask)request->ask) {
    case ASK_HELLO:
        return target_hello(target, &reply->hello, error);
    case ASK_READ:
        return target_read(target, request->text, (WireType)request->type, &reply->value, error);
    case ASK_WRITE:
        return target_write(target, request->text, (WireType)request->type, request->value, error);
    case ASK_SAMPLE:
        return do_sample(target, request, reply, error);
    case ASK_OUTPUT:
        return do_output(target, request, message, error);
    case ASK_LEASE:
        return target_lease(target, &request->lease, &reply->lease, error);
    default:
        return target_leave(target, error);
    }
}

static gboolean
serve_one(int socket, Target *target)
{
    Request request;
    g_autofree Reply *reply = g_new0(Reply, 1);
    g_autoptr(GError) error = NULL;
    ChannelMessage asked = {.bytes = &request, .size = sizeof(request)};
    ChannelMessage message = {.bytes = reply, .size = sizeof(*reply)};
    if (!channel_receive(socket, &asked))
        return FALSE;
    channel_close_fds(&asked);
    if (!is_sound(&request, asked.size))
        return FALSE;
    target_wait_until(target, request.until);
    if (!act(target, &request, reply, &message, &error))
        set_failed(reply, error);
    reply->failure = target_errno(target);
    gboolean sent = channel_send(socket, &message);
    channel_close_fds(&message);
    return sent;
}

void
proxy_serve(int socket, Target *target, const GError *error)
{
    g_autofree Reply *reply = g_new0(Reply, 1);
    const ChannelMessage message = {.bytes = reply, .size = sizeof(*reply)};
    if (target == NULL) {
        set_failed(reply, error);
    } else {
        /* The other end checks that there is room in the target's groups. */
        target_set_dump_limits(target, &(DumpLimits){.forced = TRUE});
        reply->opened.via = target_via(target);
        reply->opened.user = target_user(target);
        g_strlcpy(reply->opened.name, target_name(target), sizeof(reply->opened.name));
        g_strlcpy(reply->opened.note, target_note(target) != NULL ? target_note(target) : "", TEXT_MAX);
    }
    gboolean open = channel_send(socket, &message) && target != NULL;
    while (open)
        open = serve_one(socket, target);
}

/* ---- the other end ---- */

typedef struct {
    Target target;
    int socket;
    Reply reply;
} Proxy;

static Proxy *
proxy_of(Target *target)
{
    return (Proxy *)target;
}

static gboolean
receive(Proxy *proxy, int *fd, GError **error)
{
    ChannelMessage message = {.bytes = &proxy->reply, .size = sizeof(proxy->reply)};
    if (!channel_receive(proxy->socket, &message) || message.size != sizeof(proxy->reply)) {
        channel_close_fds(&message);
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT, "the helper process for %s has ended",
                    proxy->target.label != NULL ? proxy->target.label : "the target");
        return FALSE;
    }
    if (fd != NULL && message.n_fds == 1)
        *fd = message.fds[--message.n_fds];
    channel_close_fds(&message);
    proxy->target.failure = proxy->reply.failure;
    if (proxy->reply.failed == 0)
        return TRUE;
    const gboolean known = proxy->reply.code > OUTCOME_DONE && proxy->reply.code < N_OUTCOMES;
    g_set_error_literal(error, TARGET_ERROR, known ? proxy->reply.code : OUTCOME_PROTOCOL, proxy->reply.message);
    return FALSE;
}

static gboolean
ask(Proxy *proxy, Request *request, int *fd, GError **error)
{
    const ChannelMessage message = {.bytes = request, .size = sizeof(*request)};
    request->until = proxy->target.until;
    channel_send(proxy->socket, &message); /* if it cannot be sent, there is no answer either */
    return receive(proxy, fd, error);
}

static gboolean
proxy_hello(Target *target, WireHelloReply *hello, GError **error)
{
    Request request = {.ask = ASK_HELLO};
    if (!ask(proxy_of(target), &request, NULL, error))
        return FALSE;
    *hello = proxy_of(target)->reply.hello;
    return TRUE;
}

static gboolean
proxy_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    Request request = {.ask = ASK_READ, .type = type};
    g_strlcpy(request.text, control, sizeof(request.text));
    if (!ask(proxy_of(target), &request, NULL, error))
        return FALSE;
    *value = proxy_of(target)->reply.value;
    return TRUE;
}

static gboolean
proxy_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    Request request = {.ask = ASK_WRITE, .type = type, .value = value};
    g_strlcpy(request.text, control, sizeof(request.text));
    return ask(proxy_of(target), &request, NULL, error);
}

static gsize
names_length(const SampleRequest *sample)
{
    gsize length = 0;
    for (guint i = 0; i < sample->n; i++)
        length += strlen(sample->names + length) + 1;
    return length;
}

static gboolean
proxy_sample(Target *target, const SampleRequest *sample, guint64 *rows, guint64 *spent_ns, GError **error)
{
    Proxy *proxy = proxy_of(target);
    Request request = {.ask = ASK_SAMPLE, .n = sample->n, .refresh = sample->refresh};
    gsize length = names_length(sample), width = 1 + sample->n;
    g_return_val_if_fail(length < sizeof(request.text), FALSE);
    memcpy(request.text, sample->names, length);
    for (guint done = 0; done < sample->count; done += request.count) {
        request.first = sample->first + done;
        request.count = MIN(sample->count - done, (guint)(WORDS / width));
        if (!ask(proxy, &request, NULL, error))
            return FALSE;
        memcpy(rows + done * width, proxy->reply.sample.words, request.count * width * sizeof(*rows));
        if (spent_ns != NULL)
            *spent_ns += proxy->reply.sample.spent_ns;
        request.refresh = FALSE;
    }
    return TRUE;
}

static int
proxy_output(Target *target, const char *letters, GError **error)
{
    int fd = -1;
    Request request = {.ask = ASK_OUTPUT, .type = letters != NULL, .value = target->output_max, .plan = target->plan};
    g_strlcpy(request.text, letters != NULL ? letters : "", sizeof(request.text));
    return ask(proxy_of(target), &request, &fd, error) ? fd : -1;
}

static gboolean
proxy_lease(Target *target, const WireLeaseRequest *wanted, WireLease *lease, GError **error)
{
    Request request = {.ask = ASK_LEASE, .lease = *wanted};
    if (!ask(proxy_of(target), &request, NULL, error))
        return FALSE;
    *lease = proxy_of(target)->reply.lease;
    return TRUE;
}

static gboolean
proxy_leave(Target *target, GError **error)
{
    Request request = {.ask = ASK_LEAVE};
    return ask(proxy_of(target), &request, NULL, error);
}

static void
proxy_free(Target *target)
{
    close(proxy_of(target)->socket);
}

#define PROXY_OPS(how)                                                                                                 \
    {                                                                                                                  \
        .via = how, .hello = proxy_hello, .read = proxy_read, .write = proxy_write, .sample = proxy_sample,            \
        .output = proxy_output, .lease = proxy_lease, .leave = proxy_leave, .free = proxy_free,                        \
    }

static const TargetOps proxy_ops[] = {
    [TARGET_VIA_AGENT] = PROXY_OPS(TARGET_VIA_AGENT),
    [TARGET_VIA_ATTACH] = PROXY_OPS(TARGET_VIA_ATTACH),
};

Target *
proxy_open(int socket, const Process *process, GError **error)
{
    Proxy *proxy = g_new0(Proxy, 1);
    g_autoptr(Target) target = &proxy->target;
    target->ops = &proxy_ops[TARGET_VIA_AGENT];
    proxy->socket = socket;
    if (!receive(proxy, NULL, error))
        return NULL;
    target_set_process(target, process);
    target->user = proxy->reply.opened.user;
    target->ops = &proxy_ops[proxy->reply.opened.via == TARGET_VIA_ATTACH ? TARGET_VIA_ATTACH : TARGET_VIA_AGENT];
    target_set_name(target, proxy->reply.opened.name);
    target->note = proxy->reply.opened.note[0] != '\0' ? g_strdup(proxy->reply.opened.note) : NULL;
    return g_steal_pointer(&target);
}
