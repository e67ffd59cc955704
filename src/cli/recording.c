/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include "cli/command.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"
#include "confine/rights.h"
#include "confine/target-files.h"
#include "source/capture.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEEP_FIRST_MS = 1000,
    KEEP_AT_LEAST_EVERY_MS = 300000,
    KEEP_COST = 50,   /* minimum time between intermediate dumps, as a multiple of the last one's duration */
    HEADER_MAX = 512, /* bytes at the beginning of a dump that hold its totals */
};

static guint64
now_ms(void)
{
    return (guint64)g_get_monotonic_time() / 1000;
}

guint64
recording_ms(const Recording *recording)
{
    return now_ms() - recording->recorder.began_ms;
}

/* LEFT_MS: RECORDER_WITHOUT_END if that is not known. */
static gboolean
lease_for(Recording *recording, WireLeaseAction action, guint64 left_ms, GError **error)
{
    Recorder *recorder = &recording->recorder;
    const guint64 now = now_ms();
    recorder->renewed_ms = now;
    recorder->ends_ms = left_ms < RECORDER_WITHOUT_END - now ? now + left_ms : RECORDER_WITHOUT_END;
    const WireLeaseRequest request = recorder_request(recorder, action, now);
    if (!target_lease(recording->target, &request, &recording->lease, error))
        return FALSE;
    recorder->lease = recording->lease.id;
    return TRUE;
}

static gboolean
read_lg(Target *target, const char *control, guint64 *lg, GError **error)
{
    WireCtlReply value;
    if (!target_read(target, control, WIRE_TYPE_SIZE, &value, error))
        return FALSE;
    *lg = value.value;
    return TRUE;
}

/* Not an error, but noted: the samples have a different period, which another client has set. */
static void
tell_other_period(const Recording *recording)
{
    guint64 now, start;
    if (!read_lg(recording->target, "prof.lg_sample", &now, NULL) ||
        !read_lg(recording->target, "opt.lg_prof_sample", &start, NULL) || now == start || now >= 64 || start >= 64)
        return;
    g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << now);
    g_autofree char *first = size_format(G_GUINT64_CONSTANT(1) << start);
    command_say("the sampling period of %s is %s, not the %s it was started with; 'jescope disable %s' restores it, "
                "--sample chooses another",
                target_label(recording->target), period, first, target_operand(recording->target));
}

/* Whether the lease sets another period, whose restoration at the end discards the samples. */
static gboolean
changes_period(const Recording *recording)
{
    return recording->lease.period != 0 && recording->lease.period != recording->recorder.period;
}

