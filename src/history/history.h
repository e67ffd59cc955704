/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history file: allocator statistics of many targets over time, in one SQLite database (docs/history.md).
 *
 * A target is identified by its name. Each of its processes is an incarnation, so that a restart keeps the identity and
 * decreasing counters are recognised. Samples are written one by one and packed into blocks later, which readers do not
 * notice.
 *
 * Several processes may use one file at once. `kill -9` at any moment loses no sample whose history_add() returned. A
 * History belongs to one thread.
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
    HISTORY_ERROR_LOCKED, /* another process holds it; try again */
    HISTORY_ERROR_FULL,   /* no space; try again when there is some */
    HISTORY_ERROR_READ_ONLY,
    HISTORY_ERROR_TOO_LARGE, /* more was asked for than may be read */
} HistoryError;

typedef struct History History;

typedef enum {
    HISTORY_READ,  /* the file must exist; works on a read-only file system */
    HISTORY_WRITE, /* made, with its directory, where it is missing; migrated to this version's schema */
} HistoryMode;

/* The parts of a sample. Each is stored separately, and only requested parts are read. */
typedef enum {
    HISTORY_TOTALS = 1 << 0,  /* of the process */
    HISTORY_ARENAS = 1 << 1,  /* values of every arena, the merged and the destroyed ones */
    HISTORY_CLASSES = 1 << 2, /* bins and large classes */
    HISTORY_MUTEXES = 1 << 3,
    HISTORY_EVERYTHING = HISTORY_TOTALS | HISTORY_ARENAS | HISTORY_CLASSES | HISTORY_MUTEXES,
} HistoryParts;

/* $JESCOPE_HISTORY, else jescope/history.db in $XDG_STATE_HOME, else in ~/.local/state. */
char *history_default_path(void);

/* Errors name PATH and the remedy. */
History *history_open(const char *path, HistoryMode mode, GError **error);

/* A history in memory, while it is open. */
History *history_open_in_memory(GError **error);

