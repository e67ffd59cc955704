/* SPDX-License-Identifier: Apache-2.0 */
#include "export/delivery.h"

enum {
    FIRST_WAIT_S = 1,
    LONGEST_WAIT_S = 300,
    PATIENCE = 3,             /* doubtful failures of an entry before another one is tried */
    BYTES_AT_ONCE = 64 << 20, /* bytes of batches per call of the sink, beside those of one more */
};

struct Delivery {
    Queue *queue;
    const ExportSink *sink;
    gpointer state;
    GMutex mutex; /* guards figures and due_us */
    DeliveryFigures figures;
    gint64 due_us;
    guint failures;     /* consecutive failures */
    guint64 alone_upto; /* entries up to this number are sent one by one, since one of them was or may be refused */
    guint doubts;       /* consecutive doubtful failures of the oldest entry */
    gboolean vouched;   /* another entry was accepted since the last of them */
};

/* Entries read from the queue, and their batches. */
typedef struct {
    GPtrArray *entries; /* of QueueEntry */
    GPtrArray *batches; /* of Batch: the first entries, up to one that cannot be read */
} Load;

static void
load_clear(Load *load)
{
    g_clear_pointer(&load->entries, g_ptr_array_unref);
    g_clear_pointer(&load->batches, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Load, load_clear)

Delivery *
delivery_new(Queue *queue, const Destination *destination, GError **error)
{
    gpointer state = destination->sink->new (destination, error);
    if (state == NULL)
        return NULL;
    Delivery *delivery = g_new0(Delivery, 1);
    delivery->queue = queue;
    delivery->sink = destination->sink;
    delivery->state = state;
    g_mutex_init(&delivery->mutex);
    return delivery;
}

void
delivery_free(Delivery *delivery)
{
    delivery->sink->free(delivery->state);
    g_mutex_clear(&delivery->mutex);
    g_free(delivery);
}

gint64
delivery_due_us(Delivery *delivery)
{
    g_mutex_lock(&delivery->mutex);
    gint64 due_us = delivery->due_us;
    g_mutex_unlock(&delivery->mutex);
    return due_us;
}

void
delivery_figures(Delivery *delivery, DeliveryFigures *figures)
{
    g_mutex_lock(&delivery->mutex);
    *figures = delivery->figures;
    g_mutex_unlock(&delivery->mutex);
}

gint64
delivery_back_off_us(guint failures, guint retry_after_s, gdouble random)
{
    guint doublings = MIN(failures - 1, 16);
    gdouble wait = MIN((gdouble)FIRST_WAIT_S * (1 << doublings), LONGEST_WAIT_S);
    gdouble jittered = wait * (1 - random / 2);
    return (gint64)(MAX(jittered, retry_after_s > 0 ? retry_after_s + random : 0) * G_USEC_PER_SEC);
}

static gboolean
take_load(const Delivery *delivery, Load *load, GError **error)
{
    guint n = delivery->sink->max_batches;
    load->entries = queue_oldest(delivery->queue, n, BYTES_AT_ONCE, error);
    load->batches = g_ptr_array_new_with_free_func((GDestroyNotify)batch_free);
    if (load->entries == NULL)
        return FALSE;
    for (guint i = 0; i < load->entries->len; i++) {
        const QueueEntry *entry = load->entries->pdata[i];
        Batch *batch = entry->content != NULL ? batch_read(entry->content, NULL) : NULL;
        if (batch == NULL)
            break;
        g_ptr_array_add(load->batches, batch);
        if (entry->number <= delivery->alone_upto)
            break;
    }
    return TRUE;
}

static guint64
number_at(const Load *load, guint i)
{
    return ((const QueueEntry *)load->entries->pdata[i])->number;
}

static void
note_sent(Delivery *delivery, const ExportReply *reply, ExportOutcome outcome)
{
    g_mutex_lock(&delivery->mutex);
    delivery->figures.requests++;
    delivery->figures.bytes += reply->bytes;
    delivery->failures = outcome == EXPORT_LATER ? delivery->failures + 1 : 0;
    delivery->figures.failures += outcome == EXPORT_LATER;
    delivery->due_us = 0;
    if (outcome == EXPORT_SENT)
        delivery->figures.success_us = g_get_real_time();
    else if (outcome == EXPORT_LATER)
        delivery->due_us =
            g_get_monotonic_time() + delivery_back_off_us(delivery->failures, reply->retry_after_s, g_random_double());
    g_mutex_unlock(&delivery->mutex);
}

static DeliveryState
settle(Delivery *delivery, guint64 last, QueueEnd end, GError **error)
{
    return queue_settle(delivery->queue, last, end, error) ? DELIVERY_GOES : DELIVERY_FAILED;
}

static DeliveryState
settle_damaged(Delivery *delivery, guint64 number, GError **error)
{
    if (settle(delivery, number, QUEUE_DAMAGED, error) == DELIVERY_FAILED)
        return DELIVERY_FAILED;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "an entry of the queue is damaged and was left out");
    return DELIVERY_GOES;
}

