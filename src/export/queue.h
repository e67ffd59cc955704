/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A persistent queue of batches for one destination, in a directory. Any number of threads and processes may add to it;
 * one process at a time sends from it (queue_begin_sending()).
 *
 * What queue_add() has accepted is sent at least once, in the order of the calls, even after a crash or a power
 * failure, unless it is dropped for lack of space, which is counted: each entry is a file (record.h) that is written,
 * synced (fdatasync), renamed and its directory synced before queue_add() returns. The file "state" has the number of
 * the oldest entry that is still needed, the numbers after it that are not, and the counters; it is replaced in the
 * same way before entries are removed, so that an entry and its count change together: the next reader of the state
 * removes the files that are left of them. A number is never used again. An entry that cannot be read is counted as
 * damaged.
 *
 * Each entry is charged to an account (confine/account.h), which its file's name has. Where there is no room, the
 * account with most loses its oldest entries (confine/eviction.h): while a destination does not answer, the large
 * batches of one user's processes do not displace those of others.
 */
#ifndef JESCOPE_EXPORT_QUEUE_H
#define JESCOPE_EXPORT_QUEUE_H

#include <glib.h>

typedef struct Queue Queue;

enum {
    QUEUE_ENTRIES_MAX = 16384, /* all are listed for each that is added, while others wait */
};

/* Of entries whose names have no account, such as those of earlier versions. */
#define QUEUE_ACCOUNT_UNKNOWN G_MAXUINT64

/* Figures of a queue; counters cover its whole life. */
typedef struct {
    guint64 waiting;
    guint64 waiting_bytes;
    guint64 sent;
    guint64 dropped; /* to make room */
    guint64 refused; /* by the destination */
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

/* Opens the queue of the destination URL below ROOT; creates it with mode 0700 if needed. NULL with EXPORT_ERROR_FILE
 * or a G_FILE_ERROR. */
Queue *queue_open(const char *root, const char *url, guint64 max_bytes, GError **error);
void queue_close(Queue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Queue, queue_close)

/* Adds CONTENT, charged to ACCOUNT; if it would not fit otherwise, the account with most, CONTENT included, loses its
 * oldest entries. FALSE with ERROR if it was not added because it would be the first to leave itself, which includes
 * that it is larger than the queue, or because the disk is full. */
gboolean queue_add(Queue *queue, GBytes *content, guint64 account, GError **error);

/* Makes this process the sender until queue_close(). FALSE without an error if another process is. */
gboolean queue_begin_sending(Queue *queue, GError **error);

/* The oldest entries, of QueueEntry: at most N, of which all but the last have less than MAX_BYTES of content together.
 * They stay in the queue. A damaged entry ends the list. */
GPtrArray *queue_oldest(Queue *queue, guint n, guint64 max_bytes, GError **error);

/* An entry other than the oldest, selected by RANDOM between 0 and 1. NULL without an error if there is none. */
QueueEntry *queue_later(Queue *queue, gdouble random, GError **error);
void queue_entry_free(QueueEntry *entry);

/* Removes the entries up to the number LAST, from queue_oldest(), and counts them as END. Entries dropped meanwhile are
 * not counted again. */
gboolean queue_settle(Queue *queue, guint64 last, QueueEnd end, GError **error);

gboolean queue_figures(Queue *queue, QueueFigures *figures, GError **error);

#endif
