/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/push-every.h"
#include "cli/size.h"
#include "cli/via.h"

#include "export/labels.h"
#include "export/stored.h"
#include "routes/render.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    IDLE_MS = 10,     /* interval of checking for signals while there is more to send */
    FIRST_MS = 10000, /* minimum time of the first request */
};

#define FOR_MS 30000

static ReportArguments arguments = REPORT_ARGUMENTS_NONE;
static struct {
    char *to, *print, *queue, *queue_size, *duration, *every, *service, *host, *token, *ca, *cert, *key;
    char **labels, **variables;
    int per_service, dump_share;
} given = {.dump_share = 1};

static const GOptionEntry options[] = {
    {"to", 0, 0, G_OPTION_ARG_STRING, &given.to, "destination", "URL"},
    {"print", 0, 0, G_OPTION_ARG_STRING, &given.print,
     "send nothing; print all data except the stacks, or the whole batch as it is queued",
     "json|" RENDER_BATCH "|" RENDER_BATCH_WITH_HEAP},
    {"pid", 0, 0, G_OPTION_ARG_INT, &arguments.pid,
     "live process that the dump was taken of; functions are named from its files, even if they were replaced", "PID"},
    {"service", 0, 0, G_OPTION_ARG_STRING, &given.service, "name of the service (default: of the program)", "NAME"},
    {"host", 0, 0, G_OPTION_ARG_STRING, &given.host, "name of the host (default: of this one)", "NAME"},
    {"label", 'l', 0, G_OPTION_ARG_STRING_ARRAY, &given.labels, "add a label, may be given again", "NAME=VALUE"},
    {"label-from-env", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.variables,
     "add a label with the value of a variable in the target's environment, may be given again", "NAME=VARIABLE"},
    {"queue", 0, 0, G_OPTION_ARG_FILENAME, &given.queue, "keep batches here until they are sent", "DIRECTORY"},
    {"queue-size", 0, 0, G_OPTION_ARG_STRING, &given.queue_size, "drop the oldest batches beyond this (256MiB)",
     "SIZE"},
    {"for", 0, 0, G_OPTION_ARG_STRING, &given.duration, "try to send for this long (30s)", "DURATION"},
    {"every", 0, 0, G_OPTION_ARG_STRING, &given.every,
     "keep running: dump and push the processes once in each DURATION", "DURATION"},
    {"per-service", 0, 0, G_OPTION_ARG_INT, &given.per_service,
     "with --every: dump at most N processes of each name and user per round (0: all)", "N"},
    {"dump-share", 0, 0, G_OPTION_ARG_INT, &given.dump_share,
     "with --every: percent of its time that a process may spend in dumps (1)", "N"},
    {"token-file", 0, 0, G_OPTION_ARG_FILENAME, &given.token, "send the token in this file to the URL", "FILE"},
    {"ca-file", 0, 0, G_OPTION_ARG_FILENAME, &given.ca, "trust these certificates, not the system's", "FILE"},
    {"cert-file", 0, 0, G_OPTION_ARG_FILENAME, &given.cert, "client certificate for TLS", "FILE"},
    {"key-file", 0, 0, G_OPTION_ARG_FILENAME, &given.key, "private key of that certificate", "FILE"},
    REPORT_FILES_ENTRIES MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

/* ---- sending ---- */

static const char *
batches(guint64 n)
{
    return n == 1 ? "batch" : "batches";
}

/* What ends the sending. The times are monotonic. */
typedef struct {
    Interrupt interrupt;
    gint64 until;    /* no request begins afterwards, except the first */
    gint64 abort_us; /* requests are aborted; not before the first one has had FIRST_MS */
} Sending;

static gboolean
is_over(gpointer data)
{
    const Sending *sending = data;
    return interrupt_is_pending(&sending->interrupt) || g_get_monotonic_time() >= sending->abort_us;
}

/* Sends until the queue is empty, the time is over, or a signal is received. */
static gboolean
send_all(Delivery *delivery, const Sending *sending, GError **error)
{
    DeliveryState state = DELIVERY_GOES;
    /* At least once. */
    do {
        g_autoptr(GError) cause = NULL;
        state = delivery_step(delivery, &cause);
        if (cause != NULL && state != DELIVERY_FAILED)
            command_say("push: %s", cause->message);
        if (state == DELIVERY_FAILED)
            g_propagate_error(error, g_steal_pointer(&cause));
        gint64 due_ms = (delivery_due_us(delivery) - g_get_monotonic_time()) / 1000;
        gint64 left_ms = (sending->until - g_get_monotonic_time()) / 1000;
        if (interrupt_wait(&sending->interrupt,
                           state == DELIVERY_WAITS ? (guint64)CLAMP(due_ms + 1, IDLE_MS, MAX(left_ms, IDLE_MS)) : 0))
            break;
    } while (state != DELIVERY_IDLE && state != DELIVERY_FAILED && g_get_monotonic_time() < sending->until);
    return state != DELIVERY_FAILED;
}

/* Reports the fate of the batches that were in the queue. */
static int
tell(const QueueFigures *before, const QueueFigures *after, int status)
{
    guint64 sent = after->sent - before->sent;
    guint64 lost =
        after->dropped + after->refused + after->damaged - before->dropped - before->refused - before->damaged;
    printf("%" G_GUINT64_FORMAT " %s sent to %s\n", sent, batches(sent), given.to);
    if (lost > 0)
        command_say("push: %" G_GUINT64_FORMAT " %s will not be sent: refused, damaged, or dropped for lack of room",
                    lost, batches(lost));
    if (after->waiting > 0)
        command_say("push: %" G_GUINT64_FORMAT " %s in the queue; the next push to this URL sends them", after->waiting,
                    after->waiting == 1 ? "batch waits" : "batches wait");
    return lost > 0 || after->waiting > 0 ? STATUS_PARTIAL : status;
}

static gboolean
send_for(Queue *queue, Destination *destination, guint64 for_ms, GError **error)
{
    const gint64 now = g_get_monotonic_time();
    Sending sending = {.until = now + (gint64)for_ms * 1000, .abort_us = now + MAX((gint64)for_ms, FIRST_MS) * 1000};
    destination->is_over = is_over;
    destination->is_over_data = &sending;
    g_autoptr(Delivery) delivery = delivery_new(queue, destination, error);
    if (delivery == NULL || !interrupt_catch(&sending.interrupt, error))
        return FALSE;
    const gboolean sent = send_all(delivery, &sending, error);
    interrupt_release(&sending.interrupt);
    return sent;
}

static int
deliver(Queue *queue, Destination *destination, const QueueFigures *before, guint64 for_ms, GError **error)
{
    QueueFigures after;
    g_autoptr(GError) cause = NULL;
    if (!queue_begin_sending(queue, &cause)) {
        if (cause != NULL) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return STATUS_FAILED;
        }
        command_say("push: another jescope sends from this queue, and will send these batches too");
        return STATUS_DONE;
    }
    if (!send_for(queue, destination, for_ms, error) || !queue_figures(queue, &after, error))
        return STATUS_FAILED;
    return tell(before, &after, STATUS_DONE);
}

