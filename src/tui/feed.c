/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/feed.h"

#include "client/document.h"
#include "target/target.h"
#include "text/printable.h"

#include <string.h>

enum {
    TEXTS = 7,
    MESSAGE_COLUMNS = 1024,
};

static void
list_texts(RouteStatus *status, const char **texts[static TEXTS])
{
    const char **const all[TEXTS] = {&status->name, &status->series,    &status->state,        &status->reach,
                                     &status->user, &status->arguments, &status->control_group};
    memcpy(texts, all, sizeof(all));
}

FeedTarget *
feed_target_new(const char *key, const RouteStatus *status)
{
    FeedTarget *target = g_new0(FeedTarget, 1);
    target->key = g_strdup(key);
    target->status = *status;
    const char **texts[TEXTS];
    list_texts(&target->status, texts);
    for (guint i = 0; i < TEXTS; i++)
        *texts[i] = g_strdup(*texts[i] != NULL ? *texts[i] : "");
    const char *blank = strchr(target->status.arguments, ' ');
    target->arguments = blank != NULL ? blank + 1 : "";
    return target;
}

void
feed_target_free(gpointer data)
{
    FeedTarget *target = data;
    const char **texts[TEXTS];
    list_texts(&target->status, texts);
    for (guint i = 0; i < TEXTS; i++)
        g_free((gpointer)(guintptr)*texts[i]);
    g_clear_pointer(&target->sample, stats_sample_unref);
    g_free(target->key);
    g_free(target);
}

FeedFrame *
feed_frame_new(gint64 time_us)
{
    FeedFrame *frame = g_new0(FeedFrame, 1);
    frame->time_us = time_us;
    frame->targets = g_ptr_array_new_with_free_func(feed_target_free);
    return frame;
}

void
feed_frame_free(FeedFrame *frame)
{
    if (frame == NULL)
        return;
    g_ptr_array_unref(frame->targets);
    g_free(frame->trouble);
    g_free(frame);
}

void
feed_free(Feed *feed)
{
    if (feed != NULL)
        feed->ops->free(feed);
}

gint64
feed_next_ledger(gint64 lasted_us)
{
    enum { SHARE = 100 };
    return g_get_monotonic_time() + MAX(G_USEC_PER_SEC, lasted_us * SHARE);
}

static void
take_error(const json_t *document, GError **error)
{
    const json_t *said = json_object_get(document, "error");
    const char *message = json_string_value(json_object_get(said, "message"));
    g_autofree char *shown = text_cut(message != NULL ? message : "it failed", MESSAGE_COLUMNS);
    if (said != NULL)
        g_set_error_literal(error, TARGET_ERROR, OUTCOME_SYSTEM, shown);
}

void
feed_answer(const Feed *feed, guint id, const char *body, const GError *error)
{
    g_autoptr(GError) made = NULL;
    json_t *document = body != NULL ? document_parse(body, strlen(body), error == NULL ? &made : NULL) : NULL;
    if (error != NULL)
        made = g_error_copy(error);
    else if (document != NULL)
        take_error(document, &made);
    if (feed->sink.answer != NULL)
        feed->sink.answer(id, made == NULL ? document : NULL, made, feed->sink.data);
    json_decref(document);
}

typedef struct {
    Feed *feed;
    guint id;
    GError *error;
} Later;

static void
free_later(gpointer data)
{
    Later *later = data;
    g_error_free(later->error);
    g_free(later);
}

static gboolean
answer_now(gpointer data)
{
    const Later *later = data;
    feed_answer(later->feed, later->id, NULL, later->error);
    return G_SOURCE_REMOVE;
}

void
feed_answer_later(Feed *feed, guint id, const GError *error)
{
    Later *later = g_new(Later, 1);
    *later = (Later){feed, id, g_error_copy(error)};
    g_idle_add_full(G_PRIORITY_DEFAULT, answer_now, later, free_later);
}
