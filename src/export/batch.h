/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is pushed: one heap dump with the names of its functions, and what was known of its process at that moment. A
 * batch is built once (batch-build.h), kept as bytes in the queue, and read from there by every sink.
 *
 * A Batch is immutable; its arrays and strings are borrowed and live as long as it. Strings are printable UTF-8
 * (text/printable.h), never NULL, "" where unknown. Any number of threads may read one.
 */
#ifndef JESCOPE_EXPORT_BATCH_H
#define JESCOPE_EXPORT_BATCH_H

#include <glib.h>

/* 2100-01-01: a time that every store has, and the calendar of GDateTime. */
#define BATCH_TIME_MAX (G_GINT64_CONSTANT(4102444800) * G_USEC_PER_SEC)

enum {
    BATCH_MAX_BYTES = 64 << 20,
    BATCH_MAX_STACKS = 1 << 16,       /* the lightest of more are added up, see BatchDump.folded */
    BATCH_MAX_NAMES = 256 << 20,      /* of all stacks, as batch-form.h counts; the lightest of more, too */
    BATCH_MAX_STACK_NAMES = 16 << 20, /* of one stack */
    BATCH_MAX_VALUES = 32,
    BATCH_ID = 32, /* hexadecimal digits */
};

#define BATCH_NONE G_MAXUINT32 /* "no such index" */

typedef struct {
    const char *name;  /* [a-zA-Z_][a-zA-Z0-9_]* */
    const char *value; /* not "" */
} BatchLabel;

/* A file with code. */
typedef struct {
    const char *path;
    const char *build_id; /* hexadecimal digits in lower case, "" if the file has none or was not found */
} BatchObject;

/* One frame that a call inlined, or the function itself. Members but LINE are indexes into Batch.strings. */
typedef struct {
    guint32 function;
    guint32 system_name; /* as linked */
    guint32 file;        /* of "": unknown */
    guint32 line;        /* 0: unknown */
} BatchLine;

/* A place in the code: by the offset in its file, which is the same in every process that runs this build. */
typedef struct {
    guint64 offset;     /* in the file; of a place outside of all files its address */
    guint32 object;     /* into Batch.objects, or BATCH_NONE */
    guint32 first_line; /* into Batch.lines: the innermost inlined function first, the physical function last */
    guint32 n_lines;    /* at least 1 */
    guint32 named;      /* 0: the only line is a placeholder, "[libfoo.so+0x1234]" */
} BatchLocation;

typedef struct {
    guint64 hash;  /* of build ids (or paths) and offsets: the same in other processes, hosts and after a restart */
    guint32 first; /* into Batch.frames: DEPTH indexes of locations, the innermost first */
    guint32 depth; /* at least 1 */
} BatchStack;

/* Of one stack: an array of Batch.n_values estimates with as many variances, in the order of Batch.values. */
typedef struct {
    const gdouble *estimate;
    const gdouble *variance; /* the square of the standard error; variances add up as estimates do */
    gdouble births, deaths;  /* sampled objects allocated and freed, as ProfileWeight; 0 where the dump does not tell */
} BatchSample;

typedef struct {
    const char *name; /* of a ProfileValue as options have it: "inuse_space", "alloc_objects"... */
    const char *unit; /* "bytes", "objects", "bytes/s", "byte-seconds" */
} BatchValue;

typedef struct {
    const char *name; /* of a line of the ledger: "slab-holes" */
    gint64 bytes, low, high;
} BatchLedgerLine;

typedef struct {
    const char *name; /* as docs/metrics.md: "allocated", "arena.muzzy" */
    gboolean counter; /* else a gauge */
    gdouble value;
} BatchMetric;

/* The dump and its process. Times are microseconds since 1970, 0: unknown. */
typedef struct {
    const char *id; /* BATCH_ID hexadecimal digits: the same for the same dump of the same process, else different */
    const char *service;
    const char *host;
    const char *program;  /* path of its executable */
    const char *build_id; /* of its executable */
    gint64 time;          /* at most BATCH_TIME_MAX */
    gint64 since;         /* begin of sampling */
    guint64 pid, start;
    guint64 period; /* mean bytes between samples */
    guint64 folded; /* stacks that were added up to the one with the hash BATCH_REST */
} BatchDump;

/* The hash of the stack of what was added up; its one frame is called "[other stacks]". */
#define BATCH_REST G_GUINT64_CONSTANT(1)

typedef struct Batch Batch;

struct Batch {
    BatchDump dump;
    const BatchLabel *labels;
    const char *const *strings;
    const BatchObject *objects;
    const BatchLocation *locations;
    const BatchLine *lines;
    const BatchStack *stacks;
    const guint32 *frames;
    const BatchValue *values;
    const gdouble *total; /* n_values estimates of the whole dump, then their variances */
    const BatchLedgerLine *ledger;
    const BatchMetric *metrics;
    const guint8 *heap; /* the dump with its names in text (report format symbolized), gzip; NULL: not included */
    gsize n_labels, n_strings, n_objects, n_locations, n_lines, n_stacks, n_frames, n_values, n_ledger, n_metrics;
    gsize heap_size;
};

#define BATCH_ERROR (batch_error_quark())
GQuark batch_error_quark(void);

typedef enum {
    BATCH_ERROR_FORMAT, /* not a batch, damaged, or of another version of jescope */
} BatchError;

/* BYTES may come from anywhere: every index, length and string of the result is valid. */
Batch *batch_read(GBytes *bytes, GError **error);
void batch_free(Batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Batch, batch_free)

BatchSample batch_sample(const Batch *batch, gsize stack);

/* The index of the value called NAME; -1: the dump does not carry it. */
int batch_value(const Batch *batch, const char *name);

#endif
