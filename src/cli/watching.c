/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watching.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "cli/vanishing.h"

#include "source/capture.h"
#include "stats/ledger-take.h"
#include "stats/live.h"
#include "target/process-memory.h"
#include "target/process.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOMENTS = 30, /* of a watch */
    LEAST_INTERVAL_MS = 250,
    MOST_INTERVAL_MS = 60000,
    DUMPS = 12,             /* of a watch, including the one at its end */
    LOOK_MS = 5,            /* interval of reading the memory map: plugins are used for less than a millisecond */
    LOOK_SHARE = 20,        /* 1/LOOK_SHARE of the time is the maximum for reading it */
    DEAREST_DUMP = 40,      /* a dump that takes longer than this part of the watch is the last one before the end */
    ARENA_US = 5000,        /* to read the classes of one arena, on a busy machine */
    LATE_US = 1000000,      /* acceptable delay of the end */
    LATEST_US = 2000000,    /* what takes longer than this after the end is left out, but for dumps */
    READ_BYTES_PER_US = 25, /* of dumps, for finding their functions: 100 000 stacks, about 46 MB, take two seconds */
    PROFILE_PARTS = 3, /* two of these parts of the watch are for jemalloc's profiler if jescope's sampler counts births
                          in the last */
    END_PARTS = 5,     /* of the watch: two parts at most are for its end */
};

/* A watch in progress. */
typedef struct {
    Watching *watching;
    Target *target; /* of the recording, if there is one */
    Recording *recording;
    StatsLive *live;
    Vanishing *code;
    Interrupt interrupt;
    Progress *progress;
    gint64 begin_us, end_us;
    gint64 ledger_us, dump_us; /* times of the first ones, and time to read a dump */
    gint64 read_us;            /* estimated time to read the dumps taken so far */
    guint dumps;               /* planned */
    gint64 births_us;          /* when jescope's sampler starts, beside jemalloc's profiler; 0: never */
    gboolean sampled;
} Watch;

static void
close_all(GArray **dumps)
{
    for (guint i = 0; *dumps != NULL && i < (*dumps)->len; i++)
        close(g_array_index(*dumps, int, i));
    g_clear_pointer(dumps, g_array_unref);
}

void
watching_clear(Watching *watching)
{
    doctor_evidence_clear(&watching->evidence);
    close_all(&watching->dumps);
    close_all(&watching->births);
    g_clear_pointer(&watching->vanished, g_ptr_array_unref);
    if (watching->statistics > 0)
        close(watching->statistics);
}

static gdouble
seconds_of(const Watch *watch)
{
    return (gdouble)(g_get_monotonic_time() - watch->begin_us) / G_USEC_PER_SEC;
}

/* The number after WORD in /proc/PID/status, in its unit; G_MAXUINT64: there is none. */
static guint64
status_number(const char *status, const char *word)
{
    const char *at = status != NULL ? strstr(status, word) : NULL;

    return at != NULL ? g_ascii_strtoull(at + strlen(word), NULL, 10) : G_MAXUINT64;
}

static guint64
kibibytes(guint64 number)
{
    return number == G_MAXUINT64 ? number : number * 1024;
}

/* proc_pid_fd(5): since Linux 6.2 the size of the directory is their number; before, its names are counted. Unknown
 * beyond DESCRIPTORS_MAX, since each is a lookup in the kernel. */
static guint64
count_descriptors(pid_t pid)
{
    enum { DESCRIPTORS_MAX = 1 << 18 };
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)pid);
    struct stat status;

    if (stat(path, &status) == 0 && status.st_size > 0)
        return (guint64)status.st_size;

    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    guint64 n = 0;

    while (directory != NULL && n <= DESCRIPTORS_MAX && g_dir_read_name(directory) != NULL)
        n++;
    return directory != NULL && n <= DESCRIPTORS_MAX ? n : G_MAXUINT64;
}

/* proc(5): utime and stime, the 12th and 13th word after the name in parentheses. */
static guint64
processor_ms(pid_t pid)
{
    enum { USER_TIME = 11, SYSTEM_TIME = 12 };
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    g_autofree char *text = NULL;
    const char *rest = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    g_auto(GStrv) words = g_strsplit(rest != NULL ? rest + 1 : "", " ", SYSTEM_TIME + 3);

    if (g_strv_length(words) <= SYSTEM_TIME + 1)
        return G_MAXUINT64;
    return (g_ascii_strtoull(words[USER_TIME + 1], NULL, 10) + g_ascii_strtoull(words[SYSTEM_TIME + 1], NULL, 10)) *
           1000 / (guint64)sysconf(_SC_CLK_TCK);
}

