/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a history file, read by confined processes (confine/confined.h): another user may have written it. The
 * calling process must have one thread.
 */
#ifndef JESCOPE_TUI_REPLAY_SOURCE_H
#define JESCOPE_TUI_REPLAY_SOURCE_H

#include "history/dumps.h"

/* A target with samples. 0 <= first_us <= last_us, and their sums with some intervals do not overflow. */
typedef struct {
    char *name;
    gint64 first_us, last_us;
    gint64 every_us; /* 0: unknown */
    gint64 user;     /* that it belongs to; -1: unknown */
    GArray *lives;   /* of ReplayLife, by their first sample */
} ReplayTarget;

/* A process of a target. Texts as in HistoryProcess, "" where they are unknown. */
typedef struct {
    gint64 pid; /* 0: unknown */
    gint64 first_us, last_us;
    char *user, *arguments, *group;
} ReplayLife;

typedef struct ReplaySource ReplaySource;

/* HISTORY_ERROR, or that the child died. There is at least one target. */
ReplaySource *replay_source_new(const char *path, GError **error);
void replay_source_free(ReplaySource *source);

/* Of ReplayTarget. */
const GArray *replay_source_targets(const ReplaySource *source);

/* What is known to have happened to a target: its processes, gaps and remarks, recordings and kept dumps. */
typedef struct {
    gint64 time_us;
    char *text;
} ReplayEvent;

/* Those of TARGET by time, of ReplayEvent (cleared with the array). NULL: they cannot be read. */
GArray *replay_source_events(const ReplaySource *source, const char *target);

/* COUNT moments that follow each other every STEP_US, the first one STEP_US after FROM_US. A moment has what was
 * sampled since the one before it. */
typedef struct {
    gint64 from_us, step_us;
    guint count;
    HistoryParts parts;
    const char *only; /* the name of a target; NULL: all of them */
} ReplayWindow;

/* The latest sample of each moment, of StatsSample (NULL: none): those of the first target, then those of the second
 * and so on. NULL: they cannot be read. */
GPtrArray *replay_source_read(const ReplaySource *source, const ReplayWindow *window);

/* A kept dump of a target. */
typedef struct {
    RouteDump dump;
    gint64 incarnation;
} ReplayDump;

/* Those of TARGET that were taken up to UNTIL_US, newest first, of ReplayDump. NULL with ERROR. */
GArray *replay_source_dumps(const ReplaySource *source, const char *target, gint64 until_us, GError **error);

/* A memory file with the dump, at offset 0, last modified when it was taken; the caller's. To root it belongs to the
 * owner of the history, who may have written what it says. -1 with ERROR. */
int replay_source_open_dump(const ReplaySource *source, const ReplayDump *dump, GError **error);

#endif
