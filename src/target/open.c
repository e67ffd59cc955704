/* SPDX-License-Identifier: Apache-2.0 */
/* target_open(): from what the user typed to a target. */
#include "target/open.h"

#include "target/agent.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/injection.h"
#include "target/ptrace.h"
#include "target/target.h"

#include <string.h>

enum {
    COMM_LENGTH = 15, /* the kernel cuts process names there */
    LISTED_MAX = 8,   /* candidates that an error names */
    WAIT_INTERVAL_US = 20000,
    ENTERED_INTERVAL_US = 1000,
    ENTERED_MIN_US = 1000 * 1000,
    ENTERED_MAX_US = 3 * 1000 * 1000,
};

/* A program that has just been started needs a moment until its agent listens. */
static char *
wait_for_socket(const Process *process)
{
    gint64 until = g_get_monotonic_time() + (gint64)agent_deadlines_default.connect * 1000;
    char *path = discovery_socket(process);
    while (path == NULL && diagnosis_agent_may_come(process) && g_get_monotonic_time() < until &&
           process_alive(process->pid, process->start_time)) {
        g_usleep(WAIT_INTERVAL_US);
        path = discovery_socket(process);
    }
    return path;
}

/* Its thread was started a moment ago, and may not have its name yet. */
static char *
wait_for_entered(const Process *process)
{
    gint64 begun = g_get_monotonic_time();
    char *path = discovery_socket(process);
    for (gint64 passed = 0; path == NULL && passed < ENTERED_MAX_US; passed = g_get_monotonic_time() - begun) {
        if (passed > ENTERED_MIN_US && !diagnosis_agent_may_come(process))
            return NULL;
        g_usleep(ENTERED_INTERVAL_US);
        path = discovery_socket(process);
    }
    return path;
}

static Target *
open_agent(const Process *process, const char *path, GError **error)
{
    AgentAddress address = {.path = path, .process = process, .deadlines = agent_deadlines_default};
    return agent_open(&address, error);
}

static Target *
open_process(const Process *process, TargetVia via, GError **error)
{
    if (via == TARGET_VIA_ATTACH)
        return ptrace_open(process, error);
    g_autofree char *path = wait_for_socket(process);
    if (path == NULL && via == TARGET_VIA_ANY && process_is_ours(process) && !diagnosis_agent_may_come(process))
        return ptrace_open(process, error);
    if (path == NULL) {
        diagnosis_set_no_agent(process, error);
        return NULL;
    }
    return open_agent(process, path, error);
}

Target *
target_attach(const char *name, const char *file, TargetAttachFlags flags, GError **error)
{
    Process process;
    if (!open_find_process(name, &process, error))
        return NULL;
    g_autofree char *there = discovery_socket(&process);
    if (there != NULL)
        return open_agent(&process, there, error);
    if (!injection_run(&process, file, flags, error))
        return NULL;
    g_autofree char *path = wait_for_entered(&process);
    if (path != NULL)
        return open_agent(&process, path, error);
    g_set_error(
        error, TARGET_ERROR, TARGET_ERROR_NO_AGENT,
        "the agent is in %s (%d), but it does not listen: it found no jemalloc that is in use, or no directory for "
        "its socket (JESCOPE_SOCKET_DIR, or /tmp/.jescope-UID of the process's own user, mode 0700)",
        process.name, (int)process.pid);
    return NULL;
}

static gboolean
find_pid(const char *text, Process *process, GError **error)
{
    guint64 pid;
    if (g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT32, &pid, NULL) && process_read((pid_t)pid, process))
        return TRUE;
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_PROCESS, "no process %s; 'jescope ps' lists what is there", text);
    return FALSE;
}

static Target *
open_socket(const char *path, GError **error)
{
    if (path[0] != '/') {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NAME, "'unix:%s' is not a target; unix: needs an absolute path",
                    path);
        return NULL;
    }
    AgentAddress address = {.path = path, .deadlines = agent_deadlines_default};
    return agent_open(&address, error);
}

static GArray *
processes_named(const char *name)
{
    GArray *all = process_list();
    for (guint i = all->len; i-- > 0;) {
        const Process *process = &g_array_index(all, Process, i);
        if (strcmp(process->name, name) != 0 &&
            !(strlen(process->name) == COMM_LENGTH && g_str_has_prefix(name, process->name)))
            g_array_remove_index(all, i);
    }
    return all;
}

/* Of several processes, those that can be talked to; all of them if none can. */
static void
keep_reachable(GArray *processes)
{
    g_autoptr(GArray) reachable = g_array_new(FALSE, FALSE, sizeof(Process));
    for (guint i = 0; i < processes->len; i++) {
        const Process *process = &g_array_index(processes, Process, i);
        g_autofree char *path = discovery_socket(process);
        if (path != NULL)
            g_array_append_val(reachable, *process);
    }
    if (reachable->len == 0)
        return;
    g_array_set_size(processes, 0);
    g_array_append_vals(processes, reachable->data, reachable->len);
}

static void
set_ambiguous(const char *name, GArray *processes, GError **error)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < processes->len && i < LISTED_MAX; i++)
        g_string_append_printf(list, "%s%d", i > 0 ? ", " : "", (int)g_array_index(processes, Process, i).pid);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_AMBIGUOUS,
                "%u processes are named '%s': %s%s; give one of these pids", processes->len, name, list->str,
                processes->len > LISTED_MAX ? ", ..." : "");
}

static gboolean
find_named(const char *name, Process *process, GError **error)
{
    g_autoptr(GArray) processes = processes_named(name);
    if (processes->len > 1)
        keep_reachable(processes);
    if (processes->len == 1) {
        *process = g_array_index(processes, Process, 0);
        return TRUE;
    }
    if (processes->len == 0)
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_PROCESS,
                    "no process is named '%s'; 'jescope ps' lists what is there", name);
    else
        set_ambiguous(name, processes, error);
    return FALSE;
}

static Target *
refuse_url(const char *rest, GError **error)
{
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_NAME,
                "targets behind http are not supported by this version; give a pid, a process name or unix:PATH");
    return NULL;
}

static const struct {
    const char *prefix;
    Target *(*open)(const char *rest, GError **error);
} schemes[] = {
    {"unix:", open_socket},
    {"http://", refuse_url},
    {"https://", refuse_url},
};

gboolean
open_find_process(const char *name, Process *process, GError **error)
{
    if (name[0] == '\0') {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NAME, "an empty target; give a pid, a process name or unix:PATH");
        return FALSE;
    }
    gboolean pid = strspn(name, "0123456789") == strlen(name);
    return pid ? find_pid(name, process, error) : find_named(name, process, error);
}

Target *
target_open_via(const char *name, TargetVia via, GError **error)
{
    Process process;
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        if (!g_str_has_prefix(name, schemes[i].prefix))
            continue;
        if (via != TARGET_VIA_ATTACH)
            return schemes[i].open(name + strlen(schemes[i].prefix), error);
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NAME, "'%s' cannot be attached to; give a pid or a process name",
                    name);
        return NULL;
    }
    return open_find_process(name, &process, error) ? open_process(&process, via, error) : NULL;
}

Target *
target_open(const char *name, GError **error)
{
    return target_open_via(name, TARGET_VIA_ANY, error);
}
