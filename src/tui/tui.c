/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/tui.h"

#include "tui/explore.h"
#include "tui/json-line.h"
#include "tui/screen.h"
#include "tui/view.h"

#include <glib-unix.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    ONCE_ROWS = CELLS_MAX,
    END_PATIENCE_MS = 2000,  /* time to wait for the end of a lease */
    ONCE_PATIENCE_MS = 3000, /* time to wait for details of a target after its first frame */
};

typedef struct {
    Feed *feed;
    const TuiOptions *options;
    Model *model;
    Screen *screen; /* TUI_SCREEN */
    GMainLoop *loop;
    guint drawing;                   /* id of the idle source that draws; 0: none */
    guint ticks;                     /* source id of explore_tick() */
    guint written;                   /* lines written */
    gboolean opened;                 /* the initial screen was chosen */
    gboolean has_detail, has_ledger; /* received for the target */
    GError *error;
} App;

static void
signals_of(sigset_t *set)
{
    static const int signals[] = {SIGWINCH, SIGTSTP, SIGINT, SIGTERM, SIGHUP};
    sigemptyset(set);
    for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
        sigaddset(set, signals[i]);
}

void
tui_prepare(void)
{
    sigset_t set;
    signals_of(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- drawing ---- */

static gboolean
draw_now(gpointer data)
{
    App *app = data;
    g_autoptr(Cells) cells = cells_new(screen_rows(app->screen), screen_columns(app->screen));
    app->drawing = 0;
    view_draw(app->model, cells);
    screen_paint(app->screen, cells);
    return G_SOURCE_REMOVE;
}

/* Redraws once for all pending changes. */
static void
draw_soon(App *app)
{
    if (app->screen != NULL && app->drawing == 0)
        app->drawing = g_idle_add(draw_now, app);
}

/* ---- frames ---- */

static void
write_text(App *app, const char *text)
{
    if (text == NULL || !app->options->write(text, app->options->data))
        g_main_loop_quit(app->loop);
}

static gboolean
write_once(gpointer data)
{
    App *app = data;
    g_autoptr(Cells) cells = cells_new(ONCE_ROWS, app->options->columns);
    app->model->still = TRUE;
    view_draw_list(app->model, cells);
    g_autofree char *text = cells_text(cells);
    write_text(app, text);
    g_main_loop_quit(app->loop);
    return G_SOURCE_REMOVE;
}

static void
write_line(App *app)
{
    /* The loop may deliver further frames before it ends. */
    if (app->options->count != 0 && app->written >= app->options->count)
        return;
    g_autofree char *text = json_line(app->model);
    write_text(app, text);
    if (++app->written == app->options->count)
        g_main_loop_quit(app->loop);
}

/* If one target was named, starts with its screen. */
static void
choose_first(App *app)
{
    const GPtrArray *targets = app->model->frame->targets;
    if (app->opened || targets->len == 0)
        return;
    app->opened = TRUE;
    if (app->options->one && targets->len == 1 && app->options->mode != TUI_JSON)
        model_open(app->model, ((const FeedTarget *)targets->pdata[0])->key);
}

static void
on_frame(FeedFrame *frame, gpointer data)
{
    App *app = data;
    gboolean first = app->model->frame == NULL;
    if (app->options->mode == TUI_ONCE && frame->trouble != NULL) {
        g_set_error_literal(&app->error, SCREEN_ERROR, SCREEN_ERROR_FEED, frame->trouble);
        feed_frame_free(frame);
        g_main_loop_quit(app->loop);
        return;
    }
    model_take_frame(frame, app->model);
    choose_first(app);
    explore_move(app->model);
    if (app->options->mode == TUI_JSON)
        write_line(app);
    else if (app->options->mode == TUI_ONCE && model_view(app->model) == VIEW_TARGETS)
        write_once(app);
    else if (app->options->mode == TUI_ONCE && first)
        g_timeout_add(ONCE_PATIENCE_MS, write_once, app);
    draw_soon(app);
}

/* Writes the frame of a target once it has both details and ledger. */
static void
complete_once(App *app)
{
    if (app->options->mode == TUI_ONCE && app->has_detail && app->has_ledger)
        write_once(app);
}

static void
on_detail(const char *key, StatsSample *sample, gpointer data)
{
    App *app = data;
    model_take_detail(key, sample, app->model);
    app->has_detail = TRUE;
    complete_once(app);
    draw_soon(app);
}

static void
on_ledger(const char *key, const LedgerTaken *ledger, gpointer data)
{
    App *app = data;
    model_take_ledger(key, ledger, app->model);
    app->has_ledger = TRUE;
    complete_once(app);
    draw_soon(app);
}

static void
on_answer(guint id, const json_t *document, const GError *error, gpointer data)
{
    App *app = data;
    explore_answer(id, document, error, app->model);
    if (app->model->quit && !explore_is_ending(app->model))
        g_main_loop_quit(app->loop);
    draw_soon(app);
}

static gboolean
on_tick(gpointer data)
{
    App *app = data;
    if (explore_tick(app->model))
        draw_soon(app);
    return G_SOURCE_CONTINUE;
}

static void
on_event(const FeedEvent *event, gpointer data)
{
    App *app = data;
    model_take_event(event, app->model);
    draw_soon(app);
}

static void
on_end(gpointer data)
{
    g_main_loop_quit(((App *)data)->loop);
}

static void
on_no_events(gpointer data)
{
    model_drop_events(((App *)data)->model);
}

/* ---- keys and signals ---- */

static gboolean
on_input(gint descriptor, GIOCondition condition, gpointer data)
{
    App *app = data;
    Key pressed;
    while (!app->model->quit && screen_read_key(app->screen, &pressed))
        view_key(app->model, &pressed);
    if (app->model->quit || (condition & (G_IO_HUP | G_IO_ERR)) != 0)
        g_main_loop_quit(app->loop);
    draw_soon(app);
    return G_SOURCE_CONTINUE;
}

/* Stops this process as SIGTSTP would by default. */
static void
stop_here(App *app)
{
    sigset_t stop;
    screen_leave(app->screen);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    screen_return(app->screen);
}

static gboolean
on_signal(gint descriptor, GIOCondition condition, gpointer data)
{
    App *app = data;
    struct signalfd_siginfo info;
    if (read(descriptor, &info, sizeof(info)) != sizeof(info))
        return G_SOURCE_CONTINUE;
    if (info.ssi_signo == SIGWINCH)
        screen_resize(app->screen, 0, 0);
    else if (info.ssi_signo == SIGTSTP)
        stop_here(app);
    else
        g_main_loop_quit(app->loop);
    draw_soon(app);
    return G_SOURCE_CONTINUE;
}

/* ---- running ---- */

static gboolean
open_screen(App *app, GError **error)
{
    const char *type = g_getenv("TERM");
    gboolean utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    const ScreenOptions options = {.type = type != NULL ? type : "",
                                   .in = stdin,
                                   .out = stdout,
                                   .colored = app->options->colored,
                                   .ascii = !utf8,
                                   .mouse = TRUE};
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        g_set_error(error, SCREEN_ERROR, SCREEN_ERROR_TERMINAL,
                    "standard input and output are not a terminal; use --once for one frame as text or --json for one "
                    "line per interval");
        return FALSE;
    }
    app->screen = screen_open(&options, error);
    return app->screen != NULL;
}

static void
watch_descriptor(int descriptor, GUnixFDSourceFunc func, App *app)
{
    g_unix_fd_add(descriptor, G_IO_IN | G_IO_HUP | G_IO_ERR, func, app);
}

static gboolean
prepare_screen(App *app, GError **error)
{
    sigset_t set;
    if (!open_screen(app, error))
        return FALSE;
    signals_of(&set);
    watch_descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_signal, app);
    watch_descriptor(STDIN_FILENO, on_input, app);
    draw_now(app);
    return TRUE;
}

