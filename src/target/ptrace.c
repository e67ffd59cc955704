/* SPDX-License-Identifier: Apache-2.0 */
#include "target/ptrace.h"

#include "confine/rights.h"
#include "target/agent.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/extent-hooks.h"
#include "target/implementation.h"
#include "target/keeper.h"
#include "target/remote-control.h"
#include "target/remote-output.h"
#include "text/printable.h"

#include "jemalloc/controls.h"
#include "jemalloc/version.h"
#include "wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CALLS_PER_STOP = 64, /* so that a thread is stopped for a few milliseconds at most, */
    STOP_US = 2000,      /* and, if calls take long on a busy machine, for no longer than this and one call */
    PATIENCE_MS = 25000, /* all stops together, but for outputs; half of the time, if they go on */
    FRESH_US = 100000,   /* maximum age of values that are not read again by the same command */
    RELEASE_MS = 20000,  /* to restore the settings at the end */
    OUTPUT_MS = 120000,  /* for a dump of a large heap or a purge, as for the agent */
};

typedef struct {
    Target target;
    Process process;
    AddressSpace *space;
    Tracee *tracee;
    RemoteJemalloc jemalloc;
    WireHelloReply hello; /* constant */
    unsigned quirks;
    gint64 patience;       /* microseconds left for stops at the time RESTED */
    gint64 rested;         /* end of the last stop */
    guint32 activity;      /* the earlier WIRE_FLAG_PROF_ACTIVE */
    gint64 activity_until; /* g_get_monotonic_time() until which ACTIVITY is used */
    Lease lease;           /* our own; other clients do not know of it */
    Keeper *keeper;        /* of LEASE; NULL: there is nothing to restore, or no keeper */
    guint64 leases;
    gint64 switched_on_ns; /* CLOCK_REALTIME at which we enabled profiling; 0: not by us */
    gint64 reset_ns;
} PtraceTarget;

/* Work while a thread is stopped. */
typedef struct {
    PtraceTarget *self;
    gboolean (*visit)(PtraceTarget *self, gpointer data, GError **error);
    gpointer data;
} Visit;

static PtraceTarget *
ptrace_of(Target *target)
{
    return (PtraceTarget *)target;
}

static gboolean
run_visit(Tracee *tracee, gpointer data, GError **error)
{
    Visit *visit = data;
    return visit->visit(visit->self, visit->data, error);
}

typedef gboolean (*VisitFunc)(PtraceTarget *self, gpointer data, GError **error);

/* Limits the visit to LIMITS. */
static gboolean
stop_patiently(PtraceTarget *self, const TraceeDeadlines *limits, VisitFunc visit, gpointer data, GError **error)
{
    Visit what = {.self = self, .visit = visit, .data = data};
    const TraceeDeadlines deadlines = {.attach = target_time_limit(&self->target, limits->attach),
                                       .call = target_time_limit(&self->target, limits->call)};
    tracee_set_deadlines(self->tracee, &deadlines);
    return tracee_visit(self->tracee, run_visit, &what, error);
}

static gboolean
set_slow(const PtraceTarget *self, GError **error)
{
    g_set_error(
        error, TARGET_ERROR, OUTCOME_SILENT,
        "%s: calls of its jemalloc took more than %d s in all, since it or the machine is busy; try again later",
        self->target.label, PATIENCE_MS / 1000);
    return FALSE;
}

/* A command makes many stops, and a process could delay each of them. So they share an allowance, which recovers while
 * there is no stop. */
