/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/size.h"
#include "cli/via.h"

#include "blackbox/describe.h"
#include "blackbox/prekill.h"
#include "blackbox/watch.h"
#include "target/candidates.h"
#include "target/open.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    PREKILL_MS = 30000, /* for snapshots before a group is killed */
    LOOK_MS = 1000,     /* interval of searching for the next process of a name */
    CHECK_MS = 200,     /* interval of checking whether all watches have ended */
};

static struct {
    char *directory, *size, *oomd_hook;
    int snapshots, lives;
    gboolean unprofiled, verbose;
} arguments;

static const GOptionEntry options[] = {
    {.long_name = "directory",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &arguments.directory,
     .description = "keep the snapshots here (default: JESCOPE_BLACKBOX)",
     .arg_description = "DIRECTORY"},
    {.long_name = "keep",
     .arg = G_OPTION_ARG_INT,
     .arg_data = &arguments.snapshots,
     .description = "snapshots kept of each process: the first and the latest ones (6)",
     .arg_description = "N"},
    {.long_name = "lives",
     .arg = G_OPTION_ARG_INT,
     .arg_data = &arguments.lives,
     .description = "ended processes of each name whose snapshots are kept (5)",
     .arg_description = "N"},
    {.long_name = "max-size",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &arguments.size,
     .description = "size of all dumps in the directory, the oldest are removed (1GiB)",
     .arg_description = "SIZE"},
    {.long_name = "no-profiling",
     .arg_data = &arguments.unprofiled,
     .description = "do not switch profiling on; dumps hold what is profiled anyway"},
    {.long_name = "oomd-hook",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &arguments.oomd_hook,
     .description = "take a snapshot before systemd-oomd kills: listen at this socket",
     .arg_description = "SOCKET"},
    {.long_name = "verbose", .short_name = 'v', .arg_data = &arguments.verbose, .description = "report each snapshot"},
    VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

/* One operand and its thread. */
typedef struct {
    WatchOptions options; /* its data is this struct */
    const char *operand;
    uid_t user;    /* the real user id of the latest process at its latest snapshot: any process may have the name */
    Target *first; /* opened before the thread began */
    gint over;     /* atomic */
    gint failed;   /* atomic */
    GThread *thread;
} Watcher;

static void
note_user(Watcher *watcher, const Target *target)
{
    Process process = *target_process(target);
    if (process.pid != 0 && process_read_again(&process)) /* its pid may be another user's process now */
        watcher->user = process.uids[0];
}

static void
tell_kept(const Target *target, const BlackboxSnapshot *snapshot, gpointer data)
{
    note_user(data, target);
    if (!arguments.verbose)
        return;
    g_autofree char *memory = blackbox_format_used(snapshot->memory.used, snapshot->memory.limit);
    g_autofree char *bytes = size_format(snapshot->dump_bytes);
    command_say("%s: snapshot %u (%s) at %s, %s in %" G_GINT64_FORMAT " ms", target_label(target), snapshot->number,
                snapshot->reason, memory, bytes, snapshot->took_us / 1000);
}

static void
tell_ended(const Target *target, const char *what, gpointer data)
{
    command_say("%s: %s; see 'jescope last %d'", target_label(target), what, (int)target_own_pid(target));
}

static void
tell_failed(const Target *target, const GError *error, gpointer data)
{
    command_say("%s: no snapshot: %s", target_label(target), error->message);
}

static gboolean
is_stopped(const WatchOptions *watch, guint ms)
{
    GPollFD fd = {.fd = watch->stop, .events = G_IO_IN};
    return g_poll(&fd, 1, (gint)ms) > 0;
}

/* A service may still belong to root when it is found, and become its user later. */
static gboolean
may_be_next(const Watcher *watcher, const Process *process)
{
    return process->uids[0] == watcher->user || process_is_roots(process);
}

/* The process with the name and the user; NULL: none is running. Any user can have a set-user-ID program of root's take
 * the name, but not use jemalloc. */
static Target *
find_next(const Watcher *watcher)
{
    g_autoptr(GPtrArray) found = candidates_find(watcher->operand, CANDIDATES_JEMALLOC, NULL);
    for (guint i = found != NULL ? found->len : 0; i > 0; i--)
        if (!may_be_next(watcher, &((const Candidate *)found->pdata[i - 1])->process))
            g_ptr_array_remove_index(found, i - 1);
    if (found == NULL || found->len == 0)
        return NULL;
    const Candidate *chosen = candidates_choose(found, watcher->operand, NULL);
    g_autofree char *operand = chosen != NULL ? process_operand(&chosen->process) : NULL;
    return operand != NULL ? via_open(operand, NULL) : NULL;
}

/* The next process with a name; NULL: the watch ends. */
static Target *
open_next(const Watcher *watcher)
{
    while (!is_stopped(&watcher->options, LOOK_MS)) {
        Target *target = find_next(watcher);
        if (target != NULL)
            return target;
    }
    return NULL;
}

static gpointer
watch(gpointer data)
{
    Watcher *watcher = data;
    const gboolean one = process_operand_is_number(watcher->operand) || strchr(watcher->operand, ':') != NULL;
    Target *target = watcher->first;
    WatchResult result = WATCH_ENDED;
    while (target != NULL && result == WATCH_ENDED) {
        g_autoptr(GError) error = NULL;
        note_user(watcher, target);
        result = watch_run(target, &watcher->options, &error);
        if (result == WATCH_FAILED) {
            command_say("%s", error->message);
            g_atomic_int_set(&watcher->failed, TRUE);
        }
        g_clear_pointer(&target, target_free);
        if (result == WATCH_ENDED && !one)
            target = open_next(watcher);
    }
    g_atomic_int_set(&watcher->over, TRUE);
    return NULL;
}

static gboolean
all_over(Watcher *watchers, guint n)
{
    for (guint i = 0; i < n; i++)
        if (!g_atomic_int_get(&watchers[i].over))
            return FALSE;
    return TRUE;
}

typedef struct {
    Watcher *all;
    guint n;
} Watchers;

/* systemd-oomd waits for this time, set by its PrekillHookTimeoutSec=. */
static void
on_prekill(const char *group, gpointer data)
{
    const Watchers *watchers = data;
    g_autofree WatchCall **calls = g_new(WatchCall *, watchers->n);
    for (guint i = 0; i < watchers->n; i++)
        calls[i] = watchers->all[i].options.call;
    watch_calls_before_kill(calls, watchers->n, group, PREKILL_MS);
}

static int
watch_all(Watcher *watchers, guint n, GError **error)
{
    const guint64 one = 1;
    Interrupt interrupt;
    Watchers called = {watchers, n};
    if (!interrupt_catch(&interrupt, error)) /* threads inherit the blocked signals */
        return STATUS_FAILED;
    g_autoptr(PrekillHook) hook = NULL;
    if (arguments.oomd_hook != NULL) {
        hook = prekill_hook_new(arguments.oomd_hook, error);
        if (hook == NULL) {
            for (guint i = 0; i < n; i++)
                target_free(watchers[i].first);
            return STATUS_FAILED;
        }
        prekill_hook_begin(hook, on_prekill, &called);
    }
    for (guint i = 0; i < n; i++)
        watchers[i].thread = g_thread_new("watch", watch, &watchers[i]);
    while (!all_over(watchers, n) && !interrupt_wait(&interrupt, CHECK_MS))
        continue;
    if (write(watchers[0].options.stop, &one, sizeof(one)) != sizeof(one))
        command_say("cannot end the watches");
    gboolean failed = FALSE;
    for (guint i = 0; i < n; i++) {
        g_thread_join(watchers[i].thread);
        failed = failed || watchers[i].failed;
    }
    return failed ? STATUS_PARTIAL : STATUS_DONE;
}

static gboolean
read_quota(BlackboxQuota *quota, GError **error)
{
    *quota = blackbox_quota_default;
    if (arguments.size != NULL && !size_parse(arguments.size, "--max-size", &quota->bytes, error))
        return FALSE;
    if (arguments.snapshots != 0 && arguments.snapshots < BLACKBOX_SNAPSHOTS_MIN) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--keep must be at least %d: the first and the last snapshot",
                    BLACKBOX_SNAPSHOTS_MIN);
        return FALSE;
    }
    if (arguments.lives < 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--lives must be at least 1");
        return FALSE;
    }
    quota->snapshots = arguments.snapshots != 0 ? (guint)arguments.snapshots : quota->snapshots;
    quota->lives = arguments.lives != 0 ? (guint)arguments.lives : quota->lives;
    return TRUE;
}

