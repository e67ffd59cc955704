/* SPDX-License-Identifier: Apache-2.0 */
/* target_open(): from the user's operand to a target. */
#include "target/open.h"

#include "target/agent.h"
#include "target/candidates.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/headroom.h"
#include "target/implementation.h"
#include "target/injection.h"
#include "target/ptrace.h"
#include "target/reach.h"
#include "target/target.h"

#include <string.h>

enum {
    WAIT_INTERVAL_US = 20000,
    ENTERED_INTERVAL_US = 1000,
    ENTERED_MIN_US = 2 * 1000 * 1000,
    ENTERED_MAX_US = 5 * 1000 * 1000,
};

/* Waits for the agent of a program that was just started to listen. PROCESS is read again, since the place of the
 * socket depends on its user, which may change meanwhile. */
static char *
wait_for_socket(Process *process)
{
    gint64 until = g_get_monotonic_time() + (gint64)agent_deadlines_default.connect * 1000;
    char *path = discovery_socket(process);
    while (path == NULL && diagnosis_agent_may_come(process) && g_get_monotonic_time() < until &&
           process_read_again(process)) {
        g_usleep(WAIT_INTERVAL_US);
        path = discovery_socket(process);
    }
    return path;
}

typedef enum {
    OPEN_PATIENTLY, /* the process may have closed the agent's socket, and the agent makes another one */
    OPEN_AT_ONCE,
} OpenPatience;

static Target *
open_agent(const Process *process, const char *path, OpenPatience patience, GError **error)
{
    AgentAddress address = {.path = path, .process = process, .deadlines = agent_deadlines_default};
    if (patience == OPEN_AT_ONCE)
        address.deadlines.connect = 0;
    return agent_open(&address, error);
}

static void
set_no_agent(const Process *process, GError **error)
{
    if (process_is_ours(process) && diagnosis_has_agent(process) && discovery_is_cut(process))
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                    "%s (%d) has the agent loaded, but whether and where it listens is not known, since there are "
                    "hundreds of thousands of unix sockets (/proc/%d/net/unix)",
                    process->name, (int)process->pid, (int)process->pid);
    else
        diagnosis_set_no_agent(process, error);
}

static Target *
open_through_agent(const Process *found, GError **error)
{
    Process process = *found;
    g_autofree char *path = wait_for_socket(&process);
    if (path != NULL)
        return open_agent(&process, path, OPEN_PATIENTLY, error);
    set_no_agent(&process, error);
    return NULL;
}

/* NULL without an error if no agent listens. A silent agent is an error: it is busy, perhaps inside jemalloc, or its
 * process is stopped. */
static Target *
open_present(const Process *process, char *path, OpenPatience patience, GError **error)
{
    g_autofree char *owned G_GNUC_UNUSED = path;
    GError *cause = NULL;
    Target *target = path != NULL ? open_agent(process, path, patience, &cause) : NULL;
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_NO_AGENT))
        g_clear_error(&cause);
    if (cause != NULL)
        g_propagate_error(error, cause);
    return target;
}

/* A process with an agent that does not listen must not be harder to reach than one without an agent. */
static Target *
open_any_way(const Process *found, GError **error)
{
    Process process = *found;
    GError *cause = NULL;
    if (!process_is_ours(found))
        return open_through_agent(found, error);
    char *path = wait_for_socket(&process);
    Target *target = open_present(&process, path, OPEN_PATIENTLY, &cause);
    if (cause != NULL)
        g_propagate_error(error, cause);
    if (target != NULL || cause != NULL)
        return target;
    target = ptrace_open(&process, error);
    if (target != NULL && diagnosis_has_agent(&process))
        target->note = g_strdup_printf(
            discovery_is_cut(&process)
                ? "the agent in %s is not found among too many sockets; the process is stopped briefly instead (--via "
                  "attach)"
                : "the agent in %s does not listen; the process is stopped briefly instead (--via attach)",
            target->label);
    return target;
}

static Target *
open_process(const Process *process, TargetVia via, GError **error)
{
    switch (via) {
    case TARGET_VIA_ATTACH:
        return ptrace_open(process, error);
    case TARGET_VIA_AGENT:
        return open_through_agent(process, error);
    default:
        return open_any_way(process, error);
    }
}

/* Waits for the agent to listen: its thread was just started and may not have its name yet, and a stale socket may
 * exist. NULL without an error if it does not listen. */
