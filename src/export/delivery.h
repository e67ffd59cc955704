/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a queue to its destination, in order. After a failure the same batches are sent again after 1 s; the wait
 * doubles each time up to 5 minutes, is shortened at random by up to a half so that hosts do not retry together, and
 * respects Retry-After. An entry that fails repeatedly, possibly because of its content, while another one is accepted
 * is counted as refused: it would block all others. A Delivery is used by one thread at a time; other threads may read
 * its figures.
 */
#ifndef JESCOPE_EXPORT_DELIVERY_H
#define JESCOPE_EXPORT_DELIVERY_H

#include "export/queue.h"
#include "export/sink.h"

typedef struct Delivery Delivery;

/* Counters since delivery_new(). */
typedef struct {
    guint64 requests;  /* calls of the sink */
    guint64 failures;  /* calls that have to be repeated */
    guint64 bytes;     /* sent */
    gint64 success_us; /* time of the latest success, CLOCK_REALTIME; 0: none yet */
} DeliveryFigures;

typedef enum {
    DELIVERY_IDLE,   /* the queue is empty */
    DELIVERY_GOES,   /* something was sent or settled: call again */
    DELIVERY_WAITS,  /* wait until delivery_due_us() */
    DELIVERY_FAILED, /* the queue itself cannot be read or written */
} DeliveryState;

/* QUEUE and DESTINATION must outlive it, and this process must be the queue's sender (queue_begin_sending()). NULL with
 * ERROR if the destination can never work as configured. */
Delivery *delivery_new(Queue *queue, const Destination *destination, GError **error);
void delivery_free(Delivery *delivery);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Delivery, delivery_free)

/* Sends once, if due. ERROR says why batches were not accepted, also with DELIVERY_GOES (refused or damaged).
 * Blocks. */
DeliveryState delivery_step(Delivery *delivery, GError **error);

/* The g_get_monotonic_time() before which nothing is sent; 0: now. */
gint64 delivery_due_us(Delivery *delivery);

void delivery_figures(Delivery *delivery, DeliveryFigures *figures);

/* Microseconds to wait after FAILURES (at least 1) failures in a row; RANDOM is between 0 and 1. Pure. */
gint64 delivery_back_off_us(guint failures, guint retry_after_s, gdouble random);

#endif