static int
run(char **operands, GError **error)
{
    g_autofree char *directory =
        arguments.directory != NULL ? g_strdup(arguments.directory) : blackbox_default_directory();
    const guint n = g_strv_length(operands);
    g_autofree Watcher *watchers = g_new0(Watcher, n);
    WatchOptions watch_options = {
        .observer = {.directory = directory,
                     .profiling = arguments.unprofiled ? OBSERVER_LEAVES_PROFILING : OBSERVER_PROFILES},
        .tells = {tell_kept, tell_ended, tell_failed, NULL}};
    int status = STATUS_FAILED;
    guint opened = 0;
    if (!read_quota(&watch_options.observer.quota, error))
        return STATUS_FAILED;
    watch_options.stop = eventfd(0, EFD_CLOEXEC);
    for (; opened < n; opened++) {
        watchers[opened] = (Watcher){.options = watch_options, .operand = operands[opened], .user = (uid_t)-1};
        watchers[opened].options.tells.data = &watchers[opened];
        watchers[opened].options.call = watch_call_new();
        watchers[opened].first = via_open(operands[opened], error);
        if (watchers[opened].first == NULL)
            break;
    }
    if (opened == n)
        status = watch_all(watchers, n, error);
    else
        for (guint i = 0; i < opened; i++)
            target_free(watchers[i].first);
    for (guint i = 0; i < n; i++)
        watch_call_free(watchers[i].options.call);
    close(watch_options.stop);
    return status;
}