static gboolean
stop_and(PtraceTarget *self, VisitFunc visit, gpointer data, GError **error)
{
    const gint64 begun = g_get_monotonic_time();
    self->patience = MIN(self->patience + begun - self->rested, (gint64)PATIENCE_MS * 1000);
    const gint64 left_ms = self->patience / 1000;
    self->rested = begun;
    if (left_ms <= 0)
        return set_slow(self, error);
    const TraceeDeadlines limits = {.attach = (guint)MIN(left_ms, (gint64)tracee_deadlines_default.attach),
                                    .call = (guint)MIN(left_ms, (gint64)tracee_deadlines_default.call)};
    g_autoptr(GError) cause = NULL;
    gboolean done = stop_patiently(self, &limits, visit, data, &cause);
    self->rested = g_get_monotonic_time();
    self->patience -= self->rested - begun;
    if (self->patience <= 0 && g_error_matches(cause, TARGET_ERROR, OUTCOME_SILENT))
        return set_slow(self, error);
    if (cause != NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    return done;
}

static gboolean
read_flag(PtraceTarget *self, const char *name, WireFlag flag, guint32 *flags, GError **error)
{
    RemoteControl control = {.name = name, .type = WIRE_TYPE_BOOL, .access = REMOTE_READ};
    if (!remote_control(self->tracee, &self->jemalloc, &control, error))
        return FALSE;
    if (control.error == 0 && (control.value & 1) != 0)
        *flags |= flag;
    return TRUE;
}

static gboolean
can_profile(const PtraceTarget *self)
{
    const guint32 needed = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF;
    return (self->hello.flags & needed) == needed;
}

static gboolean
visit_activity(PtraceTarget *self, gpointer data, GError **error)
{
    self->activity = 0;
    if (!read_flag(self, "prof.active", WIRE_FLAG_PROF_ACTIVE, &self->activity, error))
        return FALSE;
    self->activity_until = g_get_monotonic_time() + FRESH_US;
    return TRUE;
}

/* Reads the constant properties of the process, and whether profiling is active. */
static gboolean
visit_introduction(PtraceTarget *self, gpointer data, GError **error)
{
    WireHelloReply *hello = &self->hello;
    RemoteControl version = {.name = "version", .type = WIRE_TYPE_STRING, .access = REMOTE_READ};
    if (!remote_control(self->tracee, &self->jemalloc, &version, error))
        return FALSE;
    g_autofree char *text =
        version.error == 0 ? tracee_read_string(self->tracee, version.value, WIRE_VERSION_TEXT_MAX - 1) : NULL;
    if (text == NULL) {
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_JEMALLOC, "mallctl of %s is not jemalloc's", self->target.label);
        return FALSE;
    }
    g_strlcpy(hello->jemalloc_version, text, sizeof(hello->jemalloc_version));
    hello->sampler_obstacle = jemalloc_version_has_hooks(text) ? WIRE_SAMPLER_NO_AGENT : WIRE_SAMPLER_NO_HOOKS;
    return read_flag(self, "config.prof", WIRE_FLAG_CONFIG_PROF, &hello->flags, error) &&
           read_flag(self, "config.stats", WIRE_FLAG_CONFIG_STATS, &hello->flags, error) &&
           read_flag(self, "opt.prof", WIRE_FLAG_OPT_PROF, &hello->flags, error) &&
           (!can_profile(self) || visit_activity(self, NULL, error));
}

static guint64
now_ms(void)
{
    return (guint64)g_get_monotonic_time() / 1000;
}

static gboolean
ptrace_hello(Target *target, WireHelloReply *hello, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    if (can_profile(self) && g_get_monotonic_time() >= self->activity_until &&
        !stop_and(self, visit_activity, NULL, error))
        return FALSE;
    const guint32 active = self->activity;
    *hello = self->hello;
    hello->flags |= active;
    hello->lease = lease_describe(&self->lease, now_ms());
    if (active != 0 && self->switched_on_ns != 0) {
        hello->since = WIRE_SINCE_AGENT;
        hello->active_since_ns = (guint64)self->switched_on_ns;
    }
    hello->reset_at_ns = (guint64)self->reset_ns;
    return TRUE;
}

static gboolean
set_not_allowed(Target *target, const char *control, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_NOT_ALLOWED, "%s: jescope does not allow this use of '%s'", target->label,
                control);
    return FALSE;
}

/* Whether CONTROL may be used: if it belongs to the profiler, the profiler must be available. */
static gboolean
check_profiling(PtraceTarget *self, const char *control, GError **error)
{
    if (!control_is_profiling(control) || can_profile(self))
        return TRUE;
    g_autofree char *why = diagnosis_profiling(&self->hello);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROFILING, "cannot profile %s: %s", self->target.label, why);
    return FALSE;
}

