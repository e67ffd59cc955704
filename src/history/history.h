/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history file: allocator statistics of many targets over time, in one SQLite database (docs/history.md).
 *
 * A target is identified by its name. Each of its processes is an incarnation, so that a restart keeps the identity and
 * decreasing counters are recognised. Samples are written one by one and packed into blocks later, transparently to
 * readers.
 *
 * Several processes may use a file at the same time. `kill -9` at any moment loses no sample whose history_add() has
 * returned. A History must be used by one thread only.
 */
#ifndef JESCOPE_HISTORY_HISTORY_H
#define JESCOPE_HISTORY_HISTORY_H

#include "stats/stats.h"

#define HISTORY_ERROR (history_error_quark())
GQuark history_error_quark(void);

typedef enum {
    HISTORY_ERROR_FAILED,      /* other errors, see the message */
    HISTORY_ERROR_MISSING,     /* no such file, target or metric */
    HISTORY_ERROR_NOT_HISTORY, /* not a history file */
    HISTORY_ERROR_NEWER,       /* written by a newer jescope */
    HISTORY_ERROR_DAMAGED,
    HISTORY_ERROR_LOCKED, /* another process has locked it; try again */
    HISTORY_ERROR_FULL,   /* no space left; try again later */
    HISTORY_ERROR_READ_ONLY,
    HISTORY_ERROR_TOO_LARGE, /* the query exceeds its limits */
} HistoryError;

typedef struct History History;

typedef enum {
    HISTORY_READ,  /* the file must exist; works on a read-only file system */
    HISTORY_WRITE, /* created, with its directory, if missing; migrated to this version's schema */
} HistoryMode;

/* The parts of a sample. Each is stored separately, and only requested parts are read. */
typedef enum {
    HISTORY_TOTALS = 1 << 0,  /* values of the process */
    HISTORY_ARENAS = 1 << 1,  /* values of every arena, including merged and destroyed ones */
    HISTORY_CLASSES = 1 << 2, /* bins and large classes */
    HISTORY_MUTEXES = 1 << 3,
    HISTORY_EVERYTHING = HISTORY_TOTALS | HISTORY_ARENAS | HISTORY_CLASSES | HISTORY_MUTEXES,
} HistoryParts;

/* A sample with more values is stored without the size classes and mutexes of single arenas. */
enum { HISTORY_VALUES_MAX = 1 << 20 };

/* $JESCOPE_HISTORY, else jescope/history.db in $XDG_STATE_HOME, else in ~/.local/state. */
char *history_default_path(void);

/* NULL with an ERROR whose message names PATH and the remedy. */
History *history_open(const char *path, HistoryMode mode, GError **error);

/* A history that is in memory only. */
History *history_open_in_memory(GError **error);