static void
look_at_process(DoctorMoment *moment, pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *status = NULL;

    if (pid != 0)
        g_file_get_contents(path, &status, NULL, NULL);
    moment->rss = kibibytes(status_number(status, "\nVmRSS:"));
    moment->peak = kibibytes(status_number(status, "\nVmHWM:"));
    moment->threads = status_number(status, "\nThreads:");
    moment->descriptors = count_descriptors(pid);
    moment->processor_ms = processor_ms(pid);
}

static void
limit_waits(const Watch *watch)
{
    target_wait_until(watch->target, MAX(watch->end_us, g_get_monotonic_time()) + LATEST_US);
}

static gboolean
take_moment(Watch *watch, GError **error)
{
    DoctorMoment moment = {.seconds = seconds_of(watch)};

    moment.sample = stats_live_sample(watch->live, error);
    if (moment.sample == NULL)
        return FALSE;
    look_at_process(&moment, target_pid(watch->target));
    g_array_append_val(watch->watching->evidence.moments, moment);
    return target_check_unchanged(watch->target, error);
}

/* Unreadable values stay unknown. */
static const Ledger *
read_ledger(Watch *watch, Ledger *ledger)
{
    g_auto(LedgerTaken) taken = {0};

    gint64 before = g_get_monotonic_time();
    if (target_pid(watch->target) == 0 || !ledger_take(target_process(watch->target), watch->target, &taken, NULL))
        return NULL;
    watch->ledger_us = MAX(watch->ledger_us, g_get_monotonic_time() - before);
    *ledger = taken.ledger;
    return ledger;
}

/* Whether the time of jescope's sampler, beside jemalloc's profiler, has begun. */
static gboolean
counts_births(const Watch *watch)
{
    return watch->births_us != 0 && watch->recording != NULL;
}

static gboolean
take_dump(Watch *watch, RecordingDump last, GError **error)
{
    gint64 before = g_get_monotonic_time();
    target_wait_until(watch->target, 0);
    int dump = watch->recording != NULL ? recording_dump(watch->recording, last, error)
                                        : capture_dump(watch->target, NULL, CAPTURE_NAMES, error);

    struct stat status;

    limit_waits(watch);
    if (dump < 0)
        return FALSE;
    gint64 read_us = fstat(dump, &status) == 0 ? (gint64)status.st_size / READ_BYTES_PER_US : 0;
    gint64 cost_us = g_get_monotonic_time() - before + read_us;
    watch->read_us += read_us;
    g_array_append_val(counts_births(watch) ? watch->watching->births : watch->watching->dumps, dump);
    if (counts_births(watch))
        return TRUE;
    watch->dump_us = MAX(watch->dump_us, cost_us);
    if (cost_us * DEAREST_DUMP > watch->end_us - watch->begin_us)
        watch->dumps = watch->watching->dumps->len + 1;
    return TRUE;
}

/* The n-th planned dump is due after n intervals; a sampler that has just started has no samples. */
static gboolean
dump_if_due(Watch *watch, GError **error)
{
    guint taken = watch->watching->dumps->len;
    gboolean young = watch->watching->since_us != 0;
    gint64 end_us = watch->births_us != 0 ? watch->births_us : watch->end_us;
    gint64 interval = (end_us - watch->begin_us) / (watch->dumps - (young ? 0 : 1));

    if (!watch->sampled || counts_births(watch) || taken + 1 >= watch->dumps ||
        g_get_monotonic_time() < watch->begin_us + interval * (gint64)(taken + (young ? 1 : 0)))
        return TRUE;
    return take_dump(watch, RECORDING_GOES_ON, error);
}

/* Code may be loaded for a short time only. TRUE: a signal was received. */
static gboolean
wait_for(Watch *watch, guint64 ms)
{
    gint64 until = g_get_monotonic_time() + (gint64)ms * 1000, pause_ms = LOOK_MS;

    for (;;) {
        gint64 left_ms = (until - g_get_monotonic_time()) / 1000;
        if (left_ms <= 0)
            return FALSE;
        if (interrupt_wait(&watch->interrupt, (guint64)MIN(left_ms, pause_ms)))
            return TRUE;
        gint64 before = g_get_monotonic_time();
        vanishing_look(watch->code);
        pause_ms = MAX((g_get_monotonic_time() - before) * LOOK_SHARE / 1000, (gint64)LOOK_MS);
    }
}