static gboolean
set_refused(Target *target, const RemoteControl *control, GError **error)
{
    target->failure = control->error;
    g_set_error(error, TARGET_ERROR, OUTCOME_CONTROL_FAILED, "%s: jemalloc refused '%s': %s", target->label,
                control->name, g_strerror(control->error));
    return FALSE;
}

typedef struct {
    RemoteControl control;
    char *text; /* of a string */
} Exchange;

/* Whether CONTROL calls no function of the program, which might wait for a lock of the stopped thread. */
static gboolean
check_hooks(PtraceTarget *self, const char *control, GError **error)
{
    int arena;
    if (!extent_hooks_are_called_by(control))
        return TRUE;
    if (!extent_hooks_find(self->tracee, &self->jemalloc, control, &arena, error))
        return FALSE;
    if (arena < 0)
        return TRUE;
    const char *what = self->jemalloc.ranges != NULL ? "has" : "may have, as far as can be seen without symbols,";
    g_set_error(
        error, TARGET_ERROR, OUTCOME_NOT_ALLOWED,
        "%s: arena %d %s functions of the program to release memory (extent hooks), which may wait for a lock "
        "that the stopped thread holds; the agent, which 'jescope attach %s' loads, has a thread of its own for '%s'",
        self->target.label, arena, what, target_operand(&self->target), control);
    return FALSE;
}

static gboolean
visit_control(PtraceTarget *self, gpointer data, GError **error)
{
    Exchange *exchange = data;
    RemoteControl *control = &exchange->control;
    const gboolean writes = (control->access & REMOTE_WRITE) != 0;
    if ((writes && !check_hooks(self, control->name, error)) ||
        !remote_control(self->tracee, &self->jemalloc, control, error))
        return FALSE;
    if (control->error == 0 && control->type == WIRE_TYPE_STRING && control->value != 0)
        exchange->text = tracee_read_string(self->tracee, control->value, WIRE_TEXT_MAX);
    return TRUE;
}

/* A purge of a large heap takes long, too. */
static const TraceeDeadlines output_limits = {.attach = 2000, .call = OUTPUT_MS};

static gboolean
exchange_control(PtraceTarget *self, Exchange *exchange, GError **error)
{
    if ((exchange->control.access & REMOTE_WRITE) != 0)
        self->activity_until = 0;
    const gboolean stopped = exchange->control.type == WIRE_TYPE_NONE
                                 ? stop_patiently(self, &output_limits, visit_control, exchange, error)
                                 : stop_and(self, visit_control, exchange, error);
    if (!stopped)
        return FALSE;
    return exchange->control.error == 0 || set_refused(&self->target, &exchange->control, error);
}

static gboolean
ptrace_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    Exchange exchange = {.control = {.name = control, .type = type, .access = REMOTE_READ}};
    if (!check_profiling(self, control, error))
        return FALSE;
    if (!control_name_is_sound(control) || !control_may_read(control, (ControlType)type))
        return set_not_allowed(target, control, error);
    if (!exchange_control(self, &exchange, error))
        return FALSE;
    g_autofree char *text = exchange.text;
    value->value = type == WIRE_TYPE_STRING ? 0 : exchange.control.value;
    value->truncated = text != NULL && strlen(text) >= sizeof(value->text);
    g_strlcpy(value->text, text != NULL ? text : "", sizeof(value->text));
    text_clean(value->text, sizeof(value->text));
    return TRUE;
}

/* Whether jemalloc accepts VALUE but the process then crashes; see version.h. */
static gboolean
is_harmful(PtraceTarget *self, const char *control, guint64 value)
{
    WireCtlReply threads = {.value = 1};
    const JemallocHarm harm = jemalloc_harm(self->quirks, control, value);
    return harm == JEMALLOC_HARMFUL ||
           (harm == JEMALLOC_HARMFUL_WITHOUT_THREADS &&
            ptrace_read(&self->target, "max_background_threads", WIRE_TYPE_SIZE, &threads, NULL) && threads.value == 0);
}

