/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trigger.h"

#include <signal.h>
#include <unistd.h>

struct Trigger {
    char **argv;
    guint every_ms;
    TriggerMode mode;
    TriggerFunc func;
    gpointer data;
    GPid child; /* 0: none */
    guint child_source;
    guint timer;
};

static gboolean run_command(gpointer data);

static void
rest(Trigger *trigger)
{
    if (trigger->mode == TRIGGER_REST)
        trigger->timer = g_timeout_add(trigger->every_ms, run_command, trigger);
}

static void
tell(const Trigger *trigger, const char *failure)
{
    if (trigger->func != NULL)
        trigger->func(failure, trigger->data);
}

static void
child_ended(GPid pid, gint wait_status, gpointer data)
{
    Trigger *trigger = data;
    g_autoptr(GError) error = NULL;
    g_spawn_close_pid(pid);
    trigger->child = 0;
    trigger->child_source = 0;
    gboolean ok = g_spawn_check_wait_status(wait_status, &error);
    tell(trigger, ok ? NULL : error->message);
    rest(trigger);
}

/* Runs in the child before it executes the command: creates a process group, so that the command's children end with
 * it. */
static void
lead_group(gpointer data)
{
    setpgid(0, 0);
}

static gboolean
run_command(gpointer data)
{
    Trigger *trigger = data;
    g_autoptr(GError) error = NULL;
    gboolean on_tick = trigger->mode == TRIGGER_ON_TICK;
    if (!on_tick)
        trigger->timer = 0;
    if (trigger->child != 0) {
        tell(trigger, "it still runs; its next turn is left out");
        return G_SOURCE_CONTINUE;
    }
    if (g_spawn_async(NULL, trigger->argv, NULL,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL |
                          G_SPAWN_STDERR_TO_DEV_NULL,
                      lead_group, NULL, &trigger->child, &error)) {
        trigger->child_source = g_child_watch_add(trigger->child, child_ended, trigger);
    } else {
        trigger->child = 0;
        tell(trigger, error->message);
        rest(trigger);
    }
    return on_tick ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

Trigger *
trigger_new(const char *const *argv, guint every_ms, TriggerMode mode, TriggerFunc func, gpointer data)
{
    Trigger *trigger = g_new0(Trigger, 1);
    trigger->argv = g_strdupv((char **)(guintptr)argv);
    trigger->every_ms = every_ms;
    trigger->mode = mode;
    trigger->func = func;
    trigger->data = data;
    if (mode == TRIGGER_ON_TICK)
        trigger->timer = g_timeout_add(every_ms, run_command, trigger);
    run_command(trigger);
    return trigger;
}

void
trigger_free(Trigger *trigger)
{
    if (trigger == NULL)
        return;
    g_clear_handle_id(&trigger->timer, g_source_remove);
    g_clear_handle_id(&trigger->child_source, g_source_remove);
    if (trigger->child != 0)
        kill(-trigger->child, SIGTERM);
    g_strfreev(trigger->argv);
    g_free(trigger);
}
