/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from any thread to a main context: functions that are called there, in the order of posting. */
#ifndef JESCOPE_SERVICE_MESSAGE_QUEUE_H
#define JESCOPE_SERVICE_MESSAGE_QUEUE_H

#include <glib.h>

typedef struct MessageQueue MessageQueue;

MessageQueue *message_queue_new(GMainContext *context);

/* Calls FUNC soon, unless the queue is closed first. FREE_DATA (may be NULL) is always called. */
void message_queue_post(MessageQueue *queue, GSourceFunc func, gpointer data, GDestroyNotify free_data);

/* Discards waiting messages. Called in the queue's context, possibly from within FUNC. */
void message_queue_close(MessageQueue *queue);

/* To be called after message_queue_close(), when no thread posts any more. */
void message_queue_unref(MessageQueue *queue);

#endif