static void
forget_lease(PtraceTarget *self, KeeperOrder order)
{
    keeper_dismiss(g_steal_pointer(&self->keeper), order);
    self->lease = (Lease){0};
}

static void
note_write(PtraceTarget *self, const char *control, guint64 value)
{
    gint64 now = g_get_real_time() * 1000;
    if (strcmp(control, "prof.active") == 0) {
        self->switched_on_ns = value != 0 ? now : 0;
        forget_lease(self, KEEPER_DONE);
    } else if (strcmp(control, "prof.reset") == 0) {
        self->reset_ns = now;
    }
}

static gboolean
ptrace_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    Exchange exchange = {.control = {.name = control, .type = type, .access = REMOTE_WRITE, .value = value}};
    if (!check_profiling(self, control, error))
        return FALSE;
    if (!control_name_is_sound(control) || !control_may_write(control, (ControlType)type) ||
        (type == WIRE_TYPE_BOOL && value > 1) || is_harmful(self, control, value))
        return set_not_allowed(target, control, error);
    if (!exchange_control(self, &exchange, error))
        return FALSE;
    note_write(self, control, value);
    return TRUE;
}

/* The part of a sample that is read in one stop. */
typedef struct {
    const SampleRequest *request;
    guint64 *rows;
    guint next; /* index of the next control, counted over all rows */
    gboolean refresh;
    guint64 *spent_ns;
} Sampling;

static gboolean
check_names(PtraceTarget *self, const SampleRequest *request, GError **error)
{
    char name[WIRE_CONTROL_NAME_MAX];
    for (guint i = 0; i < request->n; i++) {
        WireType type = target_sample_name(request, i, request->first, name);
        if (!check_profiling(self, name, error))
            return FALSE;
        if (type <= WIRE_TYPE_NONE || type >= WIRE_TYPE_STRING || !control_name_is_sound(name) ||
            !control_may_read(name, (ControlType)type))
            return set_not_allowed(&self->target, name, error);
    }
    return TRUE;
}

static gboolean
visit_sample(PtraceTarget *self, gpointer data, GError **error)
{
    Sampling *sampling = data;
    const SampleRequest *request = sampling->request;
    const guint all = request->n * request->count;
    gint64 start = g_get_monotonic_time();
    RemoteControl epoch = {.name = "epoch", .type = WIRE_TYPE_U64, .access = REMOTE_WRITE, .value = 1};
    gboolean begun = sampling->refresh;
    if (sampling->refresh && !remote_control(self->tracee, &self->jemalloc, &epoch, error))
        return FALSE;
    sampling->refresh = FALSE;
    for (guint calls = 0; calls < CALLS_PER_STOP && sampling->next < all; calls++, sampling->next++) {
        if (begun && g_get_monotonic_time() - start >= STOP_US)
            break;
        begun = TRUE;
        char name[WIRE_CONTROL_NAME_MAX];
        guint row = sampling->next / request->n;
        guint column = sampling->next % request->n;
        guint64 *words = sampling->rows + (gsize)row * (1 + request->n);
        RemoteControl control = {.name = name, .access = REMOTE_READ};
        control.type = target_sample_name(request, column, request->first + row, name);
        if (!remote_control(self->tracee, &self->jemalloc, &control, error))
            return FALSE;
        if (control.error == 0) {
            words[0] |= G_GUINT64_CONSTANT(1) << column;
            words[1 + column] = control.value;
        }
    }
    if (sampling->spent_ns != NULL)
        *sampling->spent_ns += (guint64)(g_get_monotonic_time() - start) * 1000;
    return TRUE;
}

/* The epoch is refreshed once, so all numbers are of one time, even if several stops are needed to read them. */
static gboolean
ptrace_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    const gsize words = (gsize)request->count * (1 + request->n);
    g_autofree guint64 *read = g_new0(guint64, words);
    Sampling sampling = {.request = request, .rows = read, .refresh = request->refresh, .spent_ns = spent_ns};
    g_return_val_if_fail(request->n > 0 && request->n <= WIRE_SAMPLE_CONTROLS_MAX, FALSE);
    if (!check_names(self, request, error))
        return FALSE;
    const gint64 until = g_get_monotonic_time() + (gint64)target_time_limit(target, PATIENCE_MS) * 1000;
    while (sampling.refresh || sampling.next < request->n * request->count) {
        if (g_get_monotonic_time() >= until)
            return set_slow(self, error);
        if (!stop_and(self, visit_sample, &sampling, error))
            return FALSE;
    }
    memcpy(rows, read, words * sizeof(*rows));
    return TRUE;
}

