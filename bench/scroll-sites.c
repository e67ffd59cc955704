/* SPDX-License-Identifier: Apache-2.0 */
/* Measures scrolling through the sites of a report: scroll-sites FILE, where FILE is a report in the format "page", on
 * a terminal of 120 columns and 40 rows. Prints frames per second of processor time, and bytes per frame. */
#include "tui/explore.h"
#include "tui/screen.h"
#include "tui/view.h"

#include <jansson.h>
#include <locale.h>
#include <time.h>
#include <unistd.h>

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

/* The processor time used, in seconds. */
static double
spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
    static const FeedOps ops = {.name = "bench", .ask = ask};
    Feed feed = {.ops = &ops};
    json_t *document = argc == 2 ? json_load_file(argv[1], 0, NULL) : NULL;
    const ScreenOptions options = {.type = "xterm-256color",
                                   .in = fopen("/dev/null", "r"),
                                   .out = tmpfile(),
                                   .colored = TRUE,
                                   .rows = 40,
                                   .columns = 120};
    setlocale(LC_ALL, "C.UTF-8");
    g_autoptr(Model) model = document != NULL ? show(&feed, document) : NULL;
    g_autoptr(Screen) screen = model != NULL ? screen_open(&options, NULL) : NULL;
    if (screen == NULL || model->explore->sites == NULL)
        return 1;
    guint rows = model->explore->sites->rows->len;
    double begun = spent();
    for (guint i = 0; i < FRAMES; i++) {
        g_autoptr(Cells) cells = cells_new(40, 120);
        view_key(model, &(Key){.code = i % 50 == 49 ? KEY_IS_PAGE_DOWN : KEY_IS_DOWN});
        view_draw(model, cells);
        screen_paint(screen, cells);
    }
    double seconds = spent() - begun;
    fflush(options.out);
    double bytes = (double)lseek(fileno(options.out), 0, SEEK_END) / FRAMES;
    g_clear_pointer(&screen, screen_close);
    g_print("%u rows, %.0f frames a second of processor time, %.0f bytes each\n", rows, FRAMES / seconds, bytes);
    json_decref(document);
    return 0;
}
