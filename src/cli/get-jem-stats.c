/* SPDX-License-Identifier: Apache-2.0 */
/* get-jem-stats [SECONDS]: asks an Aerospike server for its statistics again and again, in silence and for ever. */
#include "cli/command.h"
#include "cli/multicall.h"

#include "history/trigger.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>

enum {
    SECONDS_DEFAULT = 600,
    SECONDS_MAX = 2000000, /* milliseconds of it fit a timer */
};

static gboolean
on_signal(gpointer data)
{
    g_main_loop_quit(data);
    return G_SOURCE_CONTINUE;
}

static void
trigger_until_signalled(guint seconds)
{
    static const char *const command[] = {"asinfo", "-v", "jem-stats:", NULL};
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGINT, on_signal, loop);
    g_unix_signal_add(SIGTERM, on_signal, loop);
    g_unix_signal_add(SIGHUP, on_signal, loop);
    Trigger *trigger = trigger_new(command, seconds * 1000, TRIGGER_REST, NULL, NULL);
    g_main_loop_run(loop);
    trigger_free(trigger);
}

int
get_jem_stats_main(int argc, char **argv)
{
    guint64 seconds = SECONDS_DEFAULT;
    if (argc == 2 && !g_ascii_string_to_unsigned(argv[1], 10, 1, SECONDS_MAX, &seconds, NULL)) {
        fprintf(stderr, "get-jem-stats: '%s' is not a number of seconds from 1 to %d\n", argv[1], SECONDS_MAX);
        return STATUS_USAGE;
    }
    trigger_until_signalled((guint)seconds);
    return STATUS_DONE;
}