static DeliveryState
settle_refused(Delivery *delivery, const Load *load, GError *cause, GError **error)
{
    guint64 last = number_at(load, load->batches->len - 1);
    if (load->batches->len > 1) {
        delivery->alone_upto = last;
        g_error_free(cause);
        return DELIVERY_GOES;
    }
    if (settle(delivery, last, QUEUE_REFUSED, error) == DELIVERY_FAILED) {
        g_error_free(cause);
        return DELIVERY_FAILED;
    }
    g_propagate_prefixed_error(error, cause, "a batch was refused: ");
    return DELIVERY_GOES;
}

static ExportOutcome
send(Delivery *delivery, const GPtrArray *batches, gboolean *doubtful, GError **error)
{
    ExportReply reply = {0};
    ExportOutcome outcome = delivery->sink->send(delivery->state, (const Batch *const *)(gconstpointer)batches->pdata,
                                                 batches->len, &reply, error);
    note_sent(delivery, &reply, outcome);
    *doubtful = outcome == EXPORT_LATER && reply.doubtful;
    return outcome;
}

/* The oldest entry fails repeatedly and may block all others because of its content: tests whether another entry is
 * accepted. That one stays in the queue and is sent again in its turn. */
static DeliveryState
send_another(Delivery *delivery, GError **error)
{
    gboolean doubtful;
    QueueEntry *entry = queue_later(delivery->queue, g_random_double(), error);
    g_autoptr(GPtrArray) batches = g_ptr_array_new_with_free_func((GDestroyNotify)batch_free);
    Batch *batch = entry != NULL && entry->content != NULL ? batch_read(entry->content, NULL) : NULL;
    DeliveryState state = DELIVERY_WAITS;
    delivery->doubts = PATIENCE - 1;
    if (batch != NULL) {
        g_ptr_array_add(batches, batch);
        delivery->vouched = send(delivery, batches, &doubtful, error) == EXPORT_SENT;
        state = delivery->vouched ? DELIVERY_GOES : DELIVERY_WAITS;
    }
    g_clear_pointer(&batches, g_ptr_array_unref);
    g_clear_pointer(&entry, queue_entry_free);
    return state;
}

/* Handles a failure that the content may have caused. */
static DeliveryState
doubt(Delivery *delivery, const Load *load, GError *cause, GError **error)
{
    delivery->alone_upto = MAX(delivery->alone_upto, number_at(load, load->batches->len - 1));
    if (!delivery->vouched) {
        delivery->doubts += load->batches->len == 1;
        g_propagate_error(error, cause);
        return DELIVERY_WAITS;
    }
    delivery->vouched = FALSE;
    delivery->doubts = PATIENCE - 1; /* so that one failure of the next entry is enough */
    return settle_refused(delivery, load, cause, error);
}

DeliveryState
delivery_step(Delivery *delivery, GError **error)
{
    g_auto(Load) load = {0};
    GError *cause = NULL;
    gboolean doubtful;
    if (delivery->due_us > g_get_monotonic_time())
        return DELIVERY_WAITS;
    if (delivery->doubts >= PATIENCE)
        return send_another(delivery, error);
    if (!take_load(delivery, &load, error))
        return DELIVERY_FAILED;
    if (load.entries->len == 0)
        return DELIVERY_IDLE;
    if (load.batches->len == 0)
        return settle_damaged(delivery, number_at(&load, 0), error);
    ExportOutcome outcome = send(delivery, load.batches, &doubtful, &cause);
    if (doubtful)
        return doubt(delivery, &load, cause, error);
    delivery->doubts = 0;
    delivery->vouched = FALSE;
    if (outcome == EXPORT_SENT)
        return settle(delivery, number_at(&load, load.batches->len - 1), QUEUE_SENT, error);
    if (outcome == EXPORT_REFUSED)
        return settle_refused(delivery, &load, cause, error);
    g_propagate_error(error, cause);
    return DELIVERY_WAITS;
}
