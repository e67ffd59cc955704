/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target.h"

#include "confine/rights.h"
#include "target/dump-maps.h"
#include "target/headroom.h"
#include "target/implementation.h"
#include "target/output-file.h"
#include "target/process-change.h"
#include "wire/message.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope_target_error, target_error)

static guint64 output_limit = TARGET_OUTPUT_DEFAULT;
static gboolean forced;

void
target_set_forced(gboolean is_forced)
{
    forced = is_forced;
}

guint64
target_output_limit(void)
{
    return output_limit;
}

void
target_set_output_limit(guint64 bytes)
{
    output_limit = bytes;
}

void
target_set_dump_limits(Target *target, const DumpLimits *limits)
{
    target->limits = *limits;
}

void
target_free(Target *target)
{
    if (target == NULL)
        return;
    target->ops->free(target);
    g_free(target->name);
    g_free(target->label);
    g_free(target->operand);
    g_free(target->note);
    g_free(target);
}

void
target_set_name(Target *target, const char *name)
{
    g_free(target->name);
    g_free(target->label);
    target->name = g_strdup(name);
    target->label = target->pid != 0 ? g_strdup_printf("%s (%d)", name, (int)target->pid) : g_strdup(name);
}

static const char *const via_names[] = {
    [TARGET_VIA_ANY] = "any",
    [TARGET_VIA_AGENT] = "agent",
    [TARGET_VIA_ATTACH] = "attach",
    [TARGET_VIA_SERVER] = "server",
};

gboolean
target_alive(const Target *target, GError **error)
{
    if (target->pid == 0)
        return TRUE;
    if (target->start_time != 0 ? process_is_there(target->pid, target->start_time)
                                : kill(target->pid, 0) == 0 || errno == EPERM)
        return target->ops->check_program == NULL || target->ops->check_program(target, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", target->label);
    return FALSE;
}

void
target_set_process(Target *target, const Process *found)
{
    target->found = *found;
    target->pid = found->pid;
    target->start_time = found->start_time;
    target->user = rights_of_ids(found->uids);
}

gboolean
target_set_changed(const char *label, int code, GError **error)
{
    if (code == ESRCH)
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", label);
    else if (code == EPERM)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "%s now has the rights of another user, or keeps its memory from its own; what was read of it was "
                    "discarded. If it has just executed another program, try again",
                    label);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "whether %s still runs cannot be seen: %s", label,
                    g_strerror(code));
    return FALSE;
}

gboolean
target_check_unchanged(const Target *target, GError **error)
{
    const int code = target->found.pid != 0 ? process_change_check(&target->found) : 0;
    return code == 0 || target_set_changed(target->label, code, error);
}

const Process *
target_process(const Target *target)
{
    return &target->found;
}

guint64
target_start_time(const Target *target)
{
    return target->start_time;
}

TargetVia
target_via(const Target *target)
{
    return target->ops->via;
}

const char *
target_via_name(TargetVia via)
{
    return via_names[via];
}

gboolean
target_via_parse(const char *word, TargetVia *via)
{
    for (TargetVia found = TARGET_VIA_AGENT; found <= TARGET_VIA_ATTACH; found++)
        if (strcmp(word, via_names[found]) == 0) {
            *via = found;
            return TRUE;
        }
    return FALSE;
}

pid_t
target_pid(const Target *target)
{
    return target->pid;
}

pid_t
target_own_pid(const Target *target)
{
    return target->pid != 0 ? target->pid : target->own_pid;
}

uid_t
target_user(const Target *target)
{
    return target->user;
}

const char *
target_name(const Target *target)
{
    return target->name;
}

const char *
target_label(const Target *target)
{
    return target->label;
}

const char *
target_operand(const Target *target)
{
    return target->operand;
}

const char *
target_note(const Target *target)
{
    return target->note;
}

void
target_wait_until(Target *target, gint64 until)
{
    target->until = until;
}

gint64
target_waits_until(const Target *target)
{
    return target->until;
}

guint
target_time_limit(const Target *target, guint ms)
{
    const gint64 left = target->until != 0 ? (target->until - g_get_monotonic_time()) / 1000 : (gint64)ms;
    return (guint)CLAMP(left, 1, (gint64)ms);
}

