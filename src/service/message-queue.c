/* SPDX-License-Identifier: Apache-2.0 */
#include "service/message-queue.h"

enum {
    DISPATCHED_AT_ONCE = 256, /* messages per dispatch, before other sources of the main context run */
};

typedef struct {
    GSourceFunc func;
    gpointer data;
    GDestroyNotify free_data;
} Message;

struct MessageQueue {
    gatomicrefcount references;
    GSource *source;
    GMutex lock; /* guards the following */
    GQueue messages;
    gboolean closed;
};

static void
free_message(gpointer data)
{
    Message *message = data;
    if (message->free_data != NULL)
        message->free_data(message->data);
    g_free(message);
}

void
message_queue_post(MessageQueue *queue, GSourceFunc func, gpointer data, GDestroyNotify free_data)
{
    Message *message = g_new(Message, 1);
    *message = (Message){func, data, free_data};
    g_mutex_lock(&queue->lock);
    gboolean closed = queue->closed;
    if (!closed) {
        g_queue_push_tail(&queue->messages, message);
        g_source_set_ready_time(queue->source, 0);
    }
    g_mutex_unlock(&queue->lock);
    if (closed)
        free_message(message);
}

/* The next message; NULL if there is none, and the source then waits. */
static Message *
take(MessageQueue *queue)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&queue->lock);
    Message *message = g_queue_pop_head(&queue->messages);
    if (message == NULL && !queue->closed)
        g_source_set_ready_time(queue->source, -1);
    return message;
}

static gboolean
deliver(gpointer data)
{
    Message *message;
    for (guint n = 0; n < DISPATCHED_AT_ONCE && (message = take(data)) != NULL; n++) {
        message->func(message->data);
        free_message(message);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean
dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    return callback(data);
}

static void
unref_queue(gpointer queue)
{
    message_queue_unref(queue);
}

MessageQueue *
message_queue_new(GMainContext *context)
{
    static GSourceFuncs funcs = {.dispatch = dispatch};
    MessageQueue *queue = g_new0(MessageQueue, 1);
    g_atomic_ref_count_init(&queue->references);
    g_mutex_init(&queue->lock);
    g_queue_init(&queue->messages);
    queue->source = g_source_new(&funcs, sizeof(GSource));
    /* A message may free the service: the source's reference, which GLib drops after its callback has returned, keeps
     * the queue alive. */
    g_atomic_ref_count_inc(&queue->references);
    g_source_set_callback(queue->source, deliver, queue, unref_queue);
    g_source_attach(queue->source, context);
    return queue;
}

void
message_queue_close(MessageQueue *queue)
{
    g_mutex_lock(&queue->lock);
    GQueue messages = queue->messages;
    queue->closed = TRUE;
    g_queue_init(&queue->messages);
    g_mutex_unlock(&queue->lock);
    g_source_destroy(queue->source);
    g_queue_clear_full(&messages, free_message);
}

void
message_queue_unref(MessageQueue *queue)
{
    if (!g_atomic_ref_count_dec(&queue->references))
        return;
    g_source_unref(queue->source);
    g_mutex_clear(&queue->lock);
    g_free(queue);
}
