/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that wait for one destination, in a directory on disk. Any number of threads and processes may add to it;
 * one at a time sends from it (queue_begin_sending()).
 *
 * What queue_add() has accepted is sent at least once, in the order of the calls, unless it is dropped for lack of
 * room, and then it is counted; whatever is killed, and also after a loss of power: each entry is a file (record.h)
 * that is written, synced (fdatasync), renamed and its directory synced before queue_add() returns. The file "state"
 * has the number of the first entry that is still wanted and the counters, and is replaced in the same way before an
 * entry is removed: an entry and its count change together. An entry that cannot be read is counted as damaged.
 */
#ifndef JESCOPE_EXPORT_QUEUE_H
#define JESCOPE_EXPORT_QUEUE_H

#include <glib.h>

typedef struct Queue Queue;

/* Of all the time that the queue exists. */
typedef struct {
    guint64 waiting;
    guint64 waiting_bytes;
    guint64 sent;
    guint64 dropped; /* the oldest, to make room */
    guint64 refused; /* by the other side */
    guint64 damaged;
} QueueFigures;

typedef enum {
    QUEUE_SENT,
    QUEUE_DROPPED,
    QUEUE_REFUSED,
    QUEUE_DAMAGED,
    QUEUE_ENDS,
} QueueEnd;

typedef struct {
    guint64 number;
    GBytes *content; /* NULL: damaged */
} QueueEntry;

/* The queue of the destination URL below ROOT, created if need be with mode 0700. Errors are EXPORT_ERROR_FILE, or of
 * G_FILE_ERROR. */
Queue *queue_open(const char *root, const char *url, guint64 max_bytes, GError **error);
void queue_close(Queue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Queue, queue_close)

/* Drops the oldest entries where CONTENT would not fit otherwise. FALSE: it was not added; it is larger than the queue,
 * or the disk is full. */
gboolean queue_add(Queue *queue, GBytes *content, GError **error);

/* FALSE without an error: another process sends from it. Until queue_close(). */
gboolean queue_begin_sending(Queue *queue, GError **error);

/* The oldest entries, at most N and, but for the first, of MAX_BYTES: of QueueEntry. They stay. A damaged one ends the
 * list. */
GPtrArray *queue_oldest(Queue *queue, guint n, guint64 max_bytes, GError **error);

/* One of the entries behind the oldest, by RANDOM from 0 to 1. NULL without an error: there is none. */
QueueEntry *queue_later(Queue *queue, gdouble random, GError **error);
void queue_entry_free(QueueEntry *entry);

/* Removes the entries up to LAST, which queue_oldest() has returned. Those that were dropped meanwhile are not counted
 * again. */
gboolean queue_settle(Queue *queue, guint64 last, QueueEnd end, GError **error);

gboolean queue_figures(Queue *queue, QueueFigures *figures, GError **error);

#endif
