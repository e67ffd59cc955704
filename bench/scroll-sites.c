/* SPDX-License-Identifier: Apache-2.0 */
/* How many frames a second the sites of a report scroll by: scroll-sites FILE, a report in the format "page". Frames go
 * to /dev/null as for a terminal of 120 columns and 40 rows. Prints frames per second. */
#include "tui/explore.h"
#include "tui/screen.h"
#include "tui/view.h"

#include <jansson.h>
#include <locale.h>

enum { FRAMES = 2000 };

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    return ++feed->questions;
}

static Model *
show(Feed *feed, const json_t *document)
{
    Model *model = model_new(feed);
    RouteStatus status;
    status_init(&status);
    status.name = "bench";
    FeedFrame *frame = feed_frame_new(g_get_real_time());
    g_ptr_array_add(frame->targets, feed_target_new("1.1", &status));
    model_take_frame(frame, model);
    model_open(model, "1.1");
    explore_enter(model, VIEW_SITES);
    model->explore->now.id = model->explore->mark.id = 1;
    model->explore->mode = SITES_STACKS;
    explore_enter(model, VIEW_SITES);
    explore_answer(feed->questions, document, NULL, model);
    return model;
}

int
main(int argc, char **argv)
{
    static const FeedOps ops = {.name = "bench", .ask = ask};
    Feed feed = {.ops = &ops};
    json_t *document = argc == 2 ? json_load_file(argv[1], 0, NULL) : NULL;
    const ScreenOptions options = {.type = "xterm-256color",
                                   .in = fopen("/dev/null", "r"),
                                   .out = fopen("/dev/null", "w"),
                                   .colored = TRUE,
                                   .rows = 40,
                                   .columns = 120};
    setlocale(LC_ALL, "C.UTF-8");
    g_autoptr(Model) model = document != NULL ? show(&feed, document) : NULL;
    g_autoptr(Screen) screen = model != NULL ? screen_open(&options, NULL) : NULL;
    if (screen == NULL || model->explore->sites == NULL)
        return 1;
    guint rows = model->explore->sites->rows->len;
    gint64 begun_us = g_get_monotonic_time();
    for (guint i = 0; i < FRAMES; i++) {
        g_autoptr(Cells) cells = cells_new(40, 120);
        view_key(model, &(Key){.code = i % 50 == 49 ? KEY_IS_PAGE_DOWN : KEY_IS_DOWN});
        view_draw(model, cells);
        screen_paint(screen, cells);
    }
    double seconds = (double)(g_get_monotonic_time() - begun_us) / G_USEC_PER_SEC;
    g_clear_pointer(&screen, screen_close);
    g_print("%u rows, %.0f frames a second\n", rows, FRAMES / seconds);
    json_decref(document);
    return 0;
}
