/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/kept.h"
#include "cli/target-source.h"
#include "cli/terminal.h"
#include "cli/via.h"
#include "cli/words.h"

#include "tui/local-feed.h"
#include "tui/remote-feed.h"
#include "tui/replay-feed.h"
#include "tui/tui.h"

#include <stdio.h>
#include <unistd.h>

enum {
    EVERY_DEFAULT_MS = 5000,
    EVERY_LEAST_MS = 100,
    EVERY_MOST_MS = 3600 * 1000,
    COLUMNS_ELSEWHERE = 160, /* if stdout is not a terminal */
};

static char *every;
static gboolean once;
static gboolean as_json;
static int count;
static gboolean readonly;
static char *sort_word;
static char *filter;
static char *replay;

static const GOptionEntry options[] = {
    {"every", 'd', 0, G_OPTION_ARG_STRING, &every, "interval between samples (default: 5s)", "DURATION"},
    {"sort", 's', 0, G_OPTION_ARG_STRING, &sort_word, "sort the targets by this (default: rss)",
     "pid|user|rss|allocated|resident|gain|trend|profiling|coverage|name"},
    {"filter", 'f', 0, G_OPTION_ARG_STRING, &filter,
     "show only targets whose name, arguments, user, control group or pid contain this", "TEXT"},
    {"readonly", 0, 0, G_OPTION_ARG_NONE, &readonly, "change nothing in a target and stop none", NULL},
    {"once", 0, 0, G_OPTION_ARG_NONE, &once, "print one frame as text", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print a line of JSON at each interval", NULL},
    {"count", 'n', 0, G_OPTION_ARG_INT, &count, "with --json: end after this number of lines", "N"},
    {"replay", 0, 0, G_OPTION_ARG_FILENAME, &replay, "show the samples of a history file", "FILE"},
    ACCESS_OPTIONS,
    TERMINAL_COLOR_OPTION,
    {0},
};

static gboolean
refuse(GError **error, const char *why)
{
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "top: %s", why);
    return FALSE;
}

static gboolean
check_options(GError **error)
{
    if (once && as_json)
        return refuse(error, "--once prints text; leave out --json, or use --json --count 1");
    if (count < 0 || (count > 0 && !as_json))
        return refuse(error, "--count N is a number of lines of --json, from 1 on");
    return terminal_check_color(error);
}

static gboolean
parse_every(guint *every_ms, GError **error)
{
    guint64 ms = EVERY_DEFAULT_MS;
    if (every != NULL && !duration_parse(every, "--every", &ms, error))
        return FALSE;
    if (ms < EVERY_LEAST_MS || ms > EVERY_MOST_MS)
        return refuse(error, "--every is at least 100ms and at most 1h");
    *every_ms = (guint)ms;
    return TRUE;
}

static gboolean
write_out(const char *text, gpointer unused)
{
    fputs(text, stdout);
    return fflush(stdout) == 0;
}

static gboolean
read_sources(char **operands, GArray *sources, GError **error)
{
    for (; *operands != NULL; operands++) {
        ServiceSource source;
        gboolean ok = target_source_identify(NULL, *operands, &source, error);
        g_array_append_val(sources, source);
        if (!ok)
            return FALSE;
    }
    return TRUE;
}

static gboolean
run_over(Feed *feed, gboolean one, GError **error)
{
    TuiOptions setup = {.mode = once      ? TUI_ONCE
                                : as_json ? TUI_JSON
                                          : TUI_SCREEN,
                        .colored = terminal_colored(STDOUT_FILENO),
                        .readonly = readonly,
                        .one = one,
                        .columns = terminal_columns(STDOUT_FILENO, COLUMNS_ELSEWHERE),
                        .count = (guint)count,
                        .filter = filter,
                        .write = write_out};
    const char *word = sort_word != NULL ? sort_word : "rss";
    return words_find(targets_sort_words, "--sort", word, &setup.sort, error) && tui_run(feed, &setup, error);
}