Recording *
recording_begin(Target *target, unsigned lg, const SamplerChoice *choice, GError **error)
{
    g_autoptr(Recording) recording = g_new0(Recording, 1);
    WireHelloReply hello;
    *recording = (Recording){.target = target, .choice = *choice, .kept = -1, .next_keep_ms = KEEP_FIRST_MS};
    recording->recorder.began_ms = now_ms();
    if (target_via(target) != TARGET_VIA_ATTACH)
        recording->recorder.sampler = choice->sampler;
    recording->recorder.period = lg != RECORDING_PERIOD_AS_IT_IS ? (guint8)(lg + 1) : 0;
    if (!state_check_unleased(target, error) || !sampler_prepare(target, choice, error) ||
        !target_hello(target, &hello, error))
        return NULL;
    recording->start_time = hello.start_time;
    recording->owner = rights_lesser(target_user(target), target_files_user_of(target_pid(target)));
    if (lg == RECORDING_PERIOD_AS_IT_IS)
        tell_other_period(recording);
    guint64 now_us = (guint64)g_get_real_time();
    if (!lease_for(recording, WIRE_LEASE_TAKE, RECORDER_WITHOUT_END, error))
        return NULL;
    recording->lease_id = recording->lease.id;
    if ((hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0 || changes_period(recording))
        recording->since_us = now_us;
    return g_steal_pointer(&recording);
}

static const Recording *
find_parent(const GPtrArray *parents, guint64 lease)
{
    for (guint i = 0; i < parents->len; i++) {
        const Recording *parent = parents->pdata[i];
        if (lease != 0 && lease == parent->lease_id)
            return parent;
    }
    return NULL;
}

/* The target is asked once, whatever the number of parents: any user may have a process that answers late. */
Recording *
recording_adopt(Target *target, const GPtrArray *parents)
{
    g_autoptr(Recording) recording = g_new0(Recording, 1);
    WireHelloReply hello;
    recording->kept = -1;
    const Recording *parent =
        parents->len > 0 && target_hello(target, &hello, NULL) ? find_parent(parents, hello.lease.id) : NULL;
    if (parent == NULL)
        return NULL;
    /* Of the parent, only what does not change. */
    const Recorder recorder = {.lease = parent->lease_id,
                               .began_ms = parent->recorder.began_ms,
                               .period = parent->recorder.period,
                               .sampler = parent->recorder.sampler};
    *recording = (Recording){.target = target,
                             .content = parent->content,
                             .recorder = recorder,
                             .choice = parent->choice,
                             .lease_id = parent->lease_id,
                             .since_us = parent->since_us,
                             .start_time = hello.start_time,
                             .owner = rights_lesser(target_user(target), target_files_user_of(target_pid(target))),
                             .room = parent->room,
                             .kept = -1,
                             .next_keep_ms = recording_ms(parent) + KEEP_FIRST_MS};
    if (lease_for(recording, WIRE_LEASE_RENEW, RECORDER_WITHOUT_END, NULL))
        return g_steal_pointer(&recording);
    recording->target = NULL;
    return NULL;
}

static void
drop_kept(Recording *recording)
{
    if (recording->kept < 0)
        return;
    close(recording->kept);
    recording->kept = -1;
    if (recording->room != NULL) {
        recording->room->bytes -= recording->kept_bytes;
        recording->room->dumps--;
    }
    recording->kept_bytes = 0;
}

/* It remains counted. */
static int
steal_kept(Recording *recording)
{
    const int dump = recording->kept;
    recording->kept = -1;
    recording->kept_bytes = 0;
    return dump;
}

/* Why a dump of BYTES has no room in place of the kept one, to be freed; NULL: it has. */
static char *
room_refusal(const Recording *recording, guint64 bytes)
{
    const RecordingRoom *room = recording->room;
    if (room == NULL)
        return NULL;
    if (recording->kept < 0 && room->dumps >= room->dumps_most)
        return g_strdup_printf("%u dumps are kept, the most for this limit of open files (ulimit -n); write them "
                               "earlier with --every",
                               room->dumps);
    if (room->bytes - recording->kept_bytes + bytes <= room->bytes_most)
        return NULL;
    g_autofree char *most = g_format_size_full(room->bytes_most, G_FORMAT_SIZE_IEC_UNITS);
    return g_strdup_printf("with the dump of %s, the dumps of this recording would have more than %s together; raise "
                           "the limit with --max-output, or write them earlier with --every",
                           target_label(recording->target), most);
}

/* Takes over DUMP, also on failure: there is no room for it. */
static gboolean
replace_kept(Recording *recording, int dump, GError **error)
{
    struct stat st = {0};
    fstat(dump, &st);
    g_autofree char *refusal = room_refusal(recording, (guint64)st.st_size);
    if (refusal != NULL) {
        close(dump);
        g_set_error_literal(error, TARGET_ERROR, OUTCOME_TOO_LARGE, refusal);
        if (recording->room->refusal == NULL)
            recording->room->refusal = g_steal_pointer(&refusal);
        return FALSE;
    }
    drop_kept(recording);
    recording->kept = dump;
    recording->kept_bytes = (guint64)st.st_size;
    if (recording->room != NULL) {
        recording->room->bytes += recording->kept_bytes;
        recording->room->dumps++;
    }
    return TRUE;
}

static void
plan_next_keep(Recording *recording, guint64 took_ms)
{
    recording->kept_ms = recording_ms(recording);
    guint64 pause = MAX(MIN(recording->kept_ms, (guint64)KEEP_AT_LEAST_EVERY_MS), took_ms * KEEP_COST);
    recording->next_keep_ms = recording->kept_ms + pause;
}

/* A failed dump does not end the recording. */
static gboolean
keep_dump(Recording *recording, GError **error)
{
    g_autoptr(GError) cause = NULL;
    guint64 before = recording_ms(recording);
    /* A process of root's may have become another user's. */
    recording->owner = rights_lesser(recording->owner, target_files_user_of(target_pid(recording->target)));
    int dump = recording_dump(recording, RECORDING_GOES_ON, &cause);
    if (dump >= 0 && replace_kept(recording, dump, &cause)) {
        plan_next_keep(recording, recording_ms(recording) - before);
        return TRUE;
    }
    recording->next_keep_ms = before * 2;
    if (!g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

gboolean
recording_renew(Recording *recording, guint64 left_ms, GError **error)
{
    return now_ms() - recording->recorder.renewed_ms < RECORDER_RENEW_MS ||
           lease_for(recording, WIRE_LEASE_RENEW, left_ms, error);
}

gboolean
recording_keep(Recording *recording, guint64 left_ms, GError **error)
{
    /* A dump immediately before the last one would be useless. */
    return recording_ms(recording) < recording->next_keep_ms || left_ms < recording->next_keep_ms / 2 ||
           keep_dump(recording, error);
}

gboolean
recording_tend(Recording *recording, guint64 left_ms, GError **error)
{
    return target_alive(recording->target, error) && recording_renew(recording, left_ms, error) &&
           recording_keep(recording, left_ms, error);
}

int
recording_dump(const Recording *recording, RecordingDump last, GError **error)
{
    gboolean switched_off = last == RECORDING_ENDS && !recording->lease.restores;
    CaptureWindow window = {.since = recording->since_us, .until = switched_off ? (guint64)g_get_real_time() : 0};
    return capture_dump(recording->target, recording->since_us != 0 ? &window : NULL, recording->content, error);
}

int
recording_take_dump(Recording *recording, RecordingDump last, GError **error)
{
    const int dump = recording_dump(recording, last, error);
    return dump >= 0 && replace_kept(recording, dump, error) ? steal_kept(recording) : -1;
}

/* Whether TARGET still has the samples: the end of a lease may have discarded them. */
static gboolean
has_samples(const Recording *recording)
{
    WireHelloReply hello;
    return target_alive(recording->target, NULL) &&
           (!changes_period(recording) ||
            (target_hello(recording->target, &hello, NULL) && hello.lease.id == recording->lease.id));
}

int
recording_take_kept(Recording *recording, guint64 *after_ms)
{
    *after_ms = recording->kept_ms;
    return steal_kept(recording);
}

int
recording_salvage(Recording *recording, guint64 *after_ms)
{
    guint64 now_ms = recording_ms(recording);
    int dump = has_samples(recording) ? recording_take_dump(recording, RECORDING_ENDS, NULL) : -1;
    if (dump < 0)
        return recording_take_kept(recording, after_ms);
    *after_ms = now_ms;
    if (changes_period(recording))
        recording_end(recording, NULL);
    return dump;
}

gboolean
recording_end(Recording *recording, GError **error)
{
    const WireLeaseRequest release = recorder_request(&recording->recorder, WIRE_LEASE_RELEASE, now_ms());
    WireLease none;
    return target_lease(recording->target, &release, &none, error);
}

gboolean
recording_leave_on(Recording *recording, GError **error)
{
    return target_write(recording->target, "prof.active", WIRE_TYPE_BOOL, TRUE, error);
}

void
recording_free(Recording *recording)
{
    if (recording == NULL)
        return;
    drop_kept(recording);
    g_clear_pointer(&recording->target, target_free);
    g_free(recording);
}

/* The second line of a dump, "  t*: OBJECTS: BYTES [OBJECTS: BYTES]", holds its totals (jemalloc 4.0 and later). */
gboolean
recording_is_empty(int dump)
{
    char header[HEADER_MAX + 1];
    ssize_t length = pread(dump, header, HEADER_MAX, 0);
    header[MAX(length, 0)] = '\0';
    const char *totals = strstr(header, "t*: ");
    guint64 objects;
    guint64 accumulated;
    return totals != NULL &&
           sscanf(totals, "t*: %" G_GUINT64_FORMAT ": %*u [%" G_GUINT64_FORMAT ":", &objects, &accumulated) == 2 &&
           objects == 0 && accumulated == 0;
}
