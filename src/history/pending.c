/* SPDX-License-Identifier: Apache-2.0 */
#include "history/pending.h"

typedef struct {
    HistoryLife life;
    char *target, *boot, *version;
    StatsSample *sample; /* NULL: a note */
    gint64 time_us;
    char *note;
} Item;

struct Pending {
    History *history;
    HistoryParts parts;
    GQueue items;
    guint64 written;
    guint64 lost;
};

static void
free_item(gpointer data)
{
    Item *item = data;
    g_clear_pointer(&item->sample, stats_sample_unref);
    g_free(item->target);
    g_free(item->boot);
    g_free(item->version);
    g_free(item->note);
    g_free(item);
}

Pending *
pending_new(History *history, HistoryParts parts)
{
    Pending *pending = g_new0(Pending, 1);
    pending->history = history;
    pending->parts = parts;
    g_queue_init(&pending->items);
    return pending;
}

void
pending_free(Pending *pending)
{
    if (pending == NULL)
        return;
    g_queue_clear_full(&pending->items, free_item);
    g_free(pending);
}

void
pending_set_parts(Pending *pending, HistoryParts parts)
{
    pending->parts = parts;
}

static void
push(Pending *pending, Item *item)
{
    g_queue_push_tail(&pending->items, item);
    if (pending->items.length <= PENDING_MAX)
        return;
    Item *oldest = g_queue_pop_head(&pending->items);
    pending->lost += oldest->sample != NULL;
    free_item(oldest);
}

void
pending_add(Pending *pending, const HistoryLife *life, StatsSample *sample)
{
    Item *item = g_new0(Item, 1);
    item->life = *life;
    item->life.target = item->target = g_strdup(life->target);
    item->life.boot = item->boot = g_strdup(life->boot);
    item->life.version = item->version = g_strdup(life->version);
    item->sample = stats_sample_ref(sample);
    push(pending, item);
}

void
pending_note(Pending *pending, const char *target, gint64 time_us, const char *text)
{
    Item *item = g_new0(Item, 1);
    item->target = g_strdup(target);
    item->note = g_strdup(text);
    item->time_us = time_us;
    push(pending, item);
}

static gboolean
write_item(const Pending *pending, const Item *item, GError **error)
{
    gint64 incarnation;
    if (item->sample == NULL)
        return history_note(pending->history, item->target, item->time_us, item->note, error);
    return history_begin(pending->history, &item->life, &incarnation, error) &&
           history_add(pending->history, incarnation, item->sample, pending->parts, error);
}

gboolean
pending_flush(Pending *pending, GError **error)
{
    while (!g_queue_is_empty(&pending->items)) {
        if (!write_item(pending, g_queue_peek_head(&pending->items), error))
            return FALSE;
        Item *item = g_queue_pop_head(&pending->items);
        pending->written += item->sample != NULL;
        free_item(item);
    }
    return TRUE;
}

guint64
pending_written(const Pending *pending)
{
    return pending->written;
}

guint64
pending_lost(const Pending *pending)
{
    return pending->lost;
}

guint
pending_length(const Pending *pending)
{
    guint samples = 0;
    for (const GList *link = pending->items.head; link != NULL; link = link->next)
        samples += ((const Item *)link->data)->sample != NULL;
    return samples;
}