/* ---- the command ---- */

/* The path and maximum size of the queue. */
typedef struct {
    const char *root;
    guint64 bytes;
} PushQueue;

static Destination *
find_destination(GError **error)
{
    const ExportAccess access = {
        .token_file = given.token, .ca_file = given.ca, .cert_file = given.cert, .key_file = given.key};
    if (given.to == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "push: a URL is needed: --to=directory:///var/lib/profiles");
        return NULL;
    }
    Destination *destination = destination_new(given.to, &access, error);
    gpointer state = destination != NULL ? destination->sink->new (destination, error) : NULL;
    if (state == NULL) {
        g_clear_pointer(&destination, destination_free);
        return NULL;
    }
    destination->sink->free(state);
    return destination;
}

static PushBatchOptions
batch_options(const Destination *destination)
{
    return (PushBatchOptions){.arguments = &arguments,
                              .service = given.service,
                              .host = given.host != NULL ? given.host : g_get_host_name(),
                              .labels = (const char *const *)given.labels,
                              .variables = (const char *const *)given.variables,
                              .with_heap = (destination->sink->flags & EXPORT_WANTS_HEAP) != 0};
}

static gboolean
check_labels(const PushBatchOptions *batch, GError **error)
{
    g_autoptr(GArray) labels = labels_new();
    for (const char *const *label = batch->labels; label != NULL && *label != NULL; label++)
        if (!labels_add_text(labels, *label, error))
            return FALSE;
    return labels_add_variables(labels, getpid(), batch->variables, error);
}