static gboolean
give_up(gpointer data)
{
    g_main_loop_quit(((App *)data)->loop);
    return G_SOURCE_REMOVE;
}

/* Ends the lease, and waits a bounded time for the answer; without one the lease expires by itself. */
static void
end_leases(App *app)
{
    app->model->quit = TRUE;
    if (!explore_end(app->model))
        return;
    g_timeout_add(END_PATIENCE_MS, give_up, app);
    g_main_loop_run(app->loop);
}

static Model *
make_model(Feed *feed, const TuiOptions *options)
{
    Model *model = model_new(feed);
    model->readonly = options->readonly;
    model->every_ms = feed->every_ms;
    model->sort = options->sort;
    if (options->filter != NULL) {
        g_free(model->filter);
        model->filter = g_strdup(options->filter);
    }
    return model;
}

gboolean
tui_run(Feed *feed, const TuiOptions *options, GError **error)
{
    App app = {.feed = feed, .options = options, .loop = g_main_loop_new(NULL, FALSE)};
    app.model = make_model(feed, options);
    feed->sink = (FeedSink){.frame = on_frame,
                            .detail = on_detail,
                            .ledger = on_ledger,
                            .event = on_event,
                            .no_events = on_no_events,
                            .answer = on_answer,
                            .end = on_end,
                            .data = &app};
    feed->lasts = options->mode == TUI_SCREEN;
    gboolean ready = options->mode != TUI_SCREEN || prepare_screen(&app, error);
    if (ready) {
        feed->ops->start(feed);
        app.ticks = g_timeout_add_seconds(1, on_tick, &app);
        g_main_loop_run(app.loop);
        g_source_remove(app.ticks);
        end_leases(&app);
    }
    feed->sink = (FeedSink){0};
    screen_close(app.screen);
    explore_close(app.model);
    model_free(app.model);
    g_main_loop_unref(app.loop);
    if (app.error == NULL)
        return ready;
    g_propagate_error(error, app.error);
    return FALSE;
}
