/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target.h"

#include "target/implementation.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

G_DEFINE_QUARK(jescope - target - error, target_error)

void
target_free(Target *target)
{
    if (target == NULL)
        return;
    target->ops->free(target);
    g_free(target->name);
    g_free(target->label);
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
    [TARGET_VIA_INSIDE] = "inside",
};

gboolean
target_alive(const Target *target)
{
    return target->pid == 0 || kill(target->pid, 0) == 0 || errno == EPERM;
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
target_read(Target *target, const char *control, WireType type, ControlValue *value, GError **error)
{
    return target->ops->read(target, control, type, value, error);
}

gboolean
target_write(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    return target->ops->write(target, control, type, value, error);
}

gboolean
target_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error)
{
    return target->ops->sample(target, request, rows, spent_ns, error);
}

int
target_dump(Target *target, GError **error)
{
    return target->ops->output(target, NULL, error);
}

int
target_stats(Target *target, const char *letters, GError **error)
{
    return target->ops->output(target, letters, error);
}

gboolean
target_lease(Target *target, const LeaseRequest *request, WireLease *lease, GError **error)
{
    return target->ops->lease(target, request, lease, error);
}

gboolean
target_leave(Target *target, GError **error)
{
    if (target->ops->leave != NULL)
        return target->ops->leave(target, error);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_AGENT, "%s has no agent that could leave", target->label);
    return FALSE;
}
