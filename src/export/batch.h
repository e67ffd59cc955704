/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is what is pushed: one heap dump with function names and the state of its process at that moment. It is built
 * once (batch-build.h), stored as bytes in the queue, and read from there by every sink.
 *
 * A Batch is immutable and owns its arrays and strings. Strings are printable UTF-8 (text/printable.h), never NULL, ""
 * if unknown. Any number of threads may read one.
 */
#ifndef JESCOPE_EXPORT_BATCH_H
#define JESCOPE_EXPORT_BATCH_H

#include <glib.h>

/* 2100-01-01: representable in every store and in GDateTime. */
#define BATCH_TIME_MAX (G_GINT64_CONSTANT(4102444800) * G_USEC_PER_SEC)

enum {
    BATCH_MAX_BYTES = 64 << 20,
    BATCH_MAX_STACKS = 1 << 16,       /* the lightest stacks beyond are summed up, see BatchDump.folded */
    BATCH_MAX_NAMES = 256 << 20,      /* bytes for all stacks, as counted by batch-form.h; stacks beyond are summed up,
                                       * too */
    BATCH_MAX_STACK_NAMES = 16 << 20, /* bytes for one stack */
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
    const char *build_id; /* lower-case hexadecimal; "" if the file has none or was not found */
} BatchObject;

/* An inlined call, or the physical function itself. All members except LINE are indexes into Batch.strings. */
typedef struct {
    guint32 function;
    guint32 system_name; /* the mangled name */
    guint32 file;        /* index of "": unknown */
    guint32 line;        /* 0: unknown */
} BatchLine;

/* A code location, identified by its file offset, which is the same in every process that runs this build. */
typedef struct {
    guint64 offset;     /* in the file; outside of all files, the address */
    guint32 object;     /* index into Batch.objects, or BATCH_NONE */
    guint32 first_line; /* index into Batch.lines: the innermost inlined function first, the physical function last */
    guint32 n_lines;    /* at least 1 */
    guint32 named;      /* 0: its one line is a placeholder, "[libfoo.so+0x1234]" */
} BatchLocation;

typedef struct {
    guint64 hash;  /* of build ids (or paths) and offsets: stable across processes, hosts and restarts; but the names
                    * are those of this batch: each process chooses the build ids of the files that it runs */
    guint32 first; /* index into Batch.frames: DEPTH indexes of locations, innermost first */
    guint32 depth; /* at least 1 */
} BatchStack;

/* The values of one stack: Batch.n_values estimates and as many variances, in the order of Batch.values. */
typedef struct {
    const gdouble *estimate;
    const gdouble *variance; /* square of the standard error; variances add up like estimates */
    gdouble births, deaths;  /* sampled objects allocated and freed, as in ProfileWeight; 0 if unknown */
} BatchSample;

typedef struct {
    const char *name; /* name of a ProfileValue, as in options: "inuse_space", "alloc_objects"... */
    const char *unit; /* "bytes", "objects", "bytes/s", "byte-seconds" */
} BatchValue;

typedef struct {
    const char *name; /* name of a ledger line: "slab-holes" */
    gint64 bytes, low, high;
} BatchLedgerLine;

typedef struct {
    const char *name; /* as in docs/metrics.md: "allocated", "arena.muzzy" */
    gboolean counter; /* otherwise a gauge */
    gdouble value;
} BatchMetric;

/* The dump and its process. Times are microseconds since 1970, 0: unknown. */
typedef struct {
    const char *id; /* BATCH_ID hexadecimal digits, unique to this dump of this process */
    const char *service;
    const char *host;
    const char *program;  /* path of its executable */
    const char *build_id; /* of its executable */
    gint64 time;          /* at most BATCH_TIME_MAX */
    gint64 since;         /* start of sampling */
    guint64 pid, start;
    guint64 period; /* mean bytes between samples */
    guint64 folded; /* number of stacks summed up in the one with the hash BATCH_REST */
} BatchDump;

/* The hash of the stack that sums up the others; its one frame is called "[other stacks]". */
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
    const gdouble *total; /* n_values estimates for the whole dump, then their variances */
    const BatchLedgerLine *ledger;
    const BatchMetric *metrics;
    const guint8 *heap; /* the symbolized dump as text (report format symbolized), gzip; NULL: not included */
    gsize n_labels, n_strings, n_objects, n_locations, n_lines, n_stacks, n_frames, n_values, n_ledger, n_metrics;
    gsize heap_size;
};

#define BATCH_ERROR (batch_error_quark())
GQuark batch_error_quark(void);

typedef enum {
    BATCH_ERROR_FORMAT, /* not a batch, damaged, or from another version of jescope */
} BatchError;

/* BYTES may be untrusted: every index, length and string of the result is validated. NULL with BATCH_ERROR. */
Batch *batch_read(GBytes *bytes, GError **error);
void batch_free(Batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Batch, batch_free)

BatchSample batch_sample(const Batch *batch, gsize stack);

/* The index of the value called NAME; -1 if the dump does not have it. */
int batch_value(const Batch *batch, const char *name);

#endif