void history_close(History *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(History, history_close)

const char *history_path(const History *history);

/* Writing -----------------------------------------------------------------------------------------------------------
 */

typedef enum {
    HISTORY_SOURCE_LIVE,
    HISTORY_SOURCE_LOG, /* a log that was followed as it grew */
    HISTORY_SOURCE_IMPORT,
} HistorySource;

/* Texts that describe a process to a person. NULL and "": unknown. */
typedef struct {
    const char *user;      /* user name */
    const char *arguments; /* as from process_arguments() */
    const char *group;     /* its control group */
} HistoryProcess;

/* The incarnations that one writer of a log can give a target: one for each version of jemalloc that the log names. The
 * samples of further versions are added to the last of them, and the target gets a note. */
enum { HISTORY_LIVES_OF_WRITER = 256 };

/* A process of a target, to be recorded as an incarnation. Two are the same if all members except VERSION, EVERY_US and
 * PROCESS are equal. */
typedef struct {
    const char *target;
    HistorySource source;
    gint64 pid;          /* 0: unknown */
    guint64 start_ticks; /* field 22 of /proc/PID/stat; 0: unknown */
    const char *boot;    /* from /proc/sys/kernel/random/boot_id; for a log, history_log_life(); "": unknown */
    const char *version; /* jemalloc's; NULL: unknown */
    guint64 every_us;    /* the configured interval; 0: none */
    HistoryProcess process;
} HistoryLife;

/* The owner of a target's samples. */
typedef struct {
    guint32 user;
    const char *unit; /* systemd unit; "": none */
} HistoryOwner;

/* Claims the target NAME, which belongs permanently to its first claimant (but of names without data a user keeps
 * FORGET_NAMES_OF_USER). Sets *GRANTED if it belongs to OWNER: to the
 * same user, and not to another unit. */
gboolean history_claim(History *history, const char *name, const HistoryOwner *owner, gboolean *granted,
                       GError **error);

/* HistoryLife.boot for currently running processes. */
char *history_boot(void);

/* Sets *SERIES to the target with samples of LIFE's process: LIFE's target or one derived from it ("NAME/2"); NULL:
 * none. */
gboolean history_find_series(History *history, const HistoryLife *life, char **series, GError **error);

/* The target that has samples of LIFE's process, to be freed: LIFE's target, or if that is NULL, whichever does. NULL
 * with HISTORY_ERROR_MISSING if no target has any. */
char *history_target_of(History *history, const HistoryLife *life, GError **error);

/* Finds or creates the incarnation of LIFE, within HISTORY_LIVES_OF_WRITER. Packs the samples of the target's earlier
 * incarnations. */
gboolean history_begin(History *history, const HistoryLife *life, gint64 *incarnation, GError **error);

/* Whether INCARNATION is still there: one without samples, dumps and recordings may be removed. */
gboolean history_has(History *history, gint64 incarnation);

/* The target for samples of a log recorded under NAME: NAME for the first writer seen in it, "NAME/WRITER" for another
 * (STREAM is StatsSample.stream). */
char *history_log_target(History *history, const char *name, const char *stream);

/* HistoryLife.boot for samples of a log, which has no data about the process. */
char *history_log_life(const StatsSample *sample);

/* Adds the PARTS of SAMPLE that it has; its time must be known. On return, the sample survives a crash of this
 * process. */
gboolean history_add(History *history, gint64 incarnation, const StatsSample *sample, HistoryParts parts,
                     GError **error);

/* history_begin() and history_add() in one transaction. */
gboolean history_record(History *history, const HistoryLife *life, const StatsSample *sample, HistoryParts parts,
                        GError **error);

/* Adds a remark to TARGET, which is created if needed: why samples are missing, or that the clock was set. */
gboolean history_note(History *history, const char *target, gint64 time_us, const char *text, GError **error);

/* Reading -----------------------------------------------------------------------------------------------------------
 */

/* Samples with FROM_US <= time < TO_US; G_MININT64 and G_MAXINT64 for no limit. */
typedef struct {
    gint64 from_us;
    gint64 to_us;
} HistoryRange;

#define HISTORY_ALL_TIME ((HistoryRange){.from_us = G_MININT64, .to_us = G_MAXINT64})

/* Iterates over the samples of TARGET in time order, with the stored ones of PARTS. HISTORY must outlive it. TARGET
 * NULL means the file's only target. Free with iterator->free(iterator). */
StatsIterator *history_iterator_new(History *history, const char *target, HistoryRange range, HistoryParts parts,
                                    GError **error);

/* Restricts ITERATOR to the values of METRICS; a few are several times faster to read than all. */
void history_iterator_only(StatsIterator *iterator, const StatsMetric *metrics, guint count);

/* The number of damaged blocks that were skipped in reading from HISTORY. */
guint history_damaged_blocks(const History *history);

typedef struct {
    gint64 time_us;
    char *text;
} HistoryNote;

typedef struct {
    gint64 from_us;   /* time of the last sample before the gap */
    gint64 to_us;     /* time of the first sample after it */
    gboolean restart; /* the samples after it are of another incarnation */
} HistoryGap;

typedef struct {
    char *name;
    HistorySource source; /* of its last incarnation */
    guint incarnations;
    guint64 samples;
    gint64 first_us;
    gint64 last_us;
    guint64 every_us; /* of its last incarnation */
    char *version;    /* of its last incarnation; NULL: unknown */
    GArray *gaps;     /* of HistoryGap: more than two and a half intervals between two samples */
    GPtrArray *notes; /* of HistoryNote, by time */
} HistoryTarget;

/* All targets by name, of HistoryTarget. */
GPtrArray *history_targets(History *history, GError **error);

/* An incarnation with samples. */
typedef struct {
    gint64 incarnation;
    gint64 pid; /* 0: unknown */
    gint64 first_us;
    gint64 last_us;
} HistorySpan;

/* The latest MAX incarnations of TARGET with samples, of HistorySpan, ordered by first sample. */
GArray *history_spans(History *history, const char *target, guint max, GError **error);

/* Passes the texts about the process of INCARNATION to TAKE; they are valid during the call. FALSE if there are none,
 * as in a file of an older jescope. */
typedef void HistoryTakeProcess(const HistoryProcess *process, gpointer data);
gboolean history_process(History *history, gint64 incarnation, HistoryTakeProcess *take, gpointer data);

/* The user that TARGET belongs to (history_claim()); -1: unknown. */
gint64 history_user(History *history, const char *target);

/* The names of the metrics that TARGET has in RANGE, of const char * (static), in the order of metrics.def. */
GPtrArray *history_metrics(History *history, const char *target, HistoryRange range, GError **error);

/* Whether TARGET exists; otherwise FALSE with HISTORY_ERROR_MISSING, whose message lists the targets. TARGET may be
 * NULL as for history_iterator_new(). */
gboolean history_check_target(History *history, const char *target, GError **error);

/* Retention ---------------------------------------------------------------------------------------------------------
 */

/* Retention limits; 0: no limit. Imported samples are never removed. */
typedef struct {
    guint64 keep_us;       /* older samples are removed */
    guint64 thin_after_us; /* samples older than this are thinned... */
    guint64 thin_step_us;  /* ...to one per this time */
    guint64 max_bytes;     /* of the file without dumps (dumps.h): the oldest blocks of the users (history_claim()) with
                            * the most are removed until it fits (space.h) */
} HistoryRetention;

typedef struct {
    guint64 removed; /* samples removed */
    guint64 thinned; /* samples removed by thinning */
    guint64 bytes;   /* size of the file afterwards */
} HistoryRetained;

/* Sets *BYTES to the size of the file without dumps. */
gboolean history_size(History *history, guint64 *bytes, GError **error);

gboolean history_retain(History *history, const HistoryRetention *retention, gint64 now_us, HistoryRetained *retained,
                        GError **error);

#endif