/* The estimated time to read the classes of every arena. */
static gint64
arenas_us(const Watch *watch)
{
    const GArray *moments = watch->watching->evidence.moments;
    const DoctorMoment *last = &g_array_index(moments, DoctorMoment, moments->len - 1);

    return ARENA_US * (gint64)stats_values_or(last->sample->totals, STATS_ARENAS, 0);
}

/* When the final readings begin, so that they do not end too late: estimated from the initial ones. */
static gint64
last_look_us(const Watch *watch)
{
    gint64 wanted =
        watch->ledger_us + (watch->sampled ? watch->dump_us : 0) + watch->read_us + arenas_us(watch) - LATE_US;

    return watch->end_us - CLAMP(wanted, 0, (watch->end_us - watch->begin_us) * 2 / END_PARTS);
}

/* Takes the last dump of jemalloc's profiler at the end of its time, then starts jescope's sampler. */
static gboolean
begin_births_if_due(Watch *watch, GError **error)
{
    const SamplerChoice choice = {.sampler = WIRE_SAMPLER_JESCOPE};

    if (watch->births_us == 0 || counts_births(watch) || g_get_monotonic_time() < watch->births_us)
        return TRUE;
    if (!take_dump(watch, RECORDING_GOES_ON, error))
        return FALSE;
    watch->recording = recording_begin(watch->target, RECORDING_PERIOD_AS_IT_IS, &choice, error);
    if (watch->recording == NULL) {
        watch->target = NULL;
        return FALSE;
    }
    return take_dump(watch, RECORDING_GOES_ON, error);
}

/* Whether a moment is missing only because it would have come after the end. */
static gboolean
is_too_late(const Watch *watch, const GError *cause)
{
    return g_error_matches(cause, TARGET_ERROR, OUTCOME_SILENT) && g_get_monotonic_time() >= watch->end_us;
}

