/* SPDX-License-Identifier: Apache-2.0 */
/* A target being recorded: profiling is on while recording_tend() is called, then the earlier state is restored. */
#ifndef JESCOPE_CLI_RECORDING_H
#define JESCOPE_CLI_RECORDING_H

#include "cli/sampling.h"
#include "source/capture.h"
#include "target/target.h"
#include "wire/recorder.h"

enum {
    RECORDING_PERIOD_AS_IT_IS = 64,
};

/* What the dumps that a command keeps until it writes them have together, and may have: a recorded process can leave
 * any number of descendants, each with a dump. */
typedef struct {
    guint64 bytes, bytes_most;
    guint dumps, dumps_most;
    char *refusal; /* why there was no room for a dump, the first time; NULL: there was. Owned by the command */
} RecordingRoom;

typedef struct {
    Target *target;         /* owned */
    CaptureContent content; /* of its dumps; default: CAPTURE_ADDRESSES */
    WireLease lease;
    Recorder recorder; /* of that lease */
    SamplerChoice choice;
    guint64 lease_id;   /* of the lease at the start, which the process's descendants inherit */
    guint64 since_us;   /* start of sampling, since 1970; 0: it was on before */
    guint64 start_time; /* of the process, as Process.start_time; 0: unknown */
    uid_t owner; /* as target_files_user_of() and target_user(): the one with the fewest rights since the start; the
                    target's own claims are ignored */
    RecordingRoom *room; /* for its dumps; borrowed. NULL: unlimited */
    int kept;            /* the last intermediate dump; -1: none */
    guint64 kept_bytes;
    guint64 kept_ms; /* the recorded time of that dump */
    guint64 next_keep_ms;
} Recording;

/* Takes over TARGET, also on failure, and switches its profiling on with SAMPLER, and with a sampling period of 2^LG
 * bytes unless LG is RECORDING_PERIOD_AS_IT_IS. Prints a note on stderr if the period differs from the one at the
 * program's start. */
Recording *recording_begin(Target *target, unsigned lg, const SamplerChoice *choice, GError **error);

/* The same for a process that the target of one of PARENTS (of Recording) has forked during the recording and that
 * inherited its lease. NULL without an error if that is not the case; then TARGET is not taken over. */
Recording *recording_adopt(Target *target, const GPtrArray *parents);

guint64 recording_ms(const Recording *recording); /* since its start */

/* Renews the lease, which ends at the latest LEFT_MS from now, if it is time for it. FALSE: the recording has ended. */
gboolean recording_renew(Recording *recording, guint64 left_ms, GError **error);

/* Takes an intermediate dump if it is time for it, at growing intervals, in case the target ends. FALSE: it has. */
gboolean recording_keep(Recording *recording, guint64 left_ms, GError **error);

/* Both, to be called about every second. */
gboolean recording_tend(Recording *recording, guint64 left_ms, GError **error);

typedef enum {
    RECORDING_GOES_ON,
    RECORDING_ENDS, /* the recording ends with this dump */
} RecordingDump;

/* Dumps the samples collected so far, like capture_dump(). */
int recording_dump(const Recording *recording, RecordingDump last, GError **error);

/* The same of a dump for which there must be room, and which replaces the intermediate one. It remains counted. */
int recording_take_dump(Recording *recording, RecordingDump last, GError **error);

/* The last intermediate dump of a recording that has ended early; -1: none. Owned by the caller, it remains counted;
 * *after_ms is the recorded time. */
int recording_take_kept(Recording *recording, guint64 *after_ms);

/* The same, or a dump if the target is running and there is room for it. */
int recording_salvage(Recording *recording, guint64 *after_ms);

/* Restores the earlier state and period. */
gboolean recording_end(Recording *recording, GError **error);

/* Leaves profiling on, with its period. */
gboolean recording_leave_on(Recording *recording, GError **error);

void recording_free(Recording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recording, recording_free)

/* Whether a dump contains no samples. */
gboolean recording_is_empty(int dump);

#endif
