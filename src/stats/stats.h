/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample model: allocator statistics of one process at one time, independent of their source.
 *
 * Values are in small arrays indexed by metric (metrics.def), one array per scope, with a bit per metric that is set if
 * the source had it. A value that the source lacked is absent, never zero: use stats_values_get().
 *
 * Samples are reference counted and immutable once published. The functions do no locking: a sample may be read by
 * several threads, but is built by one.
 */
#ifndef JESCOPE_STATS_STATS_H
#define JESCOPE_STATS_STATS_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

/* The scope of a metric; each has its own array of values. */
typedef enum {
    STATS_SCOPE_TOTALS, /* the process */
    STATS_SCOPE_ARENA,  /* an arena, all of them merged, or the destroyed ones merged */
    STATS_SCOPE_BIN,    /* a small size class of an arena */
    STATS_SCOPE_LARGE,  /* a large size class of an arena */
    STATS_SCOPE_MUTEX,  /* a mutex, global or of an arena */
    STATS_SCOPE_COUNT,
} StatsScope;

typedef enum {
#define STATS_METRIC(scope, id, ...) STATS_##id,
#include "stats/metrics.def"
#undef STATS_METRIC
    STATS_METRIC_COUNT,
} StatsMetric;

typedef enum {
    STATS_GAUGE,
    STATS_COUNTER, /* only grows during the life of the process */
} StatsType;

typedef enum {
    STATS_UNIT_BYTES,
    STATS_UNIT_PAGES,
    STATS_UNIT_COUNT,
    STATS_UNIT_NANOSECONDS,
    STATS_UNIT_MILLISECONDS,
} StatsUnit;

/* The control's C type. Values of STATS_CTYPE_SSIZE are stored sign-extended: read them as int64_t. */
typedef enum {
    STATS_CTYPE_SIZE,
    STATS_CTYPE_U64,
    STATS_CTYPE_UNSIGNED,
    STATS_CTYPE_SSIZE,
} StatsCType;

/* One row of metrics.def, which explains the fields. */
typedef struct {
    StatsScope scope;
    const char *name;
    const char *controls;
    const char *json;
    const char *text;
    StatsCType ctype;
    StatsType type;
    StatsUnit unit;
    const char *versions;
    const char *help;
} StatsMetricInfo;

/* Indexed by StatsMetric. */
extern const StatsMetricInfo stats_metrics[STATS_METRIC_COUNT];

/* The metrics of a scope are first..first+count-1; count is at most 64. */
StatsMetric stats_scope_first(StatsScope scope);
guint stats_scope_count(StatsScope scope);

/* Finds a metric by StatsMetricInfo.name. FALSE, with *METRIC unchanged, if unknown. */
gboolean stats_metric_by_name(const char *name, StatsMetric *metric);

const char *stats_unit_name(StatsUnit unit); /* "bytes", "pages", "count", "nanoseconds", "milliseconds" */

/* Values of one scope: bit b of PRESENT is set if values[b], of metric stats_scope_first(scope) + b, is present. */
typedef struct {
    uint64_t present;
    uint64_t values[]; /* stats_scope_count(scope) of them */
} StatsValues;

/* VALUES must be of METRIC's scope. FALSE, with *VALUE unchanged, if absent. */
gboolean stats_values_get(const StatsValues *values, StatsMetric metric, uint64_t *value);
void stats_values_set(StatsValues *values, StatsMetric metric, uint64_t value);

/* ABSENT if absent. */
uint64_t stats_values_or(const StatsValues *values, StatsMetric metric, uint64_t absent);

/* A new array with all values absent; free with g_free(). */
StatsValues *stats_values_new(StatsScope scope);

/* Limits of readers; jemalloc has 39 + 196 classes at most and some 20 mutexes. */
enum {
    STATS_CLASSES_MAX = 1024, /* per arena and kind */
    STATS_MUTEXES_MAX = 128,
    STATS_ROWS_MAX = 1 << 18, /* of all tables of a sample: 1024 arenas have that many at most */
};
#define STATS_TOO_MANY_ROWS "it has more size classes and mutexes than are read"

