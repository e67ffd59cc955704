/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent.h"

#include "target/agent-exchange.h"
#include "target/diagnosis.h"
#include "target/implementation.h"
#include "text/printable.h"

#include <errno.h>
#include <string.h>

const AgentDeadlines agent_deadlines_default = {.connect = 1000, .answer = 5000, .output = 120000};

enum {
    ROW_US = 1000, /* of waiting for each row of a sample that are not charged to it; 64 controls take 0.1 ms */
};

static AgentTarget *
agent_of(Target *target)
{
    return (AgentTarget *)target;
}

static void
agent_free(Target *target)
{
    agent_exchange_clear(agent_of(target));
}

static void
clean_lease(WireLease *lease)
{
    lease->remaining_ms = MIN(lease->remaining_ms, WIRE_LEASE_MAX_MS);
    lease->active = lease->active != 0;
    lease->restores = lease->restores != 0;
    lease->yields = lease->yields != 0;
    lease->period = lease->period <= WIRE_LEASE_PERIOD_MAX ? lease->period : 0;
}

static void
clean_hello(WireHelloReply *hello)
{
    text_clean_line(hello->name, sizeof(hello->name));
    text_clean_line(hello->agent_version, sizeof(hello->agent_version));
    text_clean_line(hello->jemalloc_version, sizeof(hello->jemalloc_version));
    text_clean_line(hello->prefix, sizeof(hello->prefix));
    text_clean_line(hello->found_in, sizeof(hello->found_in));
    clean_lease(&hello->lease);
    hello->sampler.lg = MIN(hello->sampler.lg, WIRE_LEASE_PERIOD_MAX - 1);
}

/* Sets the error of a failed HELLO; neither of its two kinds causes another request. */
static gboolean
set_not_greeted(Target *target, const AgentExchange *exchange, GError **error)
{
    if (exchange->reply.status == WIRE_STATUS_BAD_VERSION)
        g_set_error(
            error, TARGET_ERROR, OUTCOME_PROTOCOL,
            "the agent of %s does not speak version %d of the protocol; use the jescope that came with the agent",
            target->label, WIRE_VERSION_MAX);
    else
        agent_set_malformed(agent_of(target), "a refused HELLO", error);
    return FALSE;
}

static gboolean
agent_hello(Target *target, WireHelloReply *hello, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireHelloRequest request = {.version_min = WIRE_VERSION_MIN, .version_max = WIRE_VERSION_MAX};
    AgentExchange exchange = agent_exchange_for(agent, WIRE_OP_HELLO, &request, sizeof(request));
    if (!agent_exchange_quickly(agent, &exchange, error))
        return FALSE;
    if (exchange.reply.status != WIRE_STATUS_OK)
        return set_not_greeted(target, &exchange, error);
    clean_hello(&exchange.hello);
    *hello = exchange.hello;
    return TRUE;
}

static void
set_cannot_profile(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return;
    g_autofree char *why = diagnosis_profiling(&hello);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROFILING, "cannot profile %s: %s", target->label,
                why != NULL ? why : "its jemalloc refuses");
}

/* jemalloc's own profiler never answers EAGAIN. */
static void
set_hooks_taken(Target *target, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_CONTROL_FAILED,
                "cannot profile %s: other code in it has all four hooks of this jemalloc, and jescope's own sampler "
                "needs one; statistics work, and 'jescope run' starts the program with jemalloc's profiler",
                target->label);
}

