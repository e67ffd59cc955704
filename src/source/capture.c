/* SPDX-License-Identifier: Apache-2.0 */
#include "source/capture.h"

#include "profile/capture.h"
#include "stats/live.h"
#include "stats/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL,
    PAGE = 4096, /* if jemalloc does not report it */
};

static StatsSample *
take_sample(Target *target, StatsLiveParts parts)
{
    g_autoptr(StatsLive) live = stats_live_new(target, parts, NULL);
    StatsSample *sample = live != NULL ? stats_live_sample(live, NULL) : NULL;
    if (sample != NULL && target_pid(target) != 0)
        stats_read_process(sample->totals, target_process(target));
    if (sample != NULL && !target_check_unchanged(target, NULL))
        g_clear_pointer(&sample, stats_sample_unref);
    return sample;
}

char *
capture_notice(Target *target)
{
    /* The memory of the process outside jemalloc is only known on its own machine. */
    g_autoptr(StatsSample) sample =
        target_via(target) != TARGET_VIA_SERVER ? take_sample(target, STATS_LIVE_TOTALS) : NULL;
    return sample != NULL ? stats_outside_notice(sample->totals) : NULL;
}

static void
fill_memory(ProfileCapture *capture, const StatsSample *sample)
{
    StatsHeld parts;
    g_autofree char *notice = stats_outside_notice(sample->totals);
    uint64_t page = stats_values_or(sample->totals, STATS_PAGE, PAGE);
    if (!stats_values_get(sample->totals, STATS_ALLOCATED, &capture->allocated))
        return;
    stats_held_parts(sample, &parts);
    capture->flags |= CAPTURE_HAS_MEMORY | (notice != NULL ? CAPTURE_OTHER_HEAP : 0);
    capture->unheld = parts.cached + parts.internal;
    capture->large = stats_smallest_large(page, sample->version);
    capture->resident = stats_values_or(sample->totals, STATS_RESIDENT, 0);
    capture->outside = stats_values_or(sample->totals, STATS_OUTSIDE, 0);
}

static void
fill_start(ProfileCapture *capture, Target *target)
{
    WireCtlReply on;
    if (target_read(target, "opt.prof_active", WIRE_TYPE_BOOL, &on, NULL))
        capture->flags |= on.value != 0 ? CAPTURE_STARTED_ON : CAPTURE_STARTED_OFF;
}

/* Whether the last line of DUMP, which the target has written, has no end: it would take in what is appended. */
static gboolean
is_unfinished(int dump)
{
    struct stat st;
    char last;
    return fstat(dump, &st) == 0 && st.st_size > 0 && pread(dump, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* In place: a copy would take as much memory again. */
static gboolean
append(int dump, const char *line)
{
    return lseek(dump, 0, SEEK_END) >= 0 && write(dump, line, strlen(line)) == (ssize_t)strlen(line) &&
           lseek(dump, 0, SEEK_SET) == 0 && fcntl(dump, F_ADD_SEALS, SEALS) == 0;
}

static gboolean
append_all(int to, int from, const char *line)
{
    struct stat st;
    off_t at = 0;
    if (fstat(from, &st) != 0)
        return FALSE;
    while (at < st.st_size) {
        ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));
        if (n <= 0 && errno != EINTR)
            return FALSE;
    }
    return write(to, line, strlen(line)) == (ssize_t)strlen(line) && lseek(to, 0, SEEK_SET) == 0 &&
           fcntl(to, F_ADD_SEALS, SEALS) == 0;
}

static char *
format_classes(const StatsSample *sample)
{
    const StatsArena *merged = sample != NULL ? stats_sample_find(sample, STATS_ARENA_MERGED) : NULL;
    GString *lines = g_string_new(NULL);
    char line[CAPTURE_LINE_MAX];

    for (guint i = 0; merged != NULL && merged->bins != NULL && i < merged->bins->count; i++) {
        const StatsValues *row = stats_table_row(merged->bins, i);
        const ClassLine class = {.size = stats_values_or(row, STATS_BIN_SIZE, 0),
                                 .regions = stats_values_or(row, STATS_BIN_NREGS, 0),
                                 .slab = stats_values_or(row, STATS_BIN_SLAB_SIZE, 0),
                                 .slabs = stats_values_or(row, STATS_BIN_CURSLABS, 0),
                                 .live = stats_values_or(row, STATS_BIN_CURREGS, 0),
                                 .nonfull = stats_values_or(row, STATS_BIN_NONFULL, 0)};
        if (class.size != 0 && class.slabs != 0)
            g_string_append_len(lines, line, (gssize)class_line_write(&class, line));
    }
    return g_string_free(lines, FALSE);
}

/* Whether DUMP is text: what is appended to a compressed one would not be read as a part of it. */
static gboolean
is_text(int dump)
{
    static const char begin[] = "heap";
    char got[sizeof(begin) - 1];
    const ssize_t n = pread(dump, got, sizeof(got), 0);
    return n >= 0 && memcmp(got, begin, (size_t)n) == 0;
}

/* Takes ownership of DUMP. */
static int
describe(int dump, const ProfileCapture *capture, const StatsSample *sample, GError **error)
{
    g_autofree char *head = capture_format(capture);
    g_autofree char *classes = format_classes(sample);
    g_autofree char *line = g_strconcat(is_unfinished(dump) ? "\n" : "", head, classes, NULL);
    const gboolean in_place = (fcntl(dump, F_GETFL) & O_ACCMODE) == O_RDWR;
    if (in_place && append(dump, line))
        return dump;
    int described = in_place ? -1 : memfd_create("jescope-dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (described >= 0 && append_all(described, dump, line)) {
        close(dump);
        return described;
    }
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot keep the dump in memory: %s", g_strerror(errno));
    if (described >= 0)
        close(described);
    close(dump);
    return -1;
}

int
capture_dump(Target *target, const CaptureWindow *window, CaptureContent content, GError **error)
{
    WireHelloReply hello;
    ProfileCapture capture = {0};
    if (target_via(target) == TARGET_VIA_SERVER)
        return content == CAPTURE_NAMES ? target_dump_named(target, error) : target_dump(target, error);
    if (!target_hello(target, &hello, error))
        return -1;
    g_autoptr(StatsSample) sample = take_sample(target, STATS_LIVE_SLABS);
    int dump = target_dump_open(target, error);
    if (dump < 0)
        return -1;
    if (!is_text(dump)) {
        close(dump);
        g_set_error(
            error, TARGET_ERROR, OUTCOME_PROTOCOL,
            "the dump of %s is not a heap profile of jemalloc; 'jescope status' shows whether its agent is jescope's",
            target_label(target));
        return -1;
    }
    capture.time = (guint64)g_get_real_time();
    capture.pid = (guint64)target_pid(target);
    capture.since = window != NULL ? window->since : 0;
    capture.until = window != NULL ? window->until : 0;
    capture_line_take_hello(&capture, &hello);
    if (target_start_time(target) != 0) /* the agent may say another */
        capture.start = target_start_time(target);
    fill_start(&capture, target);
    if (sample != NULL)
        fill_memory(&capture, sample);
    if (!target_check_unchanged(target, error)) {
        close(dump);
        return -1;
    }
    return describe(dump, &capture, sample, error);
}
