/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect-arguments.h"
#include "cli/command.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>

static void
print_line(const char *text, gpointer data)
{
    fprintf(stderr, "jescope: %s\n", text);
}

static gboolean
on_signal(gpointer data)
{
    collector_stop(data);
    return G_SOURCE_CONTINUE;
}

static void
add_sources(Collector *collector, const CollectArguments *arguments)
{
    for (guint i = 0; i < arguments->targets->len; i++) {
        const CollectTarget *target = arguments->targets->pdata[i];
        collector_add_target(collector, target->name, target->address, target->process);
    }
    if (arguments->log != NULL)
        collector_add_log(collector, arguments->log_name, arguments->log);
    if (arguments->command != NULL)
        collector_add_command(collector, arguments->command);
}

static int
collect(History *history, CollectArguments *arguments, GError **error)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    guint sources[G_N_ELEMENTS(ends)];
    CollectorResult result;
    arguments->options.say = print_line;
    g_autoptr(Collector) collector = collector_new(history, &arguments->options);
    add_sources(collector, arguments);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        sources[i] = g_unix_signal_add(ends[i], on_signal, collector);
    /* A file size limit is to be an error like any other. */
    signal(SIGXFSZ, SIG_IGN);
    gboolean ok = collector_run(collector, &result, error);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        g_source_remove(sources[i]);
    printf("%s: %" G_GUINT64_FORMAT " samples written", history_path(history), result.written);
    if (result.missed > 0)
        printf(", %" G_GUINT64_FORMAT " missed", result.missed);
    if (result.lost > 0)
        printf(", %" G_GUINT64_FORMAT " lost", result.lost);
    putchar('\n');
    if (!ok)
        return STATUS_FAILED;
    return result.lost > 0 ? STATUS_PARTIAL : STATUS_DONE;
}

static int
run(char **operands, GError **error)
{
    CollectArguments arguments = {0};
    int status = STATUS_FAILED;
    if (collect_arguments_read(&arguments, operands, error)) {
        g_autoptr(History) history = history_open(arguments.history, HISTORY_WRITE, error);
        if (history != NULL)
            status = collect(history, &arguments, error);
    }
    collect_arguments_clear(&arguments);
    return status;
}

const Command cmd_collect = {
    .name = "collect",
    .synopsis = "[[NAME=]TARGET...]",
    .summary = "keep statistics of targets over time",
    .description =
        "Takes a sample of every TARGET's statistics, with what the kernel says of the process and its control group, "
        "and "
        "keeps it in the history file, $XDG_STATE_HOME/jescope/history.db unless --history or $JESCOPE_HISTORY names "
        "another. A target is kept under NAME or its process's name, whatever its pid: when it is restarted, "
        "collecting "
        "goes on; a process that is named and does not run yet is waited for. Runs until SIGINT or SIGTERM, or for the "
        "time of --for; ends at most a second later.\n\n"
        "With --log it keeps the statistics that another system writes to its log, and with --exec makes it write "
        "them: "
        "--exec 'asinfo -v jem-stats:file=/tmp/jem.log' --log /tmp/jem.log.\n\n"
        "Nothing is removed unless --keep, --thin or --max-size say so; what was imported never is.",
    .options = collect_options,
    .operand = OPERAND_TARGET,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