/* WHAT is the subject of the request: the name of a control, "dump"... */
static gboolean
set_refused(Target *target, const AgentExchange *exchange, const char *what, GError **error)
{
    const char *reason = g_strerror(exchange->reply.error);
    target->failure = exchange->reply.error;
    const Outcome outcome = outcome_of_status(exchange->reply.status);
    switch (outcome) {
    case OUTCOME_NO_PROFILING:
        set_cannot_profile(target, error);
        break;
    case OUTCOME_BUSY:
        target_set_busy(target, MIN(exchange->lease.lease.remaining_ms, WIRE_LEASE_MAX_MS), error);
        break;
    case OUTCOME_NOT_ALLOWED:
        g_set_error(error, TARGET_ERROR, outcome, "%s: the agent does not allow '%s' to be written", target->label,
                    what);
        break;
    case OUTCOME_CONTROL_FAILED:
        if (exchange->reply.error == EAGAIN && g_str_equal(what, "prof.active"))
            set_hooks_taken(target, error);
        else if (exchange->reply.error == ENOTSUP && g_str_equal(what, "prof.active"))
            set_cannot_profile(target, error); /* the agent knows more since it has tried */
        else
            g_set_error(error, TARGET_ERROR, outcome, "%s: jemalloc refused '%s': %s", target->label, what, reason);
        break;
    case OUTCOME_NOT_FOUND:
        g_set_error(error, TARGET_ERROR, outcome, "%s: another command has ended this recording", target->label);
        break;
    case OUTCOME_SYSTEM:
        g_set_error(error, TARGET_ERROR, outcome, "%s could not write its %s: %s", target->label, what, reason);
        break;
    default:
        g_set_error(
            error, TARGET_ERROR, outcome,
            "%s does not understand the request for '%s' (status %u); is its agent from another version of jescope?",
            target->label, what, exchange->reply.status);
    }
    return FALSE;
}

typedef gboolean (*Exchanging)(AgentTarget *agent, AgentExchange *exchange, GError **error);

/* Completes a transaction about WHAT: TRUE only for a reply with status OK. */
static gboolean
transact(AgentTarget *agent, AgentExchange *exchange, Exchanging exchange_it, const char *what, GError **error)
{
    if (!exchange_it(agent, exchange, error))
        return FALSE;
    if (exchange->reply.status == WIRE_STATUS_OK)
        return TRUE;
    return set_refused(&agent->target, exchange, what, error);
}

static gboolean
agent_ctl(Target *target, WireCtlRequest *request, WireCtlReply *value, GError **error)
{
    AgentTarget *agent = agent_of(target);
    AgentExchange exchange = agent_exchange_for(agent, WIRE_OP_CTL, request, sizeof(*request));
    /* A purge of a large heap takes long. */
    gboolean action = request->type == WIRE_TYPE_NONE;
    if (action)
        exchange.deadline = target_time_limit(target, agent->deadlines.output);
    if (!transact(agent, &exchange, action ? agent_exchange_patiently : agent_exchange_quickly, request->name, error))
        return FALSE;
    text_clean(exchange.ctl.text, sizeof(exchange.ctl.text));
    exchange.ctl.truncated = exchange.ctl.truncated != 0;
    if (value != NULL)
        *value = exchange.ctl;
    return TRUE;
}

static gboolean
agent_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    WireCtlRequest request = {.type = type, .flags = WIRE_CTL_READ};
    g_strlcpy(request.name, control, sizeof(request.name));
    return agent_ctl(target, &request, value, error);
}

static gboolean
agent_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    WireCtlRequest request = {.type = type, .flags = WIRE_CTL_WRITE, .value = value};
    g_strlcpy(request.name, control, sizeof(request.name));
    return agent_ctl(target, &request, NULL, error);
}

/* A sample that is taken in several exchanges. */
typedef struct {
    WireSampleRequest request;
    guint n; /* controls per row */
    gint64 until;
    guint64 *spent_ns;
} Sampling;

/* Takes as many rows as the agent sends at once. Returns their number, 0 on error. */
static guint
sample_some(AgentTarget *agent, Sampling *sampling, guint64 *rows, GError **error)
{
    WireSampleRequest *request = &sampling->request;
    const guint n = sampling->n;
    AgentExchange exchange = agent_exchange_for(agent, WIRE_OP_SAMPLE, request, sizeof(*request));
    exchange.until = sampling->until;
    if (!transact(agent, &exchange, agent_exchange_patiently, "statistics", error))
        return 0;
    guint got = exchange.sample.rows;
    if (got == 0 || got > request->count || got > WIRE_SAMPLE_WORDS / (1 + n)) {
        agent_set_malformed(agent, "a wrong number of values", error);
        return 0;
    }
    memcpy(rows, exchange.sample.words, (gsize)got * (1 + n) * sizeof(guint64));
    if (sampling->spent_ns != NULL)
        *sampling->spent_ns += exchange.sample.duration_ns;
    return got;
}

/* Returns the number of rows that were taken: fewer than were asked for on error. */
static guint
sample_all(AgentTarget *agent, const SampleRequest *sample, Sampling *sampling, guint64 *rows, GError **error)
{
    guint done = 0;
    while (done < sample->count) {
        sampling->request.first = sample->first + done;
        sampling->request.count = sample->count - done;
        guint got = sample_some(agent, sampling, rows + (gsize)done * (1 + sample->n), error);
        if (got == 0)
            break;
        done += got;
        sampling->request.flags = 0;
    }
    return done;
}

