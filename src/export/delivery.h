/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a queue to its destination, in order. After a failure the same batches are sent again: after 1 s, then twice as
 * long each time up to 5 minutes, each wait shortened at random by up to a half so that hosts do not come back
 * together; and not before a Retry-After is over. An entry that fails again and again while another one is taken, with
 * an answer that may be due to its content, is counted as refused: it would hold up all others. A Delivery belongs to
 * one thread at a time; its figures may be read by others.
 */
#ifndef JESCOPE_EXPORT_DELIVERY_H
#define JESCOPE_EXPORT_DELIVERY_H

#include "export/queue.h"
#include "export/sink.h"

typedef struct Delivery Delivery;

/* Since delivery_new(). */
typedef struct {
    guint64 requests;  /* calls of the sink */
    guint64 failures;  /* of them that are to be repeated */
    guint64 bytes;     /* sent */
    gint64 success_us; /* of the latest success, CLOCK_REALTIME; 0: none yet */
} DeliveryFigures;

typedef enum {
    DELIVERY_IDLE,   /* nothing waits */
    DELIVERY_GOES,   /* something was sent or settled: more may wait */
    DELIVERY_WAITS,  /* for the time that delivery_due_us() says */
    DELIVERY_FAILED, /* the queue itself cannot be read or written */
} DeliveryState;

/* QUEUE and DESTINATION outlive it. The process is the queue's sender (queue_begin_sending()). NULL: the destination
 * can never be reached like this. */
Delivery *delivery_new(Queue *queue, const Destination *destination, GError **error);
void delivery_free(Delivery *delivery);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Delivery, delivery_free)

/* Sends once, if it is time. ERROR says what happened to batches that were not accepted, also with DELIVERY_GOES (they
 * were refused, or damaged). Blocks. */
DeliveryState delivery_step(Delivery *delivery, GError **error);

/* The time of g_get_monotonic_time() before which nothing is sent; 0: now. */
gint64 delivery_due_us(Delivery *delivery);

void delivery_figures(Delivery *delivery, DeliveryFigures *figures);

/* Microseconds to wait after FAILURES (at least 1) in a row; RANDOM is from 0 to 1. Pure. */
gint64 delivery_back_off_us(guint failures, guint retry_after_s, gdouble random);

#endif
