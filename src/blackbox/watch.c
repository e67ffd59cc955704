/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/watch.h"

#include "blackbox/describe.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
    FAILURES_US = 60000000, /* minimum interval between reports of snapshots that fail */
};

typedef struct {
    Target *target;
    const WatchOptions *options;
    BlackboxObserver *observer;
    StatsLive *live;  /* NULL: no statistics */
    gint64 failed_us; /* when a failure was last reported */
} Watch;

static void
watch_clear(Watch *watch)
{
    observer_free(watch->observer);
    g_clear_pointer(&watch->live, stats_live_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Watch, watch_clear)

static void
tell_failure(Watch *watch, const GError *error)
{
    const gint64 now = g_get_monotonic_time();
    if (watch->failed_us != 0 && now - watch->failed_us < FAILURES_US)
        return;
    watch->failed_us = now;
    if (watch->options->tells.failed != NULL)
        watch->options->tells.failed(watch->target, error, watch->options->tells.data);
}

static void
take_snapshot(Watch *watch, PacerReason reason)
{
    g_autoptr(GError) why_not = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(BlackboxSnapshot) snapshot = observer_begin(watch->observer, reason);
    int dump = observer_dump(watch->observer, snapshot, watch->target, watch->live, &why_not);
    if (g_error_matches(why_not, TARGET_ERROR, OUTCOME_GONE))
        return;
    if (dump < 0)
        tell_failure(watch, why_not);
    if (!observer_keep(watch->observer, snapshot, dump, why_not, &error))
        tell_failure(watch, error);
    else if (watch->options->tells.kept != NULL)
        watch->options->tells.kept(watch->target, snapshot, watch->options->tells.data);
    if (dump >= 0)
        close(dump);
}

static void
answer_call(Watch *watch)
{
    WatchCall *call = watch->options->call;
    if (call == NULL || !watch_call_take(call))
        return;
    take_snapshot(watch, PACER_PREKILL);
    watch_call_done(call);
}

static void
note_end(Watch *watch)
{
    g_autoptr(GError) error = NULL;
    BlackboxEnd end;
    if (!observer_end(watch->observer, &end, &error))
        tell_failure(watch, error);
    g_autofree char *what = blackbox_describe_end(&end, observer_profile_us(watch->observer));
    if (watch->options->tells.ended != NULL)
        watch->options->tells.ended(watch->target, what, watch->options->tells.data);
}

/* Waits until the next reading is due or a snapshot is requested. TRUE if the process has ended or the watch should
 * stop. */
static gboolean
wait_until_due(const Watch *watch, gboolean *stopped)
{
    struct pollfd fds[] = {
        {.fd = observer_pidfd(watch->observer), .events = POLLIN},
        {.fd = watch->options->stop, .events = POLLIN},
        {.fd = watch->options->call != NULL ? watch_call_wake(watch->options->call) : -1, .events = POLLIN}};
    const gint64 us = observer_tick_us(watch->observer);
    const struct timespec time = {.tv_sec = us / G_USEC_PER_SEC, .tv_nsec = us % G_USEC_PER_SEC * 1000};
    if (ppoll(fds, G_N_ELEMENTS(fds), &time, NULL) <= 0 || (fds[0].revents | fds[1].revents) == 0)
        return FALSE;
    *stopped = fds[0].revents == 0;
    return TRUE;
}

static gboolean
begin(Watch *watch, GError **error)
{
    Process process = *target_process(watch->target);
    if (process.pid == 0) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "%s is not a process of this machine",
                    target_label(watch->target));
        return FALSE;
    }
    if (!process_read_again(&process))
        return target_set_changed(target_label(watch->target), ESRCH, error);
    watch->observer = observer_new(&process, &watch->options->observer, error);
    watch->live = stats_live_new(watch->target, STATS_LIVE_FIGURES, NULL);
    return watch->observer != NULL;
}

WatchResult
watch_run(Target *target, const WatchOptions *options, GError **error)
{
    g_auto(Watch) watch = {.target = target, .options = options};
    gboolean stopped = FALSE;
    if (!begin(&watch, error))
        return WATCH_FAILED;
    if (options->call != NULL)
        watch_call_answers_for(options->call, target_pid(target));
    do {
        const PacerReason reason = observer_read(watch.observer);
        observer_tend_profiling(watch.observer, target);
        if (reason != PACER_NOT_YET)
            take_snapshot(&watch, reason);
        answer_call(&watch);
    } while (!wait_until_due(&watch, &stopped));
    if (options->call != NULL)
        watch_call_answers_for(options->call, 0);
    if (!stopped)
        note_end(&watch);
    else
        observer_release_profiling(watch.observer, target);
    return stopped ? WATCH_STOPPED : WATCH_ENDED;
}