static gboolean
visit_dump(PtraceTarget *self, gpointer data, GError **error)
{
    return remote_output_dump(self->tracee, &self->jemalloc, data, error);
}

static gboolean
visit_stats(PtraceTarget *self, gpointer data, GError **error)
{
    return remote_output_stats(self->tracee, &self->jemalloc, data, error);
}

static int
ptrace_output(Target *target, const char *letters, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    const char *what = letters == NULL ? "heap dump" : "statistics";
    RemoteOutput output = {.process = &self->process,
                           .letters = letters,
                           .limit = target->output_max,
                           .plan = target->plan,
                           .shared = {.fd = -1},
                           .descriptor = -1};
    if (letters == NULL && !check_profiling(self, "prof.dump", error))
        return -1;
    g_autoptr(GError) cause = NULL;
    if (stop_patiently(self, &output_limits, letters == NULL ? visit_dump : visit_stats, &output, &cause) &&
        remote_output_finish(&output, &cause))
        return output.descriptor;
    remote_output_discard(&output);
    target->failure = output.failure;
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE))
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s before its %s was complete; it was discarded",
                    cause->message, what);
    else
        g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

/* ---- leases ---- */

/* An operation on a lease in one stop. */
typedef struct {
    int (*step)(PtraceTarget *self, gpointer data, const LeaseControls *controls);
    gpointer data;
} LeaseStep;

/* Access to the controls of a lease in that stop. After an error, no further call is made. */
typedef struct {
    PtraceTarget *self;
    GError **error;
    gboolean failed;
} Stopped;

static int
use_control(Stopped *stopped, RemoteControl *control)
{
    PtraceTarget *self = stopped->self;
    stopped->failed = stopped->failed || !remote_control(self->tracee, &self->jemalloc, control, stopped->error) ||
                      (control->error != 0 && !set_refused(&self->target, control, stopped->error));
    return stopped->failed ? EIO : 0;
}

static int
read_active(void *data, bool *active)
{
    Stopped *stopped = data;
    stopped->failed = stopped->failed || !visit_activity(stopped->self, NULL, stopped->error);
    *active = stopped->self->activity != 0;
    return stopped->failed ? EIO : 0;
}

static int
write_active(void *data, bool active)
{
    RemoteControl control = {.name = "prof.active", .type = WIRE_TYPE_BOOL, .access = REMOTE_WRITE, .value = active};
    ((Stopped *)data)->self->activity_until = 0;
    return use_control(data, &control);
}

static int
read_period(void *data, uint8_t *period)
{
    RemoteControl control = {.name = "prof.lg_sample", .type = WIRE_TYPE_SIZE, .access = REMOTE_READ};
    int error = use_control(data, &control);
    *period = (uint8_t)MIN(control.value, (guint64)WIRE_LEASE_PERIOD_MAX - 1) + 1;
    return error;
}

/* Only prof.reset can change the period. */
static int
write_period(void *data, uint8_t period)
{
    RemoteControl control = {
        .name = "prof.reset", .type = WIRE_TYPE_SIZE, .access = REMOTE_WRITE, .value = (guint64)period - 1};
    ((Stopped *)data)->self->reset_ns = g_get_real_time() * 1000;
    return use_control(data, &control);
}

static gboolean
visit_lease(PtraceTarget *self, gpointer data, GError **error)
{
    const LeaseStep *step = data;
    Stopped stopped = {.self = self, .error = error};
    const LeaseControls controls = {read_active, write_active, read_period, write_period, &stopped};
    return step->step(self, step->data, &controls) == 0;
}

/* A lease that is being taken. */
typedef struct {
    const WireLeaseRequest *request;
    Lease lease;
} Taking;

