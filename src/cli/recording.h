/* SPDX-License-Identifier: Apache-2.0 */
/* One target that is being recorded: profiling is on while recording_tend() is called, then the earlier state is
 * restored. */
#ifndef JESCOPE_CLI_RECORDING_H
#define JESCOPE_CLI_RECORDING_H

#include "cli/sampling.h"
#include "source/capture.h"
#include "target/target.h"
#include "wire/recorder.h"

enum {
    RECORDING_PERIOD_AS_IT_IS = 64,
};

typedef struct {
    Target *target;         /* owned */
    CaptureContent content; /* of its dumps; CAPTURE_ADDRESSES unless set */
    WireLease lease;
    Recorder recorder; /* of that lease */
    SamplerChoice choice;
    guint64 since_us;   /* since 1970, the begin of sampling; 0: was on before */
    guint64 start_time; /* of the process, as Process.start_time; 0: unknown */
    uid_t owner;        /* as target_files_user_of(), the least since it began: what it says itself does not count */
    int kept;           /* the last dump taken on the way, -1: none */
    guint64 kept_ms;    /* after how long that was */
    guint64 next_keep_ms;
} Recording;

/* Takes TARGET, also on failure, and switches its profiling on by SAMPLER, with a sampling period of 2^LG bytes unless
 * LG is RECORDING_PERIOD_AS_IT_IS. Says on stderr if the period is not the one that the program was started with. */
Recording *recording_begin(Target *target, unsigned lg, const SamplerChoice *choice, GError **error);

/* The same for a process that PARENT's target has forked while it was recorded, and that has its lease from it. NULL
 * without an error if that is not so; then TARGET is not taken. */
Recording *recording_adopt(Target *target, const Recording *parent);

guint64 recording_ms(const Recording *recording); /* since when */

/* To be called about every second: renews the lease, which ends LEFT_MS from now at the latest, and takes intermediate
 * dumps at growing intervals, in case the target ends. FALSE: the target or the recording has ended. */
gboolean recording_tend(Recording *recording, guint64 left_ms, GError **error);

typedef enum {
    RECORDING_GOES_ON,
    RECORDING_ENDS, /* with this dump */
} RecordingDump;

/* A dump of the samples up to now, as capture_dump(). */
int recording_dump(const Recording *recording, RecordingDump last, GError **error);

/* The result of a recording that has ended early: a dump if the target lives, else the last intermediate one; -1:
 * nothing. The caller owns it; *after_ms is the recorded time. */
int recording_salvage(Recording *recording, guint64 *after_ms);

/* Returns to the earlier state and period. */
gboolean recording_end(Recording *recording, GError **error);

/* Leaves profiling on, with its period. */
gboolean recording_leave_on(Recording *recording, GError **error);

void recording_free(Recording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recording, recording_free)

/* Whether a dump holds no samples. */
gboolean recording_is_empty(int dump);

#endif
