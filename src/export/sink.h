/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink: a system that batches are pushed to. It consists of a file NAME.c, which defines `const ExportSink
 * NAME_sink`, and a row in sinks.def. It converts batches to requests (http.h) or files and reports the outcome; the
 * queue, the order and retries are the task of delivery.h.
 *
 * Requirements for every sink:
 * - send() receives 1 to max_batches batches of one destination, in the order they were taken, and returns one outcome
 *   for all. EXPORT_SENT means that the destination has confirmed them.
 * - Batches may be sent again, possibly in other groups: after EXPORT_LATER, and if jescope was killed before it
 *   recorded EXPORT_SENT. If the system does not discard duplicates itself, the sink has to use BatchDump.id, which is
 *   the same each time, as the file name or as a column that identifies duplicate rows.
 * - A sink never truncates silently: what exceeds its system's limits is summed up (as in pprof.h) and counted.
 * - Text in a batch comes from other users' programs. It is printable but otherwise untrusted: each sink escapes it for
 *   its own format in one place.
 */
#ifndef JESCOPE_EXPORT_SINK_H
#define JESCOPE_EXPORT_SINK_H

#include "export/batch.h"
#include "export/destination.h"

#define EXPORT_ERROR (export_error_quark())
GQuark export_error_quark(void);

typedef enum {
    EXPORT_ERROR_DESTINATION, /* a URL or its options */
    EXPORT_ERROR_UNREACHED,   /* no answer */
    EXPORT_ERROR_ANSWER,      /* an answer other than success */
    EXPORT_ERROR_FILE,
} ExportError;

typedef enum {
    EXPORT_SENT,
    EXPORT_LATER,   /* send the same batches again */
    EXPORT_REFUSED, /* they will never be accepted: they are counted and dropped; of several, each is first tried
                     * alone */
} ExportOutcome;

typedef struct {
    guint retry_after_s; /* with EXPORT_LATER: minimum wait; 0: unspecified */
    guint64 bytes;       /* bytes sent, bodies only */
    gboolean doubtful;   /* with EXPORT_LATER: the content may be the cause */
} ExportReply;

typedef enum {
    EXPORT_PLAIN = 0,
    EXPORT_WANTS_HEAP = 1 << 0, /* needs Batch.heap */
} ExportSinkFlags;

struct ExportSink {
    const char *name;    /* also the URL scheme: NAME://HOST/... is https, or http with EXPORT_CLEAR; NAME+http,
                          * NAME+https */
    const char *summary; /* a phrase for the manual page */
    const char *form;    /* form of its URL */
    ExportTransport transport;
    ExportSinkFlags flags;
    guint max_batches; /* maximum number per send() */
    /* DESTINATION outlives the state. Does not connect: NULL with ERROR only if the configuration can never work. */
    gpointer (*new)(const Destination *destination, GError **error);
    void (*free)(gpointer state);
    /* Blocks, for minutes at most. Unless EXPORT_SENT, sets ERROR to one line for the operator. Called by one thread at
     * a time. */
    ExportOutcome (*send)(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error);
};

/* All sinks, NULL-terminated. */
extern const ExportSink *const export_sinks[];

#endif