static const Example examples[] = {
    {"jescope watch redis-server", "keep a recent profile of redis-server, in case it is killed"},
    {0},
};

const Command cmd_watch = {
    .name = "watch",
    .synopsis = "TARGET...",
    .summary = "keep recent snapshots of targets, in case they are killed",
    .description =
        "Keeps the latest heap dumps of each TARGET on disk, each with the memory of that moment, so that a profile of "
        "the time before the end exists however the process ends: 'jescope last' shows it. A snapshot is taken at the "
        "beginning, each time the memory in use has grown by 5 % of the limit of its control group (without a limit: "
        "by 5 %, at least 64 MiB), shortly before the limit is reached at the present rate, and when the group is "
        "under memory pressure. Dumping takes at most a tenth of the target's time, half of it near the limit. Dumps "
        "are charged to jescope, which should not run in the target's control group.\n\n"
        "Profiling is enabled during the watch, unless --no-profiling is given; then the earlier state is restored. "
        "When the process ends, the cause is recorded: the exit status, the signal, or the kernel's OOM killer. If "
        "TARGET is a name, the next process of that name and user is watched then; with pids, watch ends after the "
        "last process.\n\n"
        "With --oomd-hook, each process of a control group that systemd-oomd (260 or later) is about to kill gets a "
        "last "
        "snapshot: SOCKET is a name in /run/systemd/oomd.prekill.hook, and systemd-oomd waits for "
        "PrekillHookTimeoutSec= of oomd.conf(5). The kernel's OOM killer does not wait.\n\n"
        "The directory is --directory, else $JESCOPE_BLACKBOX, else $XDG_STATE_HOME/jescope/blackbox. Files appear "
        "when they are complete, and older ones are removed after that.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .stays = TRUE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