static Feed *
open_local(char **operands, GArray *sources, guint every_ms, GError **error)
{
    LocalFeedOptions local = {.every_ms = every_ms};
    if (!read_sources(operands, sources, error))
        return NULL;
    local.sources = (const ServiceSource *)(void *)sources->data;
    local.n_sources = sources->len;
    return local_feed_new(&local, error);
}

static Feed *
open_replay(guint every_ms, GError **error)
{
    guint left_out;
    Feed *feed = replay_feed_new(replay, every_ms, &left_out, error);
    if (feed != NULL && left_out > 0)
        command_say("top: %s has too many targets: %u are not shown, of the users with most the oldest", replay,
                    left_out);
    return feed;
}

/* *ONE: a target was named. */
static Feed *
open_feed(char **operands, GArray *sources, gboolean *one, GError **error)
{
    static ClientAccess access;
    guint every_ms;
    if (!parse_every(&every_ms, error))
        return NULL;
    *one = *operands != NULL;
    if (replay != NULL)
        return open_replay(every_ms, error);
    if (*operands == NULL || !client_is_url(*operands))
        return open_local(operands, sources, every_ms, error);
    access = via_access();
    return remote_feed_new(&(RemoteFeedOptions){*operands, &access, every_ms}, one, error);
}

static gboolean
check_operands(char **operands, GError **error)
{
    if (replay != NULL && *operands != NULL)
        return refuse(error, "--replay FILE shows all targets of the file; choose them with --filter");
    for (char **operand = operands; *operand != NULL; operand++)
        if (client_is_url(*operand) && operands[1] != NULL)
            return refuse(error, "a URL is shown alone; leave out the other targets");
    return TRUE;
}

static int
run(char **operands, GError **error)
{
    gboolean one;
    g_autoptr(GArray) sources = g_array_new(FALSE, FALSE, sizeof(ServiceSource));
    g_array_set_clear_func(sources, target_source_clear);
    if (!check_options(error) || !check_operands(operands, error))
        return STATUS_FAILED;
    if (!once && !as_json)
        tui_prepare();
    g_autoptr(Feed) feed = open_feed(operands, sources, &one, error);
    if (feed == NULL || !run_over(feed, one, error))
        return STATUS_FAILED;
    return replay != NULL && kept_warn(replay, replay_feed_damaged(feed)) ? STATUS_PARTIAL : STATUS_DONE;
}

static const Example examples[] = {
    {"jescope top", "all processes of this machine that use jemalloc"},
    {"jescope top redis-server", "one of them, with arenas, size classes and advice"},
    {"jescope top --replay history.db", "what 'jescope collect' has kept, from its first sample on"},
    {"jescope top https://db1:7469", "the targets of another jescope"},
    {"jescope top --once --sort gain", "one frame as text, for a report or a terminal without a screen"},
    {"jescope top --json --every 10s", "a line of JSON every 10 seconds, for scripts"},
    {0},
};

const Command cmd_top = {
    .name = "top",
    .synopsis = "[TARGET...|URL]",
    .summary = "watch the memory of processes live in a terminal",
    .description =
        "Shows the processes that use jemalloc, with the memory that each holds and gains. Processes without an "
        "agent are listed with the kernel's figures only. Enter opens a process: the components of its memory, "
        "charts, arenas, size classes, advice and events. From there, 's' shows the functions, lines or stacks "
        "that hold the memory and their growth, 'f' a flame graph, both from a heap dump; '?' shows the keys of "
        "each screen. TARGET is a pid or a process name: only such processes are shown, and the screen of a single "
        "one is opened.\n\n"
        "top only reads statistics. Heap dumps, recordings, profiling for a limited time and purges require a "
        "confirmation; profiling is enabled by a lease, which ends when the screens of the target are closed, or "
        "ten seconds after top is killed. A process without an agent is briefly stopped at each interval if it was "
        "named as TARGET or opened after a confirmation; --readonly does not open one.\n\n"
        "--replay shows the samples of a history file on the same screens: 't' and 'T' move one sample forward and "
        "back, 'j' and 'J' a duration, space plays; sites and flame graphs come from the kept heap dumps. A URL "
        "shows the targets of another jescope.\n\n"
        "--once and --json need no terminal. Colours follow --color and NO_COLOR.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .stays = TRUE,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
