/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a history file in confined processes (confine/confined.h), since another user may have written it. The calling
 * process must have a single thread.
 */
#ifndef JESCOPE_TUI_REPLAY_SOURCE_H
#define JESCOPE_TUI_REPLAY_SOURCE_H

#include "history/dumps.h"

/* A target with samples. 0 <= first_us <= last_us; adding a few intervals to either does not overflow. */
typedef struct {
    char *name;
    gint64 first_us, last_us;
    gint64 every_us; /* 0: unknown */
    gint64 user;     /* user id of its owner; -1: unknown */
    GArray *lives;   /* of ReplayLife, ordered by first_us */
} ReplayTarget;

/* A process of a target. Texts are as in HistoryProcess, "" if unknown. */
typedef struct {
    gint64 pid; /* 0: unknown */
    gint64 first_us, last_us;
    char *user, *arguments, *group;
} ReplayLife;

typedef struct ReplaySource ReplaySource;

/* Fails with HISTORY_ERROR, or if the child process died. On success there is at least one target. */
ReplaySource *replay_source_new(const char *path, GError **error);
void replay_source_free(ReplaySource *source);

/* The targets, of ReplayTarget; borrowed. */
const GArray *replay_source_targets(const ReplaySource *source);

/* The number of further targets with samples, as the file has too many. */
guint replay_source_left_out(const ReplaySource *source);

/* An event of a target: a process, a gap, a remark, a recording or a kept dump. */
typedef struct {
    gint64 time_us;
    char *text;
} ReplayEvent;

/* The events of TARGET by time, of ReplayEvent (cleared with the array). NULL if they cannot be read. */
GArray *replay_source_events(const ReplaySource *source, const char *target);

/* COUNT moments, STEP_US apart, the first one STEP_US after FROM_US. A moment covers the samples since the previous
 * one. */
typedef struct {
    gint64 from_us, step_us;
    guint count;
    HistoryParts parts;
    const char *only; /* the name of a single target; NULL: all */
} ReplayWindow;

/* The latest sample of each moment, of StatsSample (NULL: none): all moments of the first target, then all of the
 * second, and so on. NULL with ERROR. */
GPtrArray *replay_source_read(ReplaySource *source, const ReplayWindow *window, GError **error);

/* The most damaged blocks that one call of replay_source_read() has left out. */
guint replay_source_damaged(const ReplaySource *source);

/* A kept dump of a target. */
typedef struct {
    RouteDump dump;
    gint64 incarnation;
} ReplayDump;

/* The dumps of TARGET taken up to UNTIL_US, newest first, of ReplayDump. NULL with ERROR. */
GArray *replay_source_dumps(const ReplaySource *source, const char *target, gint64 until_us, GError **error);

/* Returns a memory file with the dump, at offset 0, with the time of the dump as its modification time; the caller
 * closes it. If the caller is root, the file belongs to the user who can write the history and so decides its content
 * (RIGHTS_NOBODY if several can). -1 with ERROR. */
int replay_source_open_dump(const ReplaySource *source, const ReplayDump *dump, GError **error);

#endif