/* The classes or mutexes of one arena (or the process): COUNT arrays of values of one scope. Row i of a mutex table is
 * the mutex named names[i] (interned); classes have names NULL and ascending sizes. A table that the source did
 * not contain is absent (NULL); one it contained may lack classes that were never used. */
typedef struct {
    StatsScope scope;
    guint count;
    guint reserved; /* rows there is room for */
    const char **names;
    uint64_t *rows; /* count rows of 1 + stats_scope_count(scope) words, each a StatsValues */
} StatsTable;

StatsTable *stats_table_new(StatsScope scope);
void stats_table_free(StatsTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsTable, stats_table_free)

/* Appends a row with all values absent; NAME, which is copied, is for mutexes, otherwise NULL. The result is valid
 * until the next row is added. */
StatsValues *stats_table_add(StatsTable *table, const char *name);
StatsValues *stats_table_row(const StatsTable *table, guint index);

/* The row with this name, or NULL. */
const StatsValues *stats_table_find(const StatsTable *table, const char *name);

/* Arena numbers as jemalloc's MALLCTL_ARENAS_ALL and MALLCTL_ARENAS_DESTROYED. */
enum {
    STATS_ARENA_MERGED = 4096,
    STATS_ARENA_DESTROYED = 4097,
};

typedef struct {
    guint index;         /* or STATS_ARENA_MERGED, STATS_ARENA_DESTROYED */
    const char *name;    /* interned; NULL: none known (jemalloc before 5.3.1) */
    const char *dss;     /* interned; NULL: unknown */
    StatsValues *values; /* STATS_SCOPE_ARENA, never NULL; freed with the arena */
    StatsTable *bins;    /* each of these may be NULL */
    StatsTable *large;
    StatsTable *mutexes;
} StatsArena;

typedef enum {
    STATS_SOURCE_TEXT,
    STATS_SOURCE_JSON,
    STATS_SOURCE_LIVE,
    STATS_SOURCE_JEMDATA,
    STATS_SOURCE_HISTORY,
} StatsSource;

#define STATS_TIME_UNKNOWN G_MININT64

/* Whether TIME_US is in the years 1 to 9999, which GDateTime has. No difference of two such times overflows. */
gboolean stats_time_is_known(gint64 time_us);

typedef struct {
    gatomicrefcount references;
    gint64 time_us;      /* CLOCK_REALTIME in microseconds since 1970 (UTC), or STATS_TIME_UNKNOWN */
    const char *version; /* jemalloc's, as it prints it, unquoted; interned; NULL: unknown */
    StatsSource source;
    const char *stream;  /* interned: identifies one of several writers of a log; NULL: the only one */
    uint64_t line;       /* 1-based line of the source where it begins; 0: not from text */
    StatsValues *totals; /* STATS_SCOPE_TOTALS, never NULL */
    StatsTable *mutexes; /* global ones; may be NULL */
    GPtrArray *arenas;   /* of StatsArena by ascending index: real arenas, then merged, then destroyed */
    guint unread;        /* real arenas whose size classes were to be read and were left out */
    uid_t account;       /* of stats_sample_charge() */
    guint64 charged;
} StatsSample;

/* An empty sample: time and version unknown, everything absent. */
StatsSample *stats_sample_new(StatsSource source);
StatsSample *stats_sample_ref(StatsSample *sample);
void stats_sample_unref(StatsSample *sample);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatsSample, stats_sample_unref)

/* A copy with the totals and the values of the merged arena only: of a known size, however many arenas a process says
 * it has. */
StatsSample *stats_sample_summary(const StatsSample *sample);

/* The arena with this number, or NULL. */
StatsArena *stats_sample_find(const StatsSample *sample, guint index);

/* Like stats_sample_find(), but creates a missing arena. */
StatsArena *stats_sample_arena(StatsSample *sample, guint index);

/* The number of real arenas, sample->arenas[0..n-1], without merged and destroyed ones. */
guint stats_sample_arena_count(const StatsSample *sample);

