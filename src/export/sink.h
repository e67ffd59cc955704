/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink: a system that batches are pushed to. One file, NAME.c, which defines `const ExportSink NAME_sink`, and one
 * row in sinks.def. It turns batches into requests (http.h) or files, and says what became of them; the queue, the
 * order, retries and their intervals are delivery.h's.
 *
 * What every sink has to do:
 * - send() is given batches of one destination in the order they were taken, 1 to max_batches of them, and answers for
 *   all of them at once. What it reports as EXPORT_SENT is on the other side for certain.
 * - Batches may come again: after EXPORT_LATER, and after jescope was killed before it had noted EXPORT_SENT, then
 *   perhaps grouped otherwise. A sink whose system does not discard repetitions by itself has to use BatchDump.id,
 *   which is the same each time: as a name of the file, or as a column by which rows that came twice are recognized.
 * - It never cuts silently: what its system's limits do not admit is added up (as pprof.h does) and counted.
 * - Text of a batch comes from other users' programs. It is printable, and nothing else is known of it: each sink
 *   escapes it for its own language in one place.
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
    EXPORT_ERROR_ANSWER,      /* an answer that is not success */
    EXPORT_ERROR_FILE,
} ExportError;

typedef enum {
    EXPORT_SENT,
    EXPORT_LATER,   /* the same batches are to be sent again */
    EXPORT_REFUSED, /* they never will be accepted: they are counted and forgotten; a single one, if there are several,
                       is tried by itself first */
} ExportOutcome;

typedef struct {
    guint retry_after_s; /* with EXPORT_LATER: not before; 0: not said */
    guint64 bytes;       /* sent, bodies only */
    gboolean doubtful;   /* with EXPORT_LATER: it may be due to what was sent, not to the other side */
} ExportReply;

typedef enum {
    EXPORT_PLAIN = 0,
    EXPORT_WANTS_HEAP = 1 << 0, /* Batch.heap is to be there */
} ExportSinkFlags;

struct ExportSink {
    const char *name; /* also the scheme: NAME://HOST/... is https, or http with EXPORT_CLEAR; NAME+http, NAME+https */
    const char *summary; /* a phrase for the manual page */
    const char *form;    /* of its URL */
    ExportTransport transport;
    ExportSinkFlags flags;
    guint max_batches; /* that one send() takes */
    /* DESTINATION outlives it. Does not need the other side to be there: NULL only if it can never work. */
    gpointer (*new)(const Destination *destination, GError **error);
    void (*free)(gpointer state);
    /* Blocks, for minutes at most. ERROR is set unless EXPORT_SENT, as one line for the operator. Called by one thread
     * at a time. */
    ExportOutcome (*send)(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error);
};

/* All of them; NULL at the end. */
extern const ExportSink *const export_sinks[];

#endif
