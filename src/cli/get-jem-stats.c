/* SPDX-License-Identifier: Apache-2.0 */
/* get-jem-stats [SECONDS]: requests the statistics of an Aerospike server repeatedly, without output, until it is
 * ended. */
#include "cli/command.h"
#include "cli/multicall.h"

#include "cli/trigger.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    SECONDS_DEFAULT = 600,
    SECONDS_MAX = 2000000, /* in milliseconds it fits a timer */
};

static gboolean
on_signal(gpointer data)
{
    g_main_loop_quit(data);
    return G_SOURCE_CONTINUE;
}

static void
trigger_until_signalled(guint ms)
{
    static const char *const command[] = {"asinfo", "-v", "jem-stats:", NULL};
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGINT, on_signal, loop);
    g_unix_signal_add(SIGTERM, on_signal, loop);
    g_unix_signal_add(SIGHUP, on_signal, loop);
    Trigger *trigger = trigger_new(command, ms, TRIGGER_REST, NULL, NULL);
    g_main_loop_run(loop);
    trigger_free(trigger);
}

#define SECONDS_LEAST 0.001 /* the clock's own step */

/* Like sleep(1): a decimal number, optionally followed by s, m, h or d. */
static gboolean
parse_interval(const char *text, double *seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    if (!g_ascii_isdigit(text[0]) && text[0] != '.')
        return FALSE;
    double number = g_ascii_strtod(text, &end);
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        double value = number * units[i].seconds;
        if (strcmp(end, units[i].unit) != 0 || value < SECONDS_LEAST || value > SECONDS_MAX)
            continue;
        *seconds = value;
        return TRUE;
    }
    return FALSE;
}

int
get_jem_stats_main(int argc, char **argv)
{
    double seconds = SECONDS_DEFAULT;
    if (argc == 2 && !parse_interval(argv[1], &seconds)) {
        fprintf(stderr,
                "get-jem-stats: invalid interval '%s'; give seconds as sleep(1) takes them, up to %d: 30, 0.5, 10m\n",
                argv[1], SECONDS_MAX);
        return STATUS_USAGE;
    }
    trigger_until_signalled((guint)(seconds * 1000));
    return STATUS_DONE;
}
