/* SPDX-License-Identifier: Apache-2.0 */
#include "target/ptrace.h"

#include "target/diagnosis.h"
#include "target/implementation.h"
#include "target/remote-control.h"
#include "target/remote-output.h"
#include "target/text.h"

#include "jemalloc/controls.h"
#include "jemalloc/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CALLS_PER_STOP = 64, /* so that a thread is not held up for more than a few milliseconds */
    RELEASE_MS = 20000,  /* to leave nothing switched on */
    OUTPUT_MS = 120000,  /* a dump of a large heap, a purge: as long as the agent is given */
};

/* Ours alone: nobody else knows of it. */
typedef struct {
    guint64 id;
    gint64 deadline; /* g_get_monotonic_time() */
    gboolean active;
    gboolean restores;
} Lease;

typedef struct {
    Target target;
    Process process;
    AddressSpace *space;
    Tracee *tracee;
    RemoteJemalloc jemalloc;
    WireHelloReply hello; /* what never changes */
    unsigned quirks;
    Lease lease;
    guint64 leases;
    gint64 switched_on_ns; /* by us, CLOCK_REALTIME; 0: not by us */
    gint64 reset_ns;
} PtraceTarget;

/* What is done while a thread is stopped. */
typedef struct {
    PtraceTarget *self;
    gboolean (*visit)(PtraceTarget *self, gpointer data, GError **error);
    gpointer data;
    GError **error;
    gboolean done;
} Visit;

static PtraceTarget *
ptrace_of(Target *target)
{
    return (PtraceTarget *)target;
}

static gpointer
run_visit(gpointer data)
{
    Visit *visit = data;
    Tracee *tracee = visit->self->tracee;
    visit->done = tracee_attach(tracee, visit->error) && visit->visit(visit->self, visit->data, visit->error);
    if (visit->done)
        visit->done = tracee_detach(tracee, visit->error);
    else
        tracee_detach(tracee, NULL);
    return NULL;
}

/* In a thread of its own: whatever goes wrong, its end detaches, and the caller need not know that tracing is a matter
 * of threads. */
static gboolean
stop_and(PtraceTarget *self, gboolean (*visit)(PtraceTarget *, gpointer, GError **), gpointer data, GError **error)
{
    Visit what = {.self = self, .visit = visit, .data = data, .error = error};
    g_thread_join(g_thread_new("attach", run_visit, &what));
    return what.done;
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

/* Everything that never changes while the process lives. */
static gboolean
visit_introduction(PtraceTarget *self, gpointer data, GError **error)
{
    WireHelloReply *hello = &self->hello;
    RemoteControl version = {.name = "version", .type = WIRE_TYPE_STRING, .access = REMOTE_READ};
    if (!remote_control(self->tracee, &self->jemalloc, &version, error))
        return FALSE;
    g_autofree char *text =
        version.error == 0 ? remote_read_string(self->process.pid, version.value, WIRE_VERSION_TEXT_MAX - 1) : NULL;
    if (text == NULL) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_JEMALLOC, "what %s calls mallctl is not jemalloc's",
                    self->target.label);
        return FALSE;
    }
    g_strlcpy(hello->jemalloc_version, text, sizeof(hello->jemalloc_version));
    return read_flag(self, "config.prof", WIRE_FLAG_CONFIG_PROF, &hello->flags, error) &&
           read_flag(self, "config.stats", WIRE_FLAG_CONFIG_STATS, &hello->flags, error) &&
           read_flag(self, "opt.prof", WIRE_FLAG_OPT_PROF, &hello->flags, error) &&
           (!can_profile(self) || read_flag(self, "prof.active", WIRE_FLAG_PROF_ACTIVE, data, error));
}

static gboolean
visit_activity(PtraceTarget *self, gpointer data, GError **error)
{
    return read_flag(self, "prof.active", WIRE_FLAG_PROF_ACTIVE, data, error);
}

static WireLease
describe_lease(const PtraceTarget *self)
{
    WireLease lease = {0};
    if (self->lease.id == 0)
        return lease;
    gint64 left = self->lease.deadline - g_get_monotonic_time();
    lease.id = self->lease.id;
    lease.remaining_ms = left > 0 ? (guint64)left / 1000 : 0;
    lease.active = self->lease.active != FALSE;
    lease.restores = self->lease.restores != FALSE;
    return lease;
}

static gboolean
ptrace_hello(Target *target, WireHelloReply *hello, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    guint32 active = 0;
    if (can_profile(self) && !stop_and(self, visit_activity, &active, error))
        return FALSE;
    *hello = self->hello;
    hello->flags |= active;
    hello->lease = describe_lease(self);
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
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NOT_ALLOWED, "%s: jescope does not let '%s' be used that way",
                target->label, control);
    return FALSE;
}

/* Whether the profiler may be touched at all if CONTROL is part of it. */
static gboolean
check_profiling(PtraceTarget *self, const char *control, GError **error)
{
    if (!control_is_profiling(control) || can_profile(self))
        return TRUE;
    g_autofree char *why = diagnosis_profiling(&self->hello);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PROFILING, "cannot profile %s: %s", self->target.label, why);
    return FALSE;
}

