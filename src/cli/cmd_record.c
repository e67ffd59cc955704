/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    /* If jescope is killed, profiling goes on for no longer than a lease; it is renewed well before that. */
    LEASE_MS = 10000,
    RENEW_MS = 2500,
    PROGRESS_MS = 200,
    PROGRESS_FROM_MS = 500, /* shorter recordings show none */
    HEADER_MAX = 512,       /* bytes at the beginning of a dump that hold its totals */
};

typedef struct {
    Target *target;
    guint64 duration_ms;
    gint64 start; /* g_get_monotonic_time() */
    WireLease lease;
    Interrupt interrupt; /* what ends the recording early */
    gboolean progress;
} Recording;

static char *duration_text;
static char *path;

static const GOptionEntry options[] = {
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration_text,
     .description = "how long to record (needed)",
     .arg_description = "DURATION"},
    {.long_name = "output",
     .short_name = 'o',
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &path,
     .description = "write to this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    VIA_OPTION,
    {0},
};

static guint64
elapsed_ms(const Recording *recording)
{
    return (guint64)(g_get_monotonic_time() - recording->start) / 1000;
}

static gboolean
lease_for(Recording *recording, WireLeaseAction action, GError **error)
{
    guint64 passed = elapsed_ms(recording);
    /* A margin for the dump's way, so that it is we who end a recording that is not cut short. */
    guint64 left = (recording->duration_ms > passed ? recording->duration_ms - passed : 0) + RENEW_MS;
    LeaseRequest request = {
        .action = action, .id = recording->lease.id, .duration_ms = MIN(left, LEASE_MS), .active = TRUE};
    return target_lease(recording->target, &request, &recording->lease, error);
}

static void
show_progress(const Recording *recording)
{
    if (!recording->progress)
        return;
    g_autofree char *passed = duration_format(elapsed_ms(recording) / 1000 * 1000);
    g_autofree char *whole = duration_format(recording->duration_ms);
    fprintf(stderr, "\r\033[Krecording %s: %s of %s, Ctrl-C ends it", target_label(recording->target), passed, whole);
}

static void
clear_progress(const Recording *recording)
{
    if (recording->progress)
        fputs("\r\033[K", stderr);
}

/* Until the time is over or a signal comes; fails when the target ends or somebody else takes the lease away. */
static gboolean
wait_for_end(Recording *recording, GError **error)
{
    guint64 renewed = 0;
    for (;;) {
        guint64 passed = elapsed_ms(recording);
        if (passed >= recording->duration_ms)
            return TRUE;
        if (passed - renewed >= RENEW_MS) {
            renewed = passed;
            if (!lease_for(recording, WIRE_LEASE_RENEW, error))
                return FALSE;
        }
        show_progress(recording);
        if (interrupt_wait(&recording->interrupt, MIN((guint64)PROGRESS_MS, recording->duration_ms - passed)))
            return TRUE;
    }
}

/* Takes the lease, waits, gives it back. */
static gboolean
record(Recording *recording, GError **error)
{
    recording->start = g_get_monotonic_time();
    if (!state_check_unleased(recording->target, error) || !lease_for(recording, WIRE_LEASE_TAKE, error))
        return FALSE;
    via_warn_of_kill(recording->target);
    gboolean waited = wait_for_end(recording, error);
    clear_progress(recording);
    if (!waited) {
        g_autofree char *passed = duration_format(elapsed_ms(recording));
        g_prefix_error(error, "the recording broke off after %s: ", passed);
        return FALSE;
    }
    LeaseRequest release = {.action = WIRE_LEASE_RELEASE, .id = recording->lease.id};
    WireLease none;
    return target_lease(recording->target, &release, &none, error);
}