static int
plan_lease(PtraceTarget *self, gpointer data, const LeaseControls *controls)
{
    Taking *taking = data;
    return lease_plan(&taking->lease, &(Lease){0}, taking->request, now_ms(), controls);
}

static int
begin_lease(PtraceTarget *self, gpointer data, const LeaseControls *controls)
{
    return lease_begin(&((const Taking *)data)->lease, controls);
}

static int
end_lease(PtraceTarget *self, gpointer data, const LeaseControls *controls)
{
    return lease_end(data, controls);
}

/* An agent in the process may also have a lease. */
static gboolean
agent_has_lease(const PtraceTarget *self)
{
    g_autofree char *path = discovery_socket(&self->process);
    const AgentAddress address = {.path = path, .process = &self->process, .deadlines = agent_deadlines_default};
    WireHelloReply hello;
    g_autoptr(Target) agent = path != NULL ? agent_open(&address, NULL) : NULL;
    return agent != NULL && target_hello(agent, &hello, NULL) && hello.lease.id != 0;
}

/* Starts the keeper before anything is changed, so that a crash at any time leaves nothing changed. */
static gboolean
start_keeper(PtraceTarget *self, const Lease *lease, GError **error)
{
    const KeptLease kept = {self->process.pid, self->process.start_time, tracee_program(self->tracee), *lease};
    g_autoptr(GError) cause = NULL;
    if (lease->restores != lease->active || lease->restores_period != lease->period)
        self->keeper = keeper_start(&kept, &cause);
    if (cause == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean
renew_lease(PtraceTarget *self, const WireLeaseRequest *request, GError **error)
{
    if (!tracee_check_program(self->tracee, error))
        return FALSE;
    self->lease.deadline_ms = now_ms() + request->duration_ms;
    keeper_renew(self->keeper, request->duration_ms);
    return TRUE;
}

static gboolean
take_lease(PtraceTarget *self, const WireLeaseRequest *request, GError **error)
{
    Taking taking = {.request = request};
    LeaseStep planning = {plan_lease, &taking};
    LeaseStep beginning = {begin_lease, &taking};
    if (!stop_and(self, visit_lease, &planning, error) || !start_keeper(self, &taking.lease, error))
        return FALSE;
    if (!stop_and(self, visit_lease, &beginning, error)) {
        forget_lease(self, KEEPER_END_IT);
        return FALSE;
    }
    taking.lease.id = ++self->leases;
    self->lease = taking.lease;
    keeper_renew(self->keeper, request->duration_ms);
    if (self->lease.active && !self->lease.restores)
        self->switched_on_ns = g_get_real_time() * 1000;
    return TRUE;
}

static gboolean
release_lease(PtraceTarget *self, GError **error)
{
    LeaseStep ending = {end_lease, &self->lease};
    const TraceeDeadlines limits = {.attach = RELEASE_MS, .call = tracee_deadlines_default.call};
    if (!stop_patiently(self, &limits, visit_lease, &ending, error))
        return FALSE;
    forget_lease(self, KEEPER_DONE);
    return TRUE;
}

static gboolean
change_lease(PtraceTarget *self, const WireLeaseRequest *request, GError **error)
{
    if (lease_is(&self->lease, request->lease_id))
        return request->action == WIRE_LEASE_RENEW ? renew_lease(self, request, error) : release_lease(self, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_NOT_FOUND, "%s: this recording has ended", self->target.label);
    return FALSE;
}

static gboolean
ptrace_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    const gboolean taking = request->action == WIRE_LEASE_TAKE;
    if (taking && (request->flags & WIRE_LEASE_JESCOPE) != 0) {
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_PROFILING,
                    "%s: jescope's own sampler must be inside the process; 'jescope attach %s' brings it in",
                    target->label, target_operand(target));
        return FALSE;
    }
    if (!check_profiling(self, "prof.active", error))
        return FALSE;
    if (taking && (self->lease.id != 0 || agent_has_lease(self)))
        return target_set_busy(target, lease_left_ms(&self->lease, now_ms()), error);
    if (!(taking ? take_lease : change_lease)(self, request, error))
        return FALSE;
    *lease = lease_describe(&self->lease, now_ms());
    return TRUE;
}