static gboolean
set_refused(Target *target, const RemoteControl *control, GError **error)
{
    target->failure = control->error;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_CONTROL, "%s: jemalloc refused '%s': %s", target->label,
                control->name, g_strerror(control->error));
    return FALSE;
}

typedef struct {
    RemoteControl control;
    char *text; /* of a string */
} Exchange;

static gboolean
visit_control(PtraceTarget *self, gpointer data, GError **error)
{
    Exchange *exchange = data;
    RemoteControl *control = &exchange->control;
    if (!remote_control(self->tracee, &self->jemalloc, control, error))
        return FALSE;
    if (control->error == 0 && control->type == WIRE_TYPE_STRING && control->value != 0)
        exchange->text = remote_read_string(self->process.pid, control->value, WIRE_TEXT_MAX);
    return TRUE;
}

static gboolean
exchange_control(PtraceTarget *self, Exchange *exchange, GError **error)
{
    TraceeDeadlines deadlines = tracee_deadlines_default;
    if (exchange->control.type == WIRE_TYPE_NONE)
        deadlines.call = OUTPUT_MS;
    tracee_set_deadlines(self->tracee, &deadlines);
    if (!stop_and(self, visit_control, exchange, error))
        return FALSE;
    return exchange->control.error == 0 || set_refused(&self->target, &exchange->control, error);
}

static gboolean
ptrace_read(Target *target, const char *control, WireType type, ControlValue *value, GError **error)
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

/* What jemalloc would take and the process would pay for; see version.h. */
static gboolean
is_harmful(PtraceTarget *self, const char *control, guint64 value)
{
    ControlValue threads = {.value = 1};
    if ((self->quirks & JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS) == 0)
        return FALSE;
    if (strcmp(control, "max_background_threads") == 0)
        return value == 0;
    return strcmp(control, "background_thread") == 0 && value != 0 &&
           ptrace_read(&self->target, "max_background_threads", WIRE_TYPE_SIZE, &threads, NULL) && threads.value == 0;
}

