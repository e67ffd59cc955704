/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/model.h"

#include "confine/keyed-hash.h"

#include <string.h>

enum {
    SORT_RSS = 2, /* the initial sort column */
};

static void
free_event(gpointer data)
{
    ModelEvent *event = data;
    g_free(event->target);
    g_free(event->text);
    g_free(event);
}

Model *
model_new(Feed *feed)
{
    Model *model = g_new0(Model, 1);
    model->feed = feed;
    model->paused = feed != NULL && feed->ops->replays;
    model->tracks = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, (GDestroyNotify)track_free);
    model->covers = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    model->events = g_ptr_array_new_with_free_func(free_event);
    model->line.typed = g_string_new(NULL);
    model->filter = g_strdup("");
    model->sort = SORT_RSS;
    return model;
}

static void
drop_question(Model *model)
{
    Question question = model->question;
    model->question = (Question){0};
    g_free(question.text);
    if (question.free_data != NULL)
        question.free_data(question.data);
}

void
model_free(Model *model)
{
    if (model == NULL)
        return;
    drop_question(model);
    if (model->explore != NULL)
        model->free_explore(model->explore);
    feed_frame_free(model->frame);
    g_hash_table_unref(model->tracks);
    g_hash_table_unref(model->covers);
    g_ptr_array_unref(model->events);
    g_clear_pointer(&model->detail, stats_sample_unref);
    g_string_free(model->line.typed, TRUE);
    g_free(model->place.key);
    g_free(model->filter);
    g_free(model->opened);
    g_free(model->message);
    g_free(model);
}

/* ---- frames ---- */

static FeedTarget *
find_in(const FeedFrame *frame, const char *key)
{
    for (guint i = 0; frame != NULL && key != NULL && i < frame->targets->len; i++)
        if (strcmp(((const FeedTarget *)frame->targets->pdata[i])->key, key) == 0)
            return frame->targets->pdata[i];
    return NULL;
}

FeedTarget *
model_find(const Model *model, const char *key)
{
    return find_in(model->frame, key);
}

FeedTarget *
model_opened(const Model *model)
{
    return model_find(model, model->opened);
}

const Track *
model_track(const Model *model, const FeedTarget *target)
{
    return g_hash_table_lookup(model->tracks, target->key);
}

static void
note_points(Model *model, const FeedFrame *frame)
{
    if (frame->begins)
        g_hash_table_remove_all(model->tracks);
    for (guint i = 0; i < frame->targets->len; i++) {
        const FeedTarget *target = frame->targets->pdata[i];
        Track *track = g_hash_table_lookup(model->tracks, target->key);
        if (target->gone || target->late)
            continue;
        if (track == NULL) {
            track = track_new();
            g_hash_table_insert(model->tracks, g_strdup(target->key), track);
        }
        track_add(track, frame->time_us, target->status.figures);
    }
}

/* Keeps targets that are not in FRAME any more in their last state, marked as gone; always the opened one. */
static void
keep_gone(Model *model, FeedFrame *frame)
{
    guint kept = 0;
    g_autoptr(GHashTable) keys = g_hash_table_new(keyed_hash_string, g_str_equal);
    for (guint i = 0; i < frame->targets->len; i++)
        g_hash_table_add(keys, ((FeedTarget *)frame->targets->pdata[i])->key);
    for (guint i = model->frame->targets->len; i > 0; i--) {
        const FeedTarget *target = model->frame->targets->pdata[i - 1];
        gboolean opened = g_strcmp0(target->key, model->opened) == 0;
        if (g_hash_table_contains(keys, target->key))
            continue;
        if (kept >= GONE_SHOWN && !opened) {
            g_hash_table_remove(model->tracks, target->key);
            continue;
        }
        FeedTarget *gone = g_ptr_array_steal_index(model->frame->targets, i - 1);
        gone->gone = TRUE;
        g_ptr_array_add(frame->targets, gone);
        kept++;
    }
}

void
model_take_frame(FeedFrame *frame, gpointer data)
{
    Model *model = data;
    /* No new data: the previous targets stay. */
    if (frame->trouble != NULL && model->frame != NULL) {
        g_free(model->frame->trouble);
        model->frame->trouble = g_steal_pointer(&frame->trouble);
        feed_frame_free(frame);
        return;
    }
    note_points(model, frame);
    if (model->frame != NULL && !frame->begins)
        keep_gone(model, frame);
    feed_frame_free(model->frame);
    model->frame = frame;
}

void
model_take_detail(const char *key, StatsSample *sample, gpointer data)
{
    Model *model = data;
    if (g_strcmp0(key, model->opened) != 0)
        return;
    g_clear_pointer(&model->detail, stats_sample_unref);
    model->detail = stats_sample_ref(sample);
}

void
model_take_ledger(const char *key, const LedgerTaken *ledger, gpointer data)
{
    Model *model = data;
    if (ledger == NULL || g_strcmp0(key, model->opened) != 0)
        return;
    model->ledger = ledger->ledger;
    model->ledger_us = ledger->time_us;
}

void
model_take_event(const FeedEvent *event, gpointer data)
{
    Model *model = data;
    ModelEvent *kept = g_new0(ModelEvent, 1);
    kept->time_us = event->time_us;
    kept->target = g_strdup(event->target);
    kept->text = g_strdup(event->text);
    g_ptr_array_add(model->events, kept);
    if (model->events->len > EVENTS_SHOWN)
        g_ptr_array_remove_index(model->events, 0);
}

void
model_drop_events(gpointer data)
{
    g_ptr_array_set_size(((Model *)data)->events, 0);
}