int
target_errno(const Target *target)
{
    return target->failure;
}

gboolean
target_hello(Target *target, WireHelloReply *hello, GError **error)
{
    return target->ops->hello(target, hello, error);
}

gboolean
target_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    return target->ops->read(target, control, type, value, error);
}

/* Before profiling is switched on. Where it is on, it has the memory that it takes. */
static gboolean
may_begin(Target *target, GError **error)
{
    WireHelloReply hello;
    g_autoptr(GError) cause = NULL;
    if (target->pid == 0 || target_is_forced(target) ||
        headroom_check_beginning(target->pid, target->label, "/proc", "/sys/fs/cgroup", &cause))
        return TRUE;
    if (target_hello(target, &hello, NULL) && (hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

gboolean
target_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    if (value != 0 && g_str_equal(control, "prof.active") && !may_begin(target, error))
        return FALSE;
    return target->ops->write(target, control, type, value, error);
}

WireType
target_sample_name(const SampleRequest *request, guint n, guint arena, char name[WIRE_CONTROL_NAME_MAX])
{
    const char *text = request->names;
    for (guint i = 0; i < n; i++)
        text += strlen(text) + 1;
    if (wire_sample_name(text + 1, arena, name))
        return (WireType)(text[0] - '0');
    g_strlcpy(name, text + 1, WIRE_CONTROL_NAME_MAX);
    return WIRE_TYPE_NONE;
}

gboolean
target_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error)
{
    return target->ops->sample(target, request, rows, spent_ns, error);
}

gboolean
target_is_forced(const Target *target)
{
    return forced || (target != NULL && target->limits.forced);
}

gboolean
target_check_headroom(Target *target, GError **error)
{
    target->output_max = target->limits.bytes != 0 ? target->limits.bytes : target_output_limit();
    target->plan = output_plan_default;
    return target->pid == 0 || target_is_forced(target) || headroom_check(target, "/proc", "/sys/fs/cgroup", error);
}

int
target_output(Target *target, const char *letters, GError **error)
{
    if (letters != NULL)
        target->output_max = MIN(target->output_max, TARGET_STATISTICS_MAX);
    return target->ops->output(target, letters, error);
}

/* FD, an output of TARGET or -1; it is discarded if the process has changed meanwhile. */
static int
checked_output(const Target *target, int fd, GError **error)
{
    if (fd < 0 || target_check_unchanged(target, error))
        return fd;
    close(fd);
    return -1;
}

int
target_dump_open(Target *target, GError **error)
{
    if (!target_check_headroom(target, error))
        return -1;
    const OutputWriter writer = {target->label, target->output_max, FALSE};
    int fd = target_output(target, NULL, error);
    if (fd >= 0 && target->pid != 0)
        fd = dump_maps_complete(fd, &target->found, &writer, error);
    return checked_output(target, fd, error);
}

int
target_dump(Target *target, GError **error)
{
    return output_file_seal(target_dump_open(target, error), target->label, error);
}

int
target_dump_named(Target *target, GError **error)
{
    target_check_headroom(target, NULL);
    return target->ops->output_named(target, error);
}

int
target_stats(Target *target, const char *letters, GError **error)
{
    target->output_max = target_output_limit();
    target->plan = output_plan_default;
    int fd = checked_output(target, target_output(target, letters, error), error);
    return output_file_seal(fd, target->label, error);
}

gboolean
target_set_busy(const Target *target, guint64 remaining_ms, GError **error)
{
    char why[FAILURE_WHY_MAX];
    outcome_describe_busy(why, target->label, target->operand, remaining_ms);
    g_set_error_literal(error, TARGET_ERROR, OUTCOME_BUSY, why);
    return FALSE;
}

gboolean
target_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error)
{
    if (request->action == WIRE_LEASE_TAKE && request->active != 0 && !may_begin(target, error))
        return FALSE;
    return target->ops->lease(target, request, lease, error);
}

gboolean
target_leave(Target *target, GError **error)
{
    if (target->ops->leave != NULL)
        return target->ops->leave(target, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT, "%s has no agent to detach", target->label);
    return FALSE;
}