/* The number of all values, with the names of arenas. */
guint64 stats_sample_values(const StatsSample *sample);

/* The memory that it has allocated, except for interned strings. */
guint64 stats_sample_bytes(const StatsSample *sample);

/* Counts BYTES, in place of an earlier number, as held by the outputs of ACCOUNT (target/own-room.h) for as long as
 * SAMPLE exists. */
void stats_sample_charge(StatsSample *sample, uid_t account, guint64 bytes);

/* A sentence without a full stop, to be freed, if size classes were left out; otherwise NULL. */
char *stats_unread_notice(const StatsSample *sample);

typedef enum {
    STATS_DERIVE_PLAIN = 0,
    STATS_DERIVE_MERGED = 1 << 0, /* the sample has all arenas: if there is only one, jemalloc has printed no merged
                                   * values, and they equal this arena's */
} StatsDerive;

/* Computes absent values from others: arena.active from arena.pactive and page (and back), arena.allocated from small,
 * large and huge, {bin,large}.allocated from the number of regions or extents and their size (and back),
 * sampling.overhead and held (docs/metrics.md has the formulas). Readers call it before they return a sample. */
void stats_sample_derive(StatsSample *sample, StatsDerive flags);

/* The bytes of allocated that the program does not hold; 0 if the source lacks them. */
typedef struct {
    uint64_t cached;     /* freed by the program, in thread caches */
    uint64_t internal;   /* jemalloc's own allocations from its arenas; metadata counts them too */
    uint64_t sampling;   /* sampling.overhead */
    gboolean has_cached; /* FALSE: jemalloc before 5.0, held includes the thread caches */
} StatsHeld;

void stats_held_parts(const StatsSample *sample, StatsHeld *held);

/* The size that is counted for a sampled small object: the smallest large size class of jemalloc VERSION (NULL: 4.0 or
 * later) with pages of size PAGE. From its source: SMALL_MAXCLASS+1 in 3.x, LARGE_MINCLASS from 4.0 on. */
uint64_t stats_smallest_large(uint64_t page, const char *version);

/* Minimum bytes outside jemalloc that indicate another heap; they must also exceed this jemalloc's resident. */
enum {
    STATS_OUTSIDE_NOTABLE = 8 << 20,
};

/* Sets process.outside from process.anonymous. LAZY is the bytes that the kernel may reclaim (LazyFree), HUGE the bytes
 * in transparent huge pages, both from /proc/PID/smaps_rollup: because of these, memory that jemalloc has returned or
 * retains may be resident. */
void stats_derive_outside(StatsValues *totals, uint64_t lazy, uint64_t huge);

/* A sentence without a full stop, to be freed, if this jemalloc serves only a minor part of the process's anonymous
 * memory, so that its statistics and profiles do not cover the program's heap; otherwise NULL. */
char *stats_outside_notice(const StatsValues *totals);

/* Called with each sample in the order of the source. SAMPLE is borrowed; use stats_sample_ref() to keep it. FALSE with
 * ERROR set stops the source, which then fails with that error. */
typedef gboolean (*StatsSampleFunc)(StatsSample *sample, gpointer data, GError **error);

/* A source of many samples: a log file, a JSON file, a jemdata.py, a history file. EACH calls FUNC for every sample and
 * may be called more than once; each call starts at the beginning. */
typedef struct StatsIterator StatsIterator;
struct StatsIterator {
    gboolean (*each)(StatsIterator *iterator, StatsSampleFunc func, gpointer data, GError **error);
    void (*free)(StatsIterator *iterator);
};

#define STATS_ERROR (stats_error_quark())
GQuark stats_error_quark(void);

typedef enum {
    STATS_ERROR_FORMAT,   /* not statistics, or too damaged */
    STATS_ERROR_RANGE,    /* a missing iteration or arena */
    STATS_ERROR_OVERFLOW, /* a limit of this reader was exceeded */
    STATS_ERROR_STOPPED,  /* for a StatsSampleFunc that needs no more samples */
} StatsError;

#endif
