/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of an untrusted server, read and drawn like `top URL`: statuses, tables, stacks, graphs. */
#include "client/document.h"
#include "tui/explore.h"
#include "tui/view.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { ROWS = 24, COLUMNS = 80 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    return ++feed->questions;
}

static void
free_nothing(Feed *feed)
{
}

static void
draw(Model *model)
{
    g_autoptr(Cells) cells = cells_new(ROWS, COLUMNS);
    view_draw(model, cells);
    g_autofree char *text = cells_text(cells);
    if (!g_utf8_validate(text, -1, NULL))
        abort();
}

static void
check_flame(const json_t *document)
{
    g_autoptr(Flame) flame = flame_read(document, NULL);
    for (guint i = 1; flame != NULL && i < flame->rows->len; i++) {
        const FlameRow *row = &g_array_index(flame->rows, FlameRow, i);
        if (row->parent >= i || row->level == 0 || row->level >= flame->levels || row->name == NULL)
            abort();
    }
}

/* Shows the answer to a request of the screen KIND. */
static void
show(Model *model, ViewKind kind, const json_t *document)
{
    static const char letters[] = "jjlGhk";
    model_enter(model, kind);
    explore_refresh(model);
    explore_answer(model->feed->questions, document, NULL, model);
    draw(model);
    for (gsize i = 0; i < sizeof(letters) - 1; i++)
        view_key(model, &(Key){.code = KEY_IS_LETTER, .letter = (gunichar)letters[i]});
    view_key(model, &(Key){.code = KEY_IS_CLICK, .row = ROWS / 2, .column = COLUMNS / 2});
    draw(model);
    model_leave(model);
}

static FeedFrame *
frame_of(const json_t *document)
{
    RouteStatus status;
    DocumentTexts texts;
    FeedFrame *frame = feed_frame_new(1);
    if (document_status(document, &status, &texts))
        g_ptr_array_add(frame->targets, feed_target_new(status.unique, &status));
    return frame;
}

static void
read_document(const json_t *document)
{
    static const FeedOps ops = {.name = "fuzz", .free = free_nothing, .ask = ask};
    static const char taken[] = "{\"id\":5,\"taken\":1795348800.5}";
    Feed feed = {.ops = &ops};
    g_autoptr(Model) model = model_new(&feed);
    FeedFrame *frame = frame_of(document);
    g_autofree char *key = g_strdup(frame->targets->len > 0 ? ((FeedTarget *)frame->targets->pdata[0])->key : "1.1");
    model_take_frame(frame, model);
    draw(model);
    model_open(model, key);
    draw(model);
    explore_enter(model, VIEW_SITES); /* sends no request without a dump; creates the explored data */
    if (model->explore == NULL)
        return;
    json_t *dump = json_loads(taken, 0, NULL);
    model->explore->asked_dump = ++feed.questions;
    explore_answer(feed.questions, dump, NULL, model);
    json_decref(dump);
    show(model, VIEW_SITES, document);
    show(model, VIEW_FLAME, document);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *document = document_parse((const char *)data, size, NULL);
    if (document == NULL)
        return 0;
    check_flame(document);
    read_document(document);
    json_decref(document);
    return 0;
}