static gboolean
ptrace_check_program(const Target *target, GError **error)
{
    return tracee_check_program(((const PtraceTarget *)target)->tracee, error);
}

static void
ptrace_free(Target *target)
{
    PtraceTarget *self = ptrace_of(target);
    if (self->lease.id != 0 && !release_lease(self, NULL))
        forget_lease(self, KEEPER_END_IT);
    tracee_free(self->tracee);
    address_space_free(self->space);
    remote_jemalloc_clear(&self->jemalloc);
}

static const TargetOps ptrace_ops = {
    .via = TARGET_VIA_ATTACH,
    .hello = ptrace_hello,
    .read = ptrace_read,
    .write = ptrace_write,
    .sample = ptrace_sample,
    .output = ptrace_output,
    .lease = ptrace_lease,
    .check_program = ptrace_check_program,
    .free = ptrace_free,
};

static void
introduce(PtraceTarget *self)
{
    WireHelloReply *hello = &self->hello;
    JemallocVersion version;
    hello->pid = self->process.inner_pid;
    hello->uid = self->process.uids[1];
    hello->start_time = self->process.start_time;
    g_strlcpy(hello->name, self->process.name, sizeof(hello->name));
    g_strlcpy(hello->prefix, self->jemalloc.prefix, sizeof(hello->prefix));
    g_strlcpy(hello->found_in, self->jemalloc.found_in, sizeof(hello->found_in));
    hello->flags |= (self->jemalloc.serves ? WIRE_FLAG_SERVES_MALLOC : 0u) |
                    (self->jemalloc.from_symtab ? WIRE_FLAG_FROM_SYMTAB : 0u);
    text_clean_line(hello->jemalloc_version, sizeof(hello->jemalloc_version));
    text_clean_line(hello->prefix, sizeof(hello->prefix));
    text_clean_line(hello->found_in, sizeof(hello->found_in));
    self->quirks = jemalloc_quirks(jemalloc_version_parse(hello->jemalloc_version, &version) ? &version : NULL);
}

Target *
ptrace_open(const Process *process, GError **error)
{
    Process now;
    PtraceTarget *self = g_new0(PtraceTarget, 1);
    g_autoptr(Target) target = &self->target;
    self->target = (Target){.ops = &ptrace_ops};
    target_set_process(target, process);
    target_set_name(target, process->name);
    self->process = *process;
    self->tracee = tracee_new(process, error);
    if (self->tracee == NULL)
        return NULL;
    self->space = address_space_new(process->pid, error);
    if (self->space == NULL || !remote_jemalloc_find(process, self->space, &self->jemalloc, error))
        return NULL;
    remote_control_guard(self->tracee, &self->jemalloc);
    self->patience = (gint64)PATIENCE_MS * 1000;
    self->rested = g_get_monotonic_time();
    if (!stop_and(self, visit_introduction, NULL, error))
        return NULL;
    /* It may have executed the program that is examined after it was found. */
    target->user =
        process_look(process->pid, &now) ? rights_lesser(target->user, rights_of_ids(now.uids)) : RIGHTS_NOBODY;
    introduce(self);
    return g_steal_pointer(&target);
}

/* Whether the process has executed another program, so that the settings of the profiler are gone, or one that may not
 * be attached to. */
static gboolean
is_over(const KeptLease *kept)
{
    ProcessProgram now;
    return process_program(kept->pid, &now) ? !process_program_equal(&now, &kept->program) : errno == EACCES;
}

/* Ends a lease on behalf of the keeper. */
static gboolean
end_kept(const KeptLease *kept)
{
    Process process;
    Lease lease = kept->lease;
    LeaseStep ending = {end_lease, &lease};
    if (!process_read(kept->pid, &process) || process.start_time != kept->start_time || is_over(kept))
        return TRUE;
    g_autoptr(Target) target = ptrace_open(&process, NULL);
    return target != NULL && stop_and(ptrace_of(target), visit_lease, &ending, NULL);
}

gboolean
target_run_keeper(char **words)
{
    return keeper_run(words, end_kept);
}
