/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes in rounds (export/schedule.h) until a signal: this process takes the dumps and has one thread, since it
 * confines their readers; a child sends them, so that a slow or absent destination delays no dump. The two are
 * connected by the queue on disk.
 */
#ifndef JESCOPE_CLI_PUSH_EVERY_H
#define JESCOPE_CLI_PUSH_EVERY_H

#include "cli/push-batch.h"
#include "export/delivery.h"
#include "export/schedule.h"

typedef struct {
    char *const *names; /* of processes, NULL at the end: each round searches for them again */
    PushBatchOptions batch;
    const Destination *destination;
    const char *queue_root;
    guint64 queue_bytes;
    Schedule schedule;
} PushEvery;

#define PUSH_QUEUE_BYTES ((guint64)256 << 20)
#define PUSH_EVERY_US    (5 * 60 * G_USEC_PER_SEC)

/* The default directory of queued batches. To be freed. */
char *push_queue_default(void);

/* FALSE with CLI_ERROR_USAGE: the interval of rounds or the share of dumps is out of range. */
gboolean push_schedule_check(const Schedule *schedule, GError **error);

/* Returns an exit status. */
int push_every(const PushEvery *every, GError **error);

#endif
