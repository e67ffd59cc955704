/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-calls.h"

#include "confine/keyed-hash.h"

#include <stdlib.h>
#include <string.h>

static void
call_free(gpointer data)
{
    ThreadCall *call = data;
    g_free(call->text);
    g_free(call);
}

GHashTable *
thread_calls_new(void)
{
    return g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, call_free);
}

static char *
read_text(pid_t pid, const char *thread, const char *name)
{
    char *text = NULL;
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%s/%s", (int)pid, thread, name);
    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

static char
state_in(const char *status)
{
    static const char key[] = "\nState:\t";
    const char *line = strstr(status, key);
    return line != NULL ? line[strlen(key)] : '?';
}

const ThreadCall *
thread_calls_look(GHashTable *calls, pid_t pid, const char *thread)
{
    g_autofree char *system_call = read_text(pid, thread, "syscall");
    g_autofree char *status = read_text(pid, thread, "status");
    const char *switches = status != NULL ? strstr(status, "\nvoluntary_ctxt_switches:") : NULL;
    if (system_call == NULL || switches == NULL || g_str_has_prefix(system_call, "running")) {
        g_hash_table_remove(calls, thread);
        return NULL;
    }
    g_autofree char *text = g_strconcat(system_call, switches, NULL);
    ThreadCall *call = g_hash_table_lookup(calls, thread);
    if (call != NULL && strcmp(call->text, text) == 0) {
        call->state = state_in(status);
        return call;
    }
    call = g_new0(ThreadCall, 1);
    char *end;
    call->number = strtol(system_call, &end, 10);
    call->arguments[0] = g_ascii_strtoull(end, &end, 0);
    call->arguments[1] = g_ascii_strtoull(end, &end, 0);
    call->text = g_steal_pointer(&text);
    call->state = state_in(status);
    call->seen_us = g_get_monotonic_time();
    g_hash_table_replace(calls, g_strdup(thread), call);
    return call;
}