static gboolean
agent_sample(Target *target, const SampleRequest *sample, guint64 *rows, guint64 *spent_ns, GError **error)
{
    AgentTarget *agent = agent_of(target);
    Sampling sampling = {
        .request = {.flags = sample->refresh ? WIRE_SAMPLE_REFRESH : 0}, .n = sample->n, .spent_ns = spent_ns};
    gsize length = 0;
    for (guint i = 0; i < sample->n; i++)
        length += strlen(sample->names + length) + 1;
    g_return_val_if_fail(length < sizeof(sampling.request.names) && sample->n <= WIRE_SAMPLE_CONTROLS_MAX, FALSE);
    memcpy(sampling.request.names, sample->names, length);
    sampling.until =
        agent_allowance_begin(agent, target_time_limit(target, agent->deadlines.answer), sample->count * ROW_US);
    const guint done = sample_all(agent, sample, &sampling, rows, error);
    agent_allowance_end(agent, done * ROW_US);
    return done == sample->count;
}

static int
agent_output(Target *target, const char *letters, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireDumpRequest dump = {0};
    WireStatsRequest stats = {0};
    g_strlcpy(stats.letters, letters != NULL ? letters : "", sizeof(stats.letters));
    AgentExchange exchange = letters == NULL ? agent_exchange_for(agent, WIRE_OP_DUMP, &dump, sizeof(dump))
                                             : agent_exchange_for(agent, WIRE_OP_STATS, &stats, sizeof(stats));
    exchange.deadline = target_time_limit(target, agent->deadlines.output);
    const int fd = output_file_new(error);
    if (fd < 0)
        return -1;
    const char *what = letters == NULL ? "heap dump" : "statistics";
    const OutputWriter writer = {target->label, target->output_max, letters != NULL};
    g_autoptr(GError) cause = NULL;
    SharedOutput output;
    exchange.output = &output;
    if (shared_output_begin(&output, fd, &target->plan, target->user, target->label, &cause) &&
        transact(agent, &exchange, agent_exchange_patiently, what, &cause))
        return shared_output_take(&output, exchange.written.bytes, &writer, error);
    if (!shared_output_discard(&output, target->label, error))
        return -1;
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE))
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s ended before its %s was complete; it was discarded",
                    target->label, what);
    else
        g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

static gboolean
agent_lease(Target *target, const WireLeaseRequest *wanted, WireLease *lease, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireLeaseRequest request = *wanted;
    AgentExchange exchange = agent_exchange_for(agent, WIRE_OP_LEASE, &request, sizeof(request));
    if (!transact(agent, &exchange, agent_exchange_quickly, "prof.active", error))
        return FALSE;
    clean_lease(&exchange.lease.lease);
    *lease = exchange.lease.lease;
    return TRUE;
}

static gboolean
agent_leave(Target *target, GError **error)
{
    AgentTarget *agent = agent_of(target);
    WireLeaveRequest request = {0};
    AgentExchange exchange = agent_exchange_for(agent, WIRE_OP_LEAVE, &request, sizeof(request));
    return transact(agent, &exchange, agent_exchange_patiently, "leave", error) &&
           agent_exchange_finish(agent, &exchange, error);
}

static const TargetOps agent_ops = {
    .via = TARGET_VIA_AGENT,
    .hello = agent_hello,
    .read = agent_read,
    .write = agent_write,
    .sample = agent_sample,
    .output = agent_output,
    .lease = agent_lease,
    .leave = agent_leave,
    .free = agent_free,
};

Target *
agent_open(const AgentAddress *address, GError **error)
{
    AgentTarget *agent = g_new0(AgentTarget, 1);
    g_autoptr(Target) target = &agent->target;
    target->ops = &agent_ops;
    agent_exchange_init(agent, address);
    if (agent->named)
        target_set_process(target, address->process);
    target_set_name(target, agent->named ? agent->process.name : address->path);
    WireHelloReply hello;
    if (!agent_hello(target, &hello, error))
        return NULL;
    if (!agent->named)
        target_set_name(target, hello.name);
    return g_steal_pointer(&target);
}
