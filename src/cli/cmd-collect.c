/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect-arguments.h"
#include "cli/command.h"
#include "cli/trigger.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>

typedef struct {
    const CollectArguments *arguments;
    Service *service;
    GMainLoop *loop;
    gboolean stopping;
    GError *failure; /* NULL: none */
} Collection;

static void
print_line(const char *text, gpointer data)
{
    command_say("%s", text);
}

static void
on_stopped(gpointer data)
{
    g_main_loop_quit(((Collection *)data)->loop);
}

static gboolean
on_end(gpointer data)
{
    Collection *collection = data;
    if (!collection->stopping)
        service_stop(collection->service, on_stopped, collection);
    collection->stopping = TRUE;
    return G_SOURCE_CONTINUE;
}

static void
on_failed(const GError *error, gpointer data)
{
    Collection *collection = data;
    if (collection->failure == NULL)
        collection->failure = g_error_copy(error);
    on_end(collection);
}

static void
tell_command(const char *failure, gpointer data)
{
    if (failure != NULL)
        command_say("'%s': %s", ((const Collection *)data)->arguments->command, failure);
}

static void
run_until_end(Collection *collection)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    const CollectArguments *arguments = collection->arguments;
    const char *const shell[] = {"/bin/sh", "-c", arguments->command, NULL};
    g_autoptr(Trigger) trigger = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        g_unix_signal_add(ends[i], on_end, collection);
    if (arguments->for_ms > 0)
        g_timeout_add((guint)arguments->for_ms, on_end, collection);
    if (arguments->command != NULL)
        trigger =
            trigger_new(shell, (guint)(arguments->options.every_us / 1000), TRIGGER_ON_TICK, tell_command, collection);
    g_main_loop_run(collection->loop);
}

static int
print_result(Collection *collection, GError **error)
{
    ServiceWritten written = service_written(collection->service);
    ServiceFigures figures;
    service_figures(collection->service, &figures);
    printf("%s: %" G_GUINT64_FORMAT " samples written", collection->arguments->history, written.written);
    if (figures.missed > 0)
        printf(", %" G_GUINT64_FORMAT " missed", figures.missed);
    if (written.lost > 0)
        printf(", %" G_GUINT64_FORMAT " lost", written.lost);
    putchar('\n');
    if (collection->failure == NULL)
        return written.lost > 0 ? STATUS_PARTIAL : STATUS_DONE;
    g_propagate_error(error, g_steal_pointer(&collection->failure));
    return STATUS_FAILED;
}

static int
collect(CollectArguments *arguments, GError **error)
{
    Collection collection = {.arguments = arguments};
    arguments->options.say = print_line;
    arguments->options.failed = on_failed;
    arguments->options.data = &collection;
    /* Reaching a file size limit is reported like any other error. */
    signal(SIGXFSZ, SIG_IGN);
    collection.service = service_new(&arguments->options, error);
    if (collection.service == NULL)
        return STATUS_FAILED;
    collection.loop = g_main_loop_new(NULL, FALSE);
    run_until_end(&collection);
    int status = print_result(&collection, error);
    service_free(collection.service);
    g_main_loop_unref(collection.loop);
    return status;
}

static int
run(char **operands, GError **error)
{
    /* Samples in progress at the end may take a second; a target that hangs may not. */
    static const ServiceLimits limits = {.quick = 16, .slow = 1, .waits = 1, .first_waits = 1, .stop_seconds = 1};
    CollectArguments arguments = {.options = {.limits = limits}};
    int status = STATUS_FAILED;
    if (collect_arguments_read(&arguments, operands, error))
        status = collect(&arguments, error);
    collect_arguments_clear(&arguments);
    return status;
}

static const Example examples[] = {
    {"jescope collect redis-server --every 30s", "take a sample of its statistics every 30 seconds, until Ctrl-C"},
    {0},
};

const Command cmd_collect = {
    .name = "collect",
    .synopsis = "[[NAME=]TARGET...]",
    .summary = "keep statistics of targets over time",
    .description =
        "Samples the statistics of every TARGET at regular intervals, together with the kernel's figures for the "
        "process and its control group, and writes them to the history file: --history, else $JESCOPE_HISTORY, else "
        "$XDG_STATE_HOME/jescope/history.db. Runs until SIGINT or SIGTERM, or for the time given with --for, and ends "
        "at most a second later.\n\n"
        "A process name selects all processes of that name, including those started later. Their series are called "
        "NAME (by default the name of the process), NAME/2, NAME/3 and so on. A new process continues the first series "
        "that no running process uses and that has always belonged to the same user and systemd unit, so the series of "
        "a service continue when it is restarted or reloaded. A pid or unix:PATH selects that process and, after its "
        "end, the next process of the same name, user, and systemd unit or program. A process that cannot be sampled "
        "is reported once.\n\n"
        "--log keeps the statistics that another system writes to its log, a regular file; a link of another user is "
        "followed to files of that user only. --exec runs a command that makes the system write them: --exec 'asinfo "
        "-v jem-stats:file=/tmp/jem.log' --log /tmp/jem.log.\n\n"
        "Samples are removed only by --keep, --thin and --max-size, and imported samples never.",
    .examples = examples,
    .options = collect_options,
    .operand = OPERAND_TARGET,
    .stays = TRUE,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