static void
note_write(PtraceTarget *self, const char *control, guint64 value)
{
    gint64 now = g_get_real_time() * 1000;
    if (strcmp(control, "prof.active") == 0) {
        self->switched_on_ns = value != 0 ? now : 0;
        self->lease = (Lease){0};
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

/* Part of a sample: so many calls as one stop may make. */
typedef struct {
    const SampleRequest *request;
    guint64 *rows;
    guint next; /* of all the controls of all rows */
    gboolean refresh;
    guint64 *spent_ns;
} Sampling;

/* The Nth name of REQUEST for arena ARENA; see WireSampleRequest. */
static WireType
name_of(const SampleRequest *request, guint n, guint arena, char name[WIRE_CONTROL_NAME_MAX])
{
    const char *text = request->names;
    for (guint i = 0; i < n; i++)
        text += strlen(text) + 1;
    WireType type = (WireType)(text[0] - '0');
    text++;
    const char *star = strchr(text, '*');
    if (text[0] == '.')
        g_snprintf(name, WIRE_CONTROL_NAME_MAX, "stats.arenas.%u%s", arena, text);
    else if (star != NULL)
        g_snprintf(name, WIRE_CONTROL_NAME_MAX, "%.*s%u%s", (int)(star - text), text, arena, star + 1);
    else
        g_strlcpy(name, text, WIRE_CONTROL_NAME_MAX);
    return type;
}

static gboolean
check_names(PtraceTarget *self, const SampleRequest *request, GError **error)
{
    char name[WIRE_CONTROL_NAME_MAX];
    for (guint i = 0; i < request->n; i++) {
        WireType type = name_of(request, i, request->first, name);
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
    if (sampling->refresh && !remote_control(self->tracee, &self->jemalloc, &epoch, error))
        return FALSE;
    sampling->refresh = FALSE;
    for (guint calls = 0; calls < CALLS_PER_STOP && sampling->next < all; calls++, sampling->next++) {
        char name[WIRE_CONTROL_NAME_MAX];
        guint row = sampling->next / request->n;
        guint column = sampling->next % request->n;
        guint64 *words = sampling->rows + (gsize)row * (1 + request->n);
        RemoteControl control = {.name = name, .access = REMOTE_READ};
        control.type = name_of(request, column, request->first + row, name);
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

/* All numbers are those of the epoch's one refresh, however many stops it takes to read them. */
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
    tracee_set_deadlines(self->tracee, &tracee_deadlines_default);
    while (sampling.refresh || sampling.next < request->n * request->count)
        if (!stop_and(self, visit_sample, &sampling, error))
            return FALSE;
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
    TraceeDeadlines deadlines = {.attach = tracee_deadlines_default.attach, .call = OUTPUT_MS};
    RemoteOutput output = {.process = &self->process, .letters = letters, .descriptor = -1};
    if (letters == NULL && !check_profiling(self, "prof.dump", error))
        return -1;
    tracee_set_deadlines(self->tracee, &deadlines);
    g_autoptr(GError) cause = NULL;
    if (stop_and(self, letters == NULL ? visit_dump : visit_stats, &output, &cause) &&
        remote_output_finish(&output, &cause))
        return output.descriptor;
    if (output.descriptor >= 0)
        close(output.descriptor);
    target->failure = output.failure;
    if (g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_GONE))
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s ended before its %s was whole; nothing of it is kept",
                    target->label, what);
    else
        g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

/* Reads prof.active and sets it in one stop. */
typedef struct {
    gboolean only_if; /* it is EXPECTED now */
    gboolean expected;
    gboolean active;
    gboolean before;
} Switch;

static gboolean
visit_switch(PtraceTarget *self, gpointer data, GError **error)
{
    Switch *change = data;
    guint32 flags = 0;
    RemoteControl control = {
        .name = "prof.active", .type = WIRE_TYPE_BOOL, .access = REMOTE_WRITE, .value = change->active != FALSE};
    if (!visit_activity(self, &flags, error))
        return FALSE;
    change->before = flags != 0;
    if ((change->only_if && change->before != change->expected) || change->before == change->active)
        return TRUE;
    if (!remote_control(self->tracee, &self->jemalloc, &control, error))
        return FALSE;
    return control.error == 0 || set_refused(&self->target, &control, error);
}

static gboolean
take_lease(PtraceTarget *self, const LeaseRequest *request, GError **error)
{
    Switch change = {.active = request->active != FALSE};
    if (!stop_and(self, visit_switch, &change, error))
        return FALSE;
    self->lease = (Lease){
        .id = ++self->leases,
        .deadline = g_get_monotonic_time() + (gint64)request->duration_ms * 1000,
        .active = change.active,
        .restores = change.before,
    };
    if (change.active && !change.before)
        self->switched_on_ns = g_get_real_time() * 1000;
    return TRUE;
}

static gboolean
renew_lease(PtraceTarget *self, const LeaseRequest *request, GError **error)
{
    if (!process_alive(self->process.pid, self->process.start_time)) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s has ended", self->target.label);
        return FALSE;
    }
    self->lease.deadline = g_get_monotonic_time() + (gint64)request->duration_ms * 1000;
    return TRUE;
}

/* A value that is not the lease's own any more was set by somebody else, and stays. */
static gboolean
release_lease(PtraceTarget *self, const LeaseRequest *request, GError **error)
{
    Switch change = {.only_if = TRUE, .expected = self->lease.active, .active = self->lease.restores};
    TraceeDeadlines patient = {.attach = RELEASE_MS, .call = tracee_deadlines_default.call};
    tracee_set_deadlines(self->tracee, &patient);
    if (!stop_and(self, visit_switch, &change, error))
        return FALSE;
    self->lease = (Lease){0};
    return TRUE;
}

static gboolean (*const actions[])(PtraceTarget *, const LeaseRequest *, GError **) = {
    [WIRE_LEASE_TAKE] = take_lease,
    [WIRE_LEASE_RENEW] = renew_lease,
    [WIRE_LEASE_RELEASE] = release_lease,
};

static gboolean
ptrace_lease(Target *target, const LeaseRequest *request, WireLease *lease, GError **error)
{
    PtraceTarget *self = ptrace_of(target);
    gboolean taking = request->action == WIRE_LEASE_TAKE;
    if (!check_profiling(self, "prof.active", error))
        return FALSE;
    if (taking && self->lease.id != 0) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_BUSY, "%s is being profiled already", target->label);
        return FALSE;
    }
    if (!taking && (self->lease.id == 0 || request->id != self->lease.id)) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_LEASE, "%s: this recording has ended", target->label);
        return FALSE;
    }
    tracee_set_deadlines(self->tracee, &tracee_deadlines_default);
    if (!actions[request->action](self, request, error))
        return FALSE;
    *lease = describe_lease(self);
    return TRUE;
}

static void
ptrace_free(Target *target)
{
    PtraceTarget *self = ptrace_of(target);
    if (self->lease.id != 0)
        release_lease(self, NULL, NULL);
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
    PtraceTarget *self = g_new0(PtraceTarget, 1);
    g_autoptr(Target) target = &self->target;
    guint32 active = 0;
    self->target = (Target){.ops = &ptrace_ops, .pid = process->pid};
    target_set_name(target, process->name);
    self->process = *process;
    self->tracee = tracee_new(process, error);
    if (self->tracee == NULL)
        return NULL;
    self->space = address_space_new(process->pid, error);
    if (self->space == NULL || !remote_jemalloc_find(process, self->space, &self->jemalloc, error))
        return NULL;
    remote_control_guard(self->tracee, &self->jemalloc);
    if (!stop_and(self, visit_introduction, &active, error))
        return NULL;
    introduce(self);
    return g_steal_pointer(&target);
}