static Target *
wait_for_entered(const Process *process, GError **error)
{
    gint64 begun = g_get_monotonic_time();
    GError *cause = NULL;
    Target *target = open_present(process, discovery_socket(process), OPEN_AT_ONCE, &cause);
    for (gint64 passed = 0; target == NULL && cause == NULL && passed < ENTERED_MAX_US;
         passed = g_get_monotonic_time() - begun) {
        if (passed > ENTERED_MIN_US && !diagnosis_agent_may_come(process))
            return NULL;
        g_usleep(ENTERED_INTERVAL_US);
        target = open_present(process, discovery_socket(process), OPEN_AT_ONCE, &cause);
    }
    if (cause != NULL)
        g_propagate_error(error, cause);
    return target;
}

static gboolean
has_room(const Process *process, GError **error)
{
    g_autofree char *label = g_strdup_printf("%s (%d)", process->name, (int)process->pid);
    return target_is_forced(NULL) || headroom_check_beginning(process->pid, label, "/proc", "/sys/fs/cgroup", error);
}

static Target *
attach(const Process *process, const char *file, TargetAttachFlags flags, GError **error)
{
    GError *cause = NULL;
    Target *there = open_present(process, discovery_socket(process), OPEN_AT_ONCE, &cause);
    if (cause != NULL)
        g_propagate_error(error, cause);
    if (there != NULL || cause != NULL)
        return there;
    if (!has_room(process, error) || !injection_run(process, file, flags, error))
        return NULL;
    Target *entered = wait_for_entered(process, &cause);
    if (cause != NULL)
        g_propagate_error(error, cause);
    if (entered != NULL || cause != NULL)
        return entered;
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                "the agent is loaded in %s (%d), but does not listen: it found no jemalloc in use, or no directory for "
                "its socket (JESCOPE_SOCKET_DIR, or /tmp/.jescope-UID of the process's own user, mode 0700); other "
                "commands need no agent",
                process->name, (int)process->pid);
    return NULL;
}

Target *
target_attach(const char *name, const char *file, TargetAttachFlags flags, GError **error)
{
    Process process;
    if (!open_find_process(name, &process, error))
        return NULL;
    Target *target = attach(&process, file, flags, error);
    if (target != NULL)
        target->operand = g_strdup_printf("%d", (int)process.pid);
    return target;
}

static Target *
open_socket(const char *path, GError **error)
{
    if (path[0] != '/') {
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "'unix:%s' is not a target; unix: needs an absolute path",
                    path);
        return NULL;
    }
    AgentAddress address = {.path = path, .deadlines = agent_deadlines_default};
    return agent_open(&address, error);
}

gboolean
open_find_process(const char *name, Process *process, GError **error)
{
    if (name[0] == '\0') {
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "an empty target; give a pid, a process name or unix:PATH");
        return FALSE;
    }
    if (strstr(name, "://") != NULL) {
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    "'%s' is the URL of a server, which this command does not use; give a pid or a process name", name);
        return FALSE;
    }
    g_autoptr(GPtrArray) all = candidates_find(name, CANDIDATES_NAMED, error);
    const Candidate *chosen = all != NULL ? candidates_choose(all, name, error) : NULL;
    if (chosen == NULL)
        return FALSE;
    *process = chosen->process;
    return TRUE;
}

static Target *
open_named(const char *name, TargetVia via, GError **error)
{
    Process process;
    if (!g_str_has_prefix(name, "unix:"))
        return open_find_process(name, &process, error) ? open_process(&process, via, error) : NULL;
    if (via != TARGET_VIA_ATTACH)
        return open_socket(name + strlen("unix:"), error);
    g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "'%s' cannot be attached to; give a pid or a process name", name);
    return NULL;
}

Target *
target_open_via(const char *name, TargetVia via, GError **error)
{
    Target *target = open_named(name, via, error);
    if (target != NULL)
        target->operand = target->pid != 0 ? g_strdup_printf("%d", (int)target->pid) : g_strdup(name);
    return target;
}

Target *
target_open(const char *name, GError **error)
{
    return target_open_via(name, TARGET_VIA_ANY, error);
}

Target *
target_open_process(const Process *process, const char *address, TargetVia via, GError **error)
{
    const ReachOps *elsewhere = reach_elsewhere();
    if (elsewhere != NULL)
        return elsewhere->target(process, address, via, error);
    g_autofree char *operand = g_str_has_prefix(address, "unix:") ? g_strdup(address) : process_operand(process);
    if (process_alive(process->pid, process->start_time))
        return target_open_via(operand, via, error);
    g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has ended", process->name, (int)process->pid);
    return NULL;
}