static gboolean
watch_on(Watch *watch, guint64 interval_ms, GError **error)
{
    g_autoptr(GError) cause = NULL;
    for (gint64 last_us = last_look_us(watch); g_get_monotonic_time() < last_us; last_us = last_look_us(watch)) {
        gint64 left_ms = (last_us - g_get_monotonic_time()) / 1000 + 1;
        if (wait_for(watch, (guint64)MIN((gint64)interval_ms, left_ms)))
            break;
        progress_share(watch->progress, (guint64)(g_get_monotonic_time() - watch->begin_us),
                       (guint64)(watch->end_us - watch->begin_us));
        if (watch->recording != NULL && !recording_tend(watch->recording, (guint64)left_ms, error))
            return FALSE;
        if (!take_moment(watch, &cause)) {
            if (is_too_late(watch, cause))
                return TRUE;
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        if (!dump_if_due(watch, error) || !begin_births_if_due(watch, error))
            return FALSE;
    }
    return TRUE;
}

/* Whether jescope's sampler can be used, and provides more than jemalloc's profiler. */
static gboolean
wants_births(const Watch *watch, const WireHelloReply *hello)
{
    WireCtlReply accumulates;

    return (hello->flags & WIRE_FLAG_SAMPLER_READY) != 0 && hello->lease.id == 0 &&
           target_via(watch->target) != TARGET_VIA_ATTACH &&
           !(target_read(watch->target, "opt.prof_accum", WIRE_TYPE_BOOL, &accumulates, NULL) &&
             accumulates.value != 0);
}

/* Whether profiling is possible, and on; --record switches it on. Otherwise the watch continues without it. */
static gboolean
prepare_sampling(Watch *watch, const WatchingChoice *choice, GError **error)
{
    enum { ANY = WIRE_FLAG_OPT_PROF | WIRE_FLAG_SAMPLER_SERVES | WIRE_FLAG_SAMPLER_READY };
    DoctorEvidence *evidence = &watch->watching->evidence;
    WireHelloReply hello;

    if (!target_hello(watch->target, &hello, error))
        return FALSE;
    watch->sampled = (hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    evidence->profile = watch->sampled             ? DOCTOR_PROFILE_WHOLE
                        : (hello.flags & ANY) != 0 ? DOCTOR_PROFILE_READY
                                                   : DOCTOR_PROFILE_NONE;
    SamplerChoice sampler = choice->sampler;
    watch->births_us = choice->record && watch->sampled && wants_births(watch, &hello) ? 1 : 0;
    if (evidence->profile != DOCTOR_PROFILE_READY || !choice->record)
        return TRUE;
    /* It counts births and deaths, as jemalloc's profiler does only with prof_accum. */
    if (sampler.sampler == WIRE_SAMPLER_AUTO && wants_births(watch, &hello))
        sampler.sampler = WIRE_SAMPLER_JESCOPE;
    watch->recording = recording_begin(watch->target, RECORDING_PERIOD_AS_IT_IS, &sampler, error);
    watch->sampled = watch->recording != NULL;
    if (watch->recording == NULL)
        watch->target = NULL;
    watch->watching->since_us = g_get_real_time();
    evidence->profile = DOCTOR_PROFILE_YOUNG;
    return watch->sampled;
}

/* Collects everything at the end. The classes of every arena come from jemalloc's own JSON, one call instead of
 * thousands of controls; without it the merged ones are used. */
static gboolean
finish(Watch *watch, GError **error)
{
    ProcessMemory memory;

    if (watch->sampled && !take_dump(watch, RECORDING_ENDS, error))
        return FALSE;
    vanishing_look(watch->code);
    watch->watching->vanished = vanishing_files(watch->code);
    if (watch->watching->vanished->len > 0)
        watch->watching->evidence.unloaded = watch->watching->vanished->pdata[0];
    for (guint i = 0; i < watch->watching->dumps->len; i++) {
        int *dump = &g_array_index(watch->watching->dumps, int, i);
        *dump = vanishing_complete(watch->code, *dump);
    }
    watch->watching->evidence.last = read_ledger(watch, &watch->watching->last);
    if (g_get_monotonic_time() + arenas_us(watch) <= watch->end_us + LATE_US * 3 / 2)
        watch->watching->statistics = target_stats(watch->target, "Jx", NULL);
    watch->watching->evidence.without_arenas = watch->watching->statistics <= 0;
    if (target_pid(watch->target) != 0) {
        guint64 started = target_start_time(watch->target);
        watch->watching->evidence.age =
            started != 0 ? (gdouble)(g_get_real_time() - process_started_us(started)) / G_USEC_PER_SEC : 0;
        process_memory_read("/proc", "/sys/fs/cgroup", target_process(watch->target), &memory);
        if (memory.group.max != G_MAXUINT64)
            watch->watching->evidence.limit = memory.group.max;
    }
    watch->watching->seconds = seconds_of(watch);
    return target_check_unchanged(watch->target, error);
}

static gboolean
run_watch(Watch *watch, const WatchingChoice *choice, GError **error)
{
    StatsLiveParts parts = STATS_LIVE_CLASSES;
    gint64 began_us = g_get_monotonic_time();
    guint64 interval = CLAMP(choice->ms / MOMENTS, (guint64)LEAST_INTERVAL_MS, (guint64)MOST_INTERVAL_MS);

    if (!interrupt_catch(&watch->interrupt, error) || !prepare_sampling(watch, choice, error))
        return FALSE;
    watch->code = vanishing_new(target_pid(watch->target));
    watch->live = stats_live_new(watch->target, parts, error);
    watch->begin_us = g_get_monotonic_time();
    watch->end_us = began_us + (gint64)choice->ms * 1000;
    if (watch->births_us != 0)
        watch->births_us = watch->begin_us + (watch->end_us - watch->begin_us) * (PROFILE_PARTS - 1) / PROFILE_PARTS;
    limit_waits(watch);
    if (watch->live == NULL || !take_moment(watch, error))
        return FALSE;
    watch->watching->evidence.first = read_ledger(watch, &watch->watching->first);
    if (!dump_if_due(watch, error))
        return FALSE;
    return watch_on(watch, interval, error) && finish(watch, error);
}

gboolean
watching_run(Watching *watching, Target *target, const WatchingChoice *choice, GError **error)
{
    Watch watch = {.watching = watching, .target = target, .dumps = DUMPS};
    g_autoptr(GError) restored = NULL;

    *watching = (Watching){.dumps = g_array_new(FALSE, FALSE, sizeof(int)),
                           .births = g_array_new(FALSE, FALSE, sizeof(int)),
                           .statistics = -1};
    doctor_evidence_init(&watching->evidence);
    watch.progress = progress_begin("watching %s", target_label(target));
    g_autofree char *label = g_strdup(target_label(target));
    gboolean fine = run_watch(&watch, choice, error);
    if (watch.target != NULL)
        target_wait_until(watch.target, 0);
    progress_end(g_steal_pointer(&watch.progress));
    interrupt_release(&watch.interrupt);
    if (watch.recording != NULL && !recording_end(watch.recording, &restored))
        command_say("%s: the earlier state of profiling could not be restored: %s", label, restored->message);
    g_clear_pointer(&watch.live, stats_live_free);
    g_clear_pointer(&watch.code, vanishing_free);
    if (watch.recording != NULL)
        recording_free(watch.recording);
    else
        g_clear_pointer(&watch.target, target_free);
    return fine;
}
