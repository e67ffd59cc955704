/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from any thread to a main context: functions that are called there, in the order in which they were sent. */
#ifndef JESCOPE_SERVICE_MESSAGE_QUEUE_H
#define JESCOPE_SERVICE_MESSAGE_QUEUE_H

#include <glib.h>

typedef struct MessageQueue MessageQueue;

MessageQueue *message_queue_new(GMainContext *context);

/* Calls FUNC soon, unless the queue is closed before. FREE_DATA (may be NULL) is called in any case. */
void message_queue_post(MessageQueue *queue, GSourceFunc func, gpointer data, GDestroyNotify free_data);

/* Discards the messages that wait. On the queue's context, also from within FUNC. */
void message_queue_close(MessageQueue *queue);

/* After message_queue_close(), once no thread posts any more. */
void message_queue_unref(MessageQueue *queue);

#endif