static gboolean
parse_rounds(PushEvery *every, GError **error)
{
    guint64 ms = 0;
    if (given.per_service < 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--per-service: %d is negative; 0: no limit", given.per_service);
        return FALSE;
    }
    if (!duration_parse(given.every, "--every", &ms, error))
        return FALSE;
    every->schedule = (Schedule){.host = every->batch.host,
                                 .every_us = (gint64)ms * 1000,
                                 .per_service = (guint)given.per_service,
                                 .dump_share = (guint)given.dump_share};
    if (!push_schedule_check(&every->schedule, error)) {
        g_prefix_error(error, "--");
        return FALSE;
    }
    return check_labels(&every->batch, error);
}

static int
run_rounds(char **operands, const Destination *destination, const PushQueue *queue, GError **error)
{
    PushEvery every = {.names = operands,
                       .batch = batch_options(destination),
                       .destination = destination,
                       .queue_root = queue->root,
                       .queue_bytes = queue->bytes};
    if (given.duration != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "push: --for does not go with --every, which never gives up");
        return STATUS_USAGE;
    }
    return parse_rounds(&every, error) ? push_every(&every, error) : STATUS_USAGE;
}

static int
print_batch(char *name, GError **error)
{
    const gboolean as_json = g_str_equal(given.print, "json");
    const PushBatchOptions made_with = {.arguments = &arguments,
                                        .service = given.service,
                                        .host = given.host != NULL ? given.host : g_get_host_name(),
                                        .labels = (const char *const *)given.labels,
                                        .variables = (const char *const *)given.variables,
                                        .with_heap = g_str_equal(given.print, RENDER_BATCH_WITH_HEAP)};
    PushBatchFacts facts = {0};
    if (!as_json && !render_is_batch(given.print)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--print: invalid word '%s'; use json, %s or %s", given.print,
                    RENDER_BATCH, RENDER_BATCH_WITH_HEAP);
        return STATUS_USAGE;
    }
    g_autoptr(GBytes) bytes = push_batch_make(name, &made_with, &facts, error);
    g_autoptr(Batch) batch = bytes != NULL && as_json ? batch_read(bytes, error) : NULL;
    if (bytes == NULL || (as_json && batch == NULL))
        return g_error_matches(*error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION) ? STATUS_USAGE : STATUS_FAILED;
    g_autofree char *document = as_json ? stored_document(batch) : NULL;
    gsize size;
    gconstpointer whole = g_bytes_get_data(bytes, &size);
    g_autoptr(Output) out = output_open("-", OUTPUT_SHARED, error);
    if (out == NULL || !output_write(out, as_json ? document : whole, as_json ? strlen(document) : size, error) ||
        !output_commit(out, error))
        return STATUS_FAILED;
    return facts.partial ? STATUS_PARTIAL : STATUS_DONE;
}

