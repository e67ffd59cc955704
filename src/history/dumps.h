/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap dumps and recordings in the history file, stored per incarnation like samples. Dumps are compressed (zstd).
 *
 * Errors and threads as in history.h.
 */
#ifndef JESCOPE_HISTORY_DUMPS_H
#define JESCOPE_HISTORY_DUMPS_H

#include "history/history.h"
#include "routes/routes.h"

enum {
    HISTORY_DUMP_MAX = 512 * 1024 * 1024, /* maximum bytes of a dump before compression; larger ones are rejected */
};

/* The result of time-limited profiling. */
typedef struct {
    guint64 id; /* unique within its incarnation */
    gint64 begin_ms;
    guint64 duration_ms;
    guint32 state; /* defined by the caller */
    guint64 dump;  /* 0: none */
    gint32 error;  /* errno; 0: none */
    char *why;     /* why it failed; NULL: it did not fail */
} HistoryRecording;

/* Limits; 0: none. All except the last apply to each target, with all its incarnations. */
typedef struct {
    guint count;         /* dumps */
    guint64 keep_us;     /* older dumps and recordings are removed */
    guint64 max_bytes;   /* of dumps as stored */
    guint64 total_bytes; /* for all targets: the oldest dumps of the user (history_claim()) with the most bytes are
                          * removed */
} HistoryDumpRetention;

/* The newest MAX dumps of an incarnation, newest first, of RouteDump. Ids are never reused in a file; bytes is the
 * uncompressed size. */
GArray *history_dumps(History *history, gint64 incarnation, guint max, GError **error);

/* A compressed dump. Packing and unpacking may take long, needs no History and may be done by any thread. */
typedef struct {
    char *name;      /* for messages */
    guint64 bytes;   /* uncompressed size */
    gint64 taken_ms; /* if read from the history: CLOCK_REALTIME */
    GBytes *content; /* NULL: empty */
} HistoryPackedDump;

void history_packed_dump_clear(HistoryPackedDump *packed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HistoryPackedDump, history_packed_dump_clear)

/* Packs the content of DESCRIPTOR, a regular file or memfd, from its beginning regardless of its offset. */
gboolean history_dump_pack(int descriptor, HistoryPackedDump *packed, GError **error);

/* Adds the dump to INCARNATION, with the recording and time in *DUMP; sets its id and bytes. */
gboolean history_dump_add_packed(History *history, gint64 incarnation, const HistoryPackedDump *packed, RouteDump *dump,
                                 GError **error);

/* Reads dump ID. HISTORY_ERROR_MISSING if the incarnation does not have it (any more). */
gboolean history_dump_read_packed(History *history, gint64 incarnation, guint64 id, HistoryPackedDump *packed,
                                  GError **error);

/* Finds the incarnation of dump ID, and the user that its target belongs to (history_claim(); -1: unknown).
 * HISTORY_ERROR_MISSING if the dump does not exist (any more). */
gboolean history_dump_find(History *history, guint64 id, gint64 *incarnation, gint64 *user, GError **error);

/* Unpacks the dump to DESCRIPTOR. */
gboolean history_dump_write(const HistoryPackedDump *packed, int descriptor, GError **error);

/* Unpacks the dump to a sealed memfd at offset 0, whose modification time is that of the dump. The caller closes it; -1
 * with ERROR. */
int history_dump_unpack(const HistoryPackedDump *packed, GError **error);

/* Adds a recording, or replaces the one with its id. */
gboolean history_recording_put(History *history, gint64 incarnation, const HistoryRecording *recording, GError **error);

/* The newest MAX recordings of an incarnation, newest first, of HistoryRecording (cleared with the array). */
GArray *history_recordings(History *history, gint64 incarnation, guint max, GError **error);

/* Removes the dumps and recordings beyond RETENTION of the target of INCARNATION, the oldest first. The target's newest
 * dump is never removed. */
gboolean history_retain_dumps(History *history, gint64 incarnation, const HistoryDumpRetention *retention,
                              gint64 now_us, GError **error);

/* The same for all targets. */
gboolean history_retain_all_dumps(History *history, const HistoryDumpRetention *retention, gint64 now_us,
                                  GError **error);

/* An incarnation with dumps or recordings. */
typedef struct {
    gint64 incarnation;
    char *target;
    gint64 pid;
    guint64 start_ticks;
    char *boot;
} HistoryKept;

/* The latest MAX incarnations with dumps or recordings, latest first, of HistoryKept (cleared with the array). */
GArray *history_kept_lives(History *history, guint max, GError **error);

#endif