void history_close(History *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(History, history_close)

const char *history_path(const History *history);

/* Writing -----------------------------------------------------------------------------------------------------------
 */

typedef enum {
    HISTORY_SOURCE_LIVE,
    HISTORY_SOURCE_LOG, /* followed while it grew */
    HISTORY_SOURCE_IMPORT,
} HistorySource;

/* What tells a person which process it was. NULL and "": unknown. */
typedef struct {
    const char *user;      /* its name */
    const char *arguments; /* as process_arguments() */
    const char *group;     /* its control group */
} HistoryProcess;

/* One life of a target. Two are the same if all but VERSION, EVERY_US and PROCESS agree. */
typedef struct {
    const char *target;
    HistorySource source;
    gint64 pid;          /* 0: unknown */
    guint64 start_ticks; /* field 22 of /proc/PID/stat; 0: unknown */
    const char *boot;    /* of /proc/sys/kernel/random/boot_id; of a log history_log_life(); "": unknown */
    const char *version; /* jemalloc's; NULL: unknown */
    guint64 every_us;    /* the interval aimed at; 0: none */
    HistoryProcess process;
} HistoryLife;

/* The owner of a target's samples. */
typedef struct {
    guint32 user;
    const char *unit; /* of systemd; "": none */
} HistoryOwner;

/* The target NAME belongs permanently to its first claimant. *GRANTED: it is OWNER's: of the same user, and not of two
 * different units. */
gboolean history_claim(History *history, const char *name, const HistoryOwner *owner, gboolean *granted,
                       GError **error);

/* HistoryLife.boot of processes that run now. */
char *history_boot(void);

/* *SERIES is the target that has samples of LIFE's process, among LIFE's target and those that are called after it
 * ("NAME/2"); NULL: none has. */
gboolean history_find_series(History *history, const HistoryLife *life, char **series, GError **error);

/* Finds or makes the incarnation of LIFE. The samples of earlier lives of its target are packed. */
gboolean history_begin(History *history, const HistoryLife *life, gint64 *incarnation, GError **error);

/* Samples of a log kept under NAME go to the target NAME if they are of the first writer that was seen in it, and to
 * "NAME/WRITER" (StatsSample.stream) if they are of another. */
char *history_log_target(History *history, const char *name, const char *stream);

/* HistoryLife.boot of the samples of a log, which has no data about the process. */
char *history_log_life(const StatsSample *sample);

/* Adds SAMPLE, of known time, with those of its PARTS that it has. Durable against the death of this process on
 * return. */
gboolean history_add(History *history, gint64 incarnation, const StatsSample *sample, HistoryParts parts,
                     GError **error);

/* A remark in the history of TARGET (made if need be): why samples are missing, or that the clock was set. */
gboolean history_note(History *history, const char *target, gint64 time_us, const char *text, GError **error);

/* Reading -----------------------------------------------------------------------------------------------------------
 */

/* Samples with FROM_US <= time < TO_US; G_MININT64 and G_MAXINT64 for no limit. */
typedef struct {
    gint64 from_us;
    gint64 to_us;
} HistoryRange;

#define HISTORY_ALL_TIME ((HistoryRange){.from_us = G_MININT64, .to_us = G_MAXINT64})

/* The samples of TARGET in the order of time, with the stored ones of PARTS. HISTORY must outlive it. A TARGET of NULL
 * means the only one of the file. Free with iterator->free(iterator). */
StatsIterator *history_iterator_new(History *history, const char *target, HistoryRange range, HistoryParts parts,
                                    GError **error);

/* Lets ITERATOR hand out the values of these METRICS alone: with few of them several times faster. */
void history_iterator_only(StatsIterator *iterator, const StatsMetric *metrics, guint count);

/* How many blocks readers of this History had to leave out because their bytes are damaged. */
guint history_damaged_blocks(const History *history);

typedef struct {
    gint64 time_us;
    char *text;
} HistoryNote;

typedef struct {
    gint64 from_us;   /* the last sample before it */
    gint64 to_us;     /* the first one after it */
    gboolean restart; /* another incarnation continues after it */
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
    GArray *gaps;     /* of HistoryGap; the time between two samples is over two and a half intervals */
    GPtrArray *notes; /* of HistoryNote, by time */
} HistoryTarget;

/* All targets by name, of HistoryTarget. */
GPtrArray *history_targets(History *history, GError **error);

/* A life that has samples. */
typedef struct {
    gint64 incarnation;
    gint64 pid; /* 0: unknown */
    gint64 first_us;
    gint64 last_us;
} HistorySpan;

/* The latest MAX lives of TARGET that have samples, by their first one, of HistorySpan. */
GArray *history_spans(History *history, const char *target, guint max, GError **error);

/* The texts of the process of INCARNATION are handed to TAKE, valid during the call. FALSE: none are known, as in a
 * file of an older jescope. */
typedef void HistoryTakeProcess(const HistoryProcess *process, gpointer data);
gboolean history_process(History *history, gint64 incarnation, HistoryTakeProcess *take, gpointer data);

/* The user that TARGET belongs to (history_claim()); -1: unknown. */
gint64 history_user(History *history, const char *target);

/* The names of the metrics TARGET has in RANGE, by scope and in metrics.def's order, of const char * (static). */
GPtrArray *history_metrics(History *history, const char *target, HistoryRange range, GError **error);

/* Whether TARGET is kept here. HISTORY_ERROR_MISSING, naming those that are, if not. NULL as history_iterator_new(). */
gboolean history_check_target(History *history, const char *target, GError **error);

/* Retention ---------------------------------------------------------------------------------------------------------
 */

/* Retention limits. Zero in a field: no limit. Imported samples are never removed. */
typedef struct {
    guint64 keep_us;       /* samples older than this go */
    guint64 thin_after_us; /* of samples older than this... */
    guint64 thin_step_us;  /* ...one per this time stays */
    guint64 max_bytes; /* of the file without dumps (dumps.h): the oldest blocks of the user (history_claim()) that has
                        * most go until it fits */
} HistoryRetention;

typedef struct {
    guint64 removed; /* samples */
    guint64 thinned; /* samples that thinning took */
    guint64 bytes;   /* of the file afterwards */
} HistoryRetained;

gboolean history_retain(History *history, const HistoryRetention *retention, gint64 now_us, HistoryRetained *retained,
                        GError **error);

#endif
