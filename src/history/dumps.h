/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap dumps and recordings in the history file, beside the samples of the same lives. Dumps are compressed (zstd).
 *
 * Errors and threads as in history.h.
 */
#ifndef JESCOPE_HISTORY_DUMPS_H
#define JESCOPE_HISTORY_DUMPS_H

#include "history/history.h"
#include "routes/routes.h"

enum {
    HISTORY_DUMP_MAX = 512 * 1024 * 1024, /* bytes of a dump before compression; a larger one is not kept */
};

/* The result of time-limited profiling. */
typedef struct {
    guint64 id; /* unique in its life */
    gint64 begin_ms;
    guint64 duration_ms;
    guint32 state; /* the caller's own */
    guint64 dump;  /* 0: none */
    gint32 error;  /* errno; 0: none */
    char *why;     /* it failed; NULL: it did not */
} HistoryRecording;

/* Zero in a field: no limit. Each except the last is for one target, with all its incarnations. */
typedef struct {
    guint count;         /* dumps */
    guint64 keep_us;     /* older dumps and recordings go */
    guint64 max_bytes;   /* of dumps as they are stored */
    guint64 total_bytes; /* of all targets: the user (history_claim()) that keeps most loses the oldest */
} HistoryDumpRetention;

/* The newest MAX dumps of a life, newest first, of RouteDump. An id is never given twice in one
 * file; bytes are those that jemalloc wrote. */
GArray *history_dumps(History *history, gint64 incarnation, guint max, GError **error);

/* A dump as it is stored. Packing and unpacking takes long for a large one, needs no History and may be done by any
 * thread. */
typedef struct {
    char *name;      /* for messages */
    guint64 bytes;   /* unpacked */
    gint64 taken_ms; /* of one that was kept: CLOCK_REALTIME */
    GBytes *content; /* NULL: nothing is in here */
} HistoryPackedDump;

void history_packed_dump_clear(HistoryPackedDump *packed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HistoryPackedDump, history_packed_dump_clear)

/* Packs the bytes of DESCRIPTOR: a regular file or memfd, read from its beginning whatever its offset. */
gboolean history_dump_pack(int descriptor, HistoryPackedDump *packed, GError **error);

/* Keeps it for the life INCARNATION. Of *DUMP, id and bytes are set. */
gboolean history_dump_add_packed(History *history, gint64 incarnation, const HistoryPackedDump *packed, RouteDump *dump,
                                 GError **error);

/* HISTORY_ERROR_MISSING: this life has no such dump (any more). */
gboolean history_dump_read_packed(History *history, gint64 incarnation, guint64 id, HistoryPackedDump *packed,
                                  GError **error);

/* The life that the dump ID is of, and the user that its target belongs to (history_claim(); -1: unknown).
 * HISTORY_ERROR_MISSING: no life has such a dump (any more). */
gboolean history_dump_find(History *history, guint64 id, gint64 *incarnation, gint64 *user, GError **error);

/* Writes the bytes to DESCRIPTOR. */
gboolean history_dump_write(const HistoryPackedDump *packed, int descriptor, GError **error);

/* The bytes as a sealed memfd at offset 0, last modified when the dump was taken, the caller's to close; -1 on error.
 */
int history_dump_unpack(const HistoryPackedDump *packed, GError **error);

/* Adds a recording, or replaces the one with its id. */
gboolean history_recording_put(History *history, gint64 incarnation, const HistoryRecording *recording, GError **error);

/* The newest MAX recordings of a life, newest first, of HistoryRecording (cleared with the array). */
GArray *history_recordings(History *history, gint64 incarnation, guint max, GError **error);

/* Removes what RETENTION does not let stay of the target INCARNATION is a life of; the oldest first. The newest dump of
 * the target always stays. */
gboolean history_retain_dumps(History *history, gint64 incarnation, const HistoryDumpRetention *retention,
                              gint64 now_us, GError **error);

/* A life of which dumps or recordings are kept. */
typedef struct {
    gint64 incarnation;
    char *target;
    gint64 pid;
    guint64 start_ticks;
    char *boot;
} HistoryKept;

/* The latest MAX of them, latest first, of HistoryKept (cleared with the array). */
GArray *history_kept_lives(History *history, guint max, GError **error);

#endif