gboolean
model_is_event_of(const ModelEvent *event, const FeedTarget *target)
{
    return strcmp(event->target, target->key) == 0;
}

double
model_coverage(const Model *model, const FeedTarget *target)
{
    const double *share = g_hash_table_lookup(model->covers, target->key);
    return share != NULL ? *share : -1;
}

void
model_take_coverage(Model *model, double explained)
{
    const FeedTarget *target = model_opened(model);
    guint64 held = target != NULL ? target->status.figures[STATUS_HELD] : STATUS_UNKNOWN;
    if (held == STATUS_UNKNOWN || held == 0 || !(explained >= 0))
        return;
    const double share = MIN(explained / (double)held, 1);
    g_hash_table_replace(model->covers, g_strdup(target->key), g_memdup2(&share, sizeof(share)));
}

/* ---- screens ---- */

ViewKind
model_view(const Model *model)
{
    return model->views[model->depth];
}

void
model_enter(Model *model, ViewKind view)
{
    if (model_view(model) == view || model->depth + 1 >= VIEW_DEPTH)
        return;
    model->views[++model->depth] = view;
    model->scroll = 0;
}

static void
watch(Model *model)
{
    g_clear_pointer(&model->detail, stats_sample_unref);
    model->ledger_us = 0;
    if (model->feed != NULL && model->feed->ops->watch != NULL)
        model->feed->ops->watch(model->feed, model->opened);
}

void
model_leave(Model *model)
{
    if (model->depth == 0)
        return;
    model->depth--;
    model->scroll = 0;
    if (model_view(model) != VIEW_TARGETS)
        return;
    g_clear_pointer(&model->opened, g_free);
    watch(model);
}

void
model_open(Model *model, const char *key)
{
    g_free(model->opened);
    model->opened = g_strdup(key);
    model_enter(model, VIEW_TARGET);
    watch(model);
}

void
model_show_message(Model *model, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(model->message);
    model->message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

void
model_ask(Model *model, const Question *question)
{
    drop_question(model);
    model->question = *question;
}

/* ---- keys ---- */

static gboolean
answer_question(Model *model, const Key *key)
{
    gboolean yes = key->code == KEY_IS_LETTER && (key->letter == 'y' || key->letter == 'Y');
    if (yes)
        model->question.yes(model, model->question.data);
    drop_question(model);
    return TRUE;
}

void
model_type(Model *model, const char *prompt, const char *text, void (*done)(struct Model *model, const char *text))
{
    model->line.prompt = prompt;
    model->line.done = done;
    g_string_assign(model->line.typed, text != NULL ? text : "");
}

static void
end_line(Model *model)
{
    model->line.prompt = NULL;
    model->line.done(model, model->line.typed->str);
}

static void
erase_letter(GString *typed)
{
    const char *last = g_utf8_find_prev_char(typed->str, typed->str + typed->len);
    if (last != NULL)
        g_string_truncate(typed, (gsize)(last - typed->str));
}

static gboolean
type_line(Model *model, const Key *key)
{
    enum { TYPED_MAX = 200 };
    GString *typed = model->line.typed;
    if (key->code == KEY_IS_ENTER)
        end_line(model);
    else if (key->code == KEY_IS_ESCAPE)
        model->line.prompt = NULL;
    else if (key->code == KEY_IS_ERASE)
        erase_letter(typed);
    else if (key->code == KEY_IS_LETTER && g_unichar_isprint(key->letter) && typed->len < TYPED_MAX)
        g_string_append_unichar(typed, key->letter);
    return TRUE;
}

static void
toggle_pause(Model *model)
{
    model->paused = !model->paused;
    if (model->feed != NULL && model->feed->ops->pause != NULL)
        model->feed->ops->pause(model->feed, model->paused);
}

gboolean
model_key_first(Model *model, const Key *key)
{
    g_clear_pointer(&model->message, g_free);
    if (model->question.text != NULL)
        return answer_question(model, key);
    return model->line.prompt != NULL && type_line(model, key);
}

gboolean
model_key_common(Model *model, const Key *key)
{
    if (key->code == KEY_IS_ESCAPE || key->code == KEY_IS_LEFT)
        model_leave(model);
    else if (key->code != KEY_IS_LETTER)
        return FALSE;
    else if (key->letter == 'q')
        model->quit = TRUE;
    else if (key->letter == '?' || key->letter == 'h')
        model_enter(model, VIEW_HELP);
    else if (key->letter == ' ' || key->letter == 'Z')
        toggle_pause(model);
    else
        return FALSE;
    return TRUE;
}

gboolean
list_move(guint *row, const Key *key, guint count, guint page)
{
    guint last = count > 0 ? count - 1 : 0;
    guint step = MAX(page, 1);
    gunichar letter = key->code == KEY_IS_LETTER ? key->letter : 0;
    if (key->code == KEY_IS_UP || letter == 'k')
        *row -= MIN(*row, 1);
    else if (key->code == KEY_IS_DOWN || letter == 'j')
        *row = MIN(*row + 1, last);
    else if (key->code == KEY_IS_PAGE_UP)
        *row -= MIN(*row, step);
    else if (key->code == KEY_IS_PAGE_DOWN)
        *row = MIN(*row + step, last);
    else if (key->code == KEY_IS_HOME || letter == 'g')
        *row = 0;
    else if (key->code == KEY_IS_END || letter == 'G')
        *row = last;
    else
        return FALSE;
    return TRUE;
}

void
list_show(guint *top, guint row, guint count, guint page)
{
    if (row < *top)
        *top = row;
    if (page > 0 && row >= *top + page)
        *top = row - page + 1;
    if (count <= page)
        *top = 0;
    else if (*top + page > count)
        *top = count - page;
}