static int
run(char **operands, GError **error)
{
    guint64 bytes = PUSH_QUEUE_BYTES, for_ms = FOR_MS;
    QueueFigures before;
    PushBatchFacts facts = {0};
    int status = STATUS_DONE;
    if ((given.queue_size != NULL && !size_parse(given.queue_size, "--queue-size", &bytes, error)) ||
        (given.duration != NULL && !duration_parse(given.duration, "--for", &for_ms, error)))
        return STATUS_USAGE;
    if (arguments.pid < 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--pid: no process with pid %d", arguments.pid);
        return STATUS_USAGE;
    }
    if (given.print != NULL && operands[1] != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--print: one SOURCE at a time; leave out '%s'", operands[1]);
        return STATUS_USAGE;
    }
    if (given.print != NULL)
        return print_batch(operands[0], error);
    g_autoptr(Destination) destination = find_destination(error);
    g_autofree char *root = given.queue != NULL ? g_strdup(given.queue) : push_queue_default();
    if (destination == NULL)
        return STATUS_USAGE;
    if (given.every != NULL)
        return run_rounds(operands, destination, &(const PushQueue){root, bytes}, error);
    g_autoptr(Queue) queue = queue_open(root, destination->text, bytes, error);
    if (queue == NULL || !queue_figures(queue, &before, error))
        return STATUS_FAILED;
    const PushBatchOptions made_with = batch_options(destination);
    for (char **name = operands; *name != NULL; name++) {
        g_autoptr(GBytes) batch = push_batch_make(*name, &made_with, &facts, error);
        if (batch == NULL || !queue_add(queue, batch, facts.account, error))
            return g_error_matches(*error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION) ? STATUS_USAGE : STATUS_FAILED;
        status = facts.partial ? STATUS_PARTIAL : status;
    }
    int sent = deliver(queue, destination, &before, for_ms, error);
    return sent == STATUS_DONE ? status : sent;
}

static const Example examples[] = {
    {"jescope push redis-server --print=json", "show what would be sent, except the stacks"},
    {"jescope push redis.heap --to=directory:///var/lib/profiles", "store a dump with its names in a directory"},
    {"jescope push redis-server --to=pyroscope://pyroscope.example.com --every=5m",
     "send profiles of redis-server to Pyroscope every five minutes"},
    {"jescope push 4711 --to=s3://s3.example.com/heap?region=eu --token-file=key",
     "put a dump of a process into an object store"},
    {0},
};

const Command cmd_push = {
    .name = "push",
    .synopsis = "SOURCE...",
    .summary = "send dumps with function names to another system",
    .description =
        "Sends heap dumps to another system. SOURCE is a dump file, or a process, of which a dump is taken. "
        "Function names are resolved on this host, and each dump is sent to the URL of --to as one batch with the "
        "labels of its process and, if the process runs on this machine, its statistics and its ledger. "
        "docs/push.md lists the kinds of URLs and the data that each system gets.\n\n"
        "Batches are kept on disk (--queue, else $XDG_STATE_HOME/jescope/push) until the destination has accepted "
        "them, and are sent in order. If the destination does not answer or is overloaded, push tries again for "
        "the time of --for and then exits with status 3; the next push to the same URL sends the remaining "
        "batches. When the queue grows beyond --queue-size, the oldest batches of the user with most are dropped and "
        "counted.\n\n"
        "With --every, push runs until a signal ends it: once in each DURATION, it dumps and pushes the processes "
        "that SOURCE names at that moment. Hosts are spread over the DURATION by a hash of their names. A process "
        "whose dump takes more of its time than --dump-share permits is skipped in the next rounds. Profiling is "
        "not switched on or off: if it is off, statistics and the ledger are pushed.\n\n"
        "Data that leaves this host: names and locations of functions, sizes and counts of allocations, the path "
        "and build ID of the program and its libraries, its pid, the host's name, the user, systemd unit, "
        "container and pod of the process, and labels that you add. Arguments and environment of the process "
        "(except variables named with --label-from-env) and contents of its memory are not sent.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .stays_with = &given.every,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