/* The second line of a dump, "  t*: OBJECTS: BYTES [OBJECTS: BYTES]", holds its totals (jemalloc 4.0 and later). */
static gboolean
dump_is_empty(int fd)
{
    char header[HEADER_MAX + 1];
    ssize_t length = pread(fd, header, HEADER_MAX, 0);
    header[MAX(length, 0)] = '\0';
    const char *totals = strstr(header, "t*: ");
    guint64 objects;
    guint64 accumulated;
    return totals != NULL &&
           sscanf(totals, "t*: %" G_GUINT64_FORMAT ": %*u [%" G_GUINT64_FORMAT ":", &objects, &accumulated) == 2 &&
           objects == 0 && accumulated == 0;
}

/* What was live at the end is nothing; the usual reasons, from the most certain to the most probable. */
static void
explain_empty(Recording *recording, guint64 recorded_ms)
{
    ControlValue threads = {.value = 1};
    ControlValue lg = {.value = 0};
    g_autofree char *duration = duration_format(recorded_ms);
    target_read(recording->target, "prof.thread_active_init", WIRE_TYPE_BOOL, &threads, NULL);
    gboolean known = target_read(recording->target, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, NULL) && lg.value < 64;
    if (threads.value == 0) {
        fprintf(
            stderr,
            "jescope: nothing was sampled: prof_thread_active_init:false keeps the threads of %s unsampled; start it "
            "without that\n",
            target_label(recording->target));
        return;
    }
    g_autofree char *period = known ? size_format(G_GUINT64_CONSTANT(1) << lg.value) : g_strdup("one sampling period");
    fprintf(stderr,
            "jescope: nothing was sampled in %s that still lives: %s allocated little (samples are taken about every "
            "%s) or "
            "freed it again; record for longer, or sample more often with 'jescope enable --sample'\n",
            duration, target_label(recording->target), period);
}

static gboolean
dump(Recording *recording, Output *output, GError **error)
{
    guint64 recorded_ms = MIN(elapsed_ms(recording), recording->duration_ms);
    int fd = target_dump(recording->target, error);
    if (fd < 0)
        return FALSE;
    if (dump_is_empty(fd))
        explain_empty(recording, recorded_ms);
    gboolean written = output_copy(output, fd, error) && output_commit(output, error);
    close(fd);
    return written;
}

static int
run_recording(Recording *recording, GError **error)
{
    if (path == NULL)
        path = output_dump_name(target_name(recording->target), (int)target_pid(recording->target));
    g_autoptr(Output) output = output_open(path, error);
    if (output == NULL || !interrupt_catch(&recording->interrupt, error))
        return STATUS_FAILED;
    gboolean recorded = record(recording, error);
    /* The earlier state is back; who is in a hurry may now end jescope as usual. */
    if (recorded)
        interrupt_release(&recording->interrupt);
    if (!recorded || !dump(recording, output, error))
        return STATUS_FAILED;
    if (strcmp(path, "-") != 0)
        puts(path);
    return STATUS_DONE;
}

static int
run(char **operands, GError **error)
{
    Recording recording = {0};
    if (duration_text == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "record: --for DURATION is missing; write e.g. --for 30s");
        return STATUS_USAGE;
    }
    if (!duration_parse(duration_text, "--for", &recording.duration_ms, error))
        return STATUS_USAGE;
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    recording.target = target;
    recording.progress = isatty(STDERR_FILENO) && recording.duration_ms >= PROGRESS_FROM_MS;
    return run_recording(&recording, error);
}

const Command cmd_record = {
    .name = "record",
    .synopsis = "TARGET",
    .summary = "profile a target for some time, then dump",
    .description =
        "Switches heap profiling in TARGET on, waits, restores the earlier state, writes a heap dump and prints the "
        "name of its file, by default NAME.PID.YYYYmmddTHHMMSS.heap. Ctrl-C, SIGTERM and SIGHUP shorten the "
        "recording; the dump is written all the same. If jescope is killed, "
        "the agent inside TARGET restores the earlier state by itself within ten seconds; where there is no agent, "
        "nobody "
        "does, and 'kill -9' of jescope leaves profiling on.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
