/* SPDX-License-Identifier: Apache-2.0 */
/* Every screen as terminals of several sizes and colours show it, compared with golden/. */
#include "scene.h"
#include "stage.h"
#include "tui/explore.h"
#include "tui/terminal-type.h"
#include "tui/view.h"

#include <jansson.h>

#include <locale.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef Model *MakeModel(void);

/* One screen, made ready. */
typedef struct {
    const char *name;
    MakeModel *make;
} Show;

typedef struct {
    const char *name;
    StageOptions options;
} House;

static const House houses[] = {
    {"80x24", {.type = "xterm-256color", .rows = 24, .columns = 80}},
    {"40x12", {.type = "xterm-256color", .rows = 12, .columns = 40}},
    {"120x30-8", {.type = "xterm", .rows = 30, .columns = 120}},
    {"80x24-plain", {.type = "xterm-256color", .rows = 24, .columns = 80, .plain = TRUE}},
    {"80x24-16", {.type = "xterm-16color", .rows = 24, .columns = 80}},
    {"80x24-true", {.type = "xterm-direct", .rows = 24, .columns = 80}},
    {"80x24-ascii", {.type = "vt100", .rows = 24, .columns = 80, .ascii = TRUE}},
};

static void
press(Model *model, const char *letters)
{
    for (; *letters != '\0'; letters++)
        view_key(model, &(Key){.code = *letters == '\r' ? KEY_IS_ENTER : KEY_IS_LETTER, .letter = (gunichar)*letters});
}

static Model *
make_targets(void)
{
    Model *model = scene_model(20);
    FeedFrame *frame = scene_frame(20);
    /* Of the others one has ended, and one is silent. */
    g_ptr_array_remove_index(frame->targets, 4);
    ((FeedTarget *)frame->targets->pdata[1])->late = TRUE;
    model_take_frame(frame, model);
    return model;
}

static Model *
make_tree(void)
{
    Model *model = make_targets();
    press(model, "tA");
    return model;
}

static Model *
make_filter(void)
{
    Model *model = make_targets();
    press(model, "/redis");
    return model;
}

/* As in a replay: statistics, and no ledger. */
static Model *
make_target_estimate(void)
{
    Model *model = scene_model(30);
    g_autoptr(StatsSample) sample = scene_sample();
    model_open(model, "4711.1");
    model_take_detail("4711.1", sample, model);
    model_take_event(&(FeedEvent){SCENE_TIME_US, "4711", "profiling was switched on"}, model);
    return model;
}

static Model *
make_target(void)
{
    Model *model = make_target_estimate();
    LedgerTaken taken;
    scene_ledger(&taken);
    model_take_ledger("4711.1", &taken, model);
    return model;
}

static Model *
make_target_end(void)
{
    Model *model = make_target();
    model->scroll = 20;
    return model;
}

static void
answer(Model *model, guint *asked, const char *text)
{
    json_t *document = json_loads(text, 0, NULL);
    *asked = 1;
    explore_answer(1, document, NULL, model);
    json_decref(document);
}

/* The sites of two dumps, by the report TEXT. */
static Model *
show_sites(SitesMode mode, gboolean marked, const char *text)
{
    Model *model = make_target();
    press(model, "s");
    g_clear_pointer(&model->message, g_free);
    Explore *explore = model->explore;
    explore->mode = mode;
    explore->now = (ExploreDump){2, SCENE_TIME_US};
    explore->mark = marked ? (ExploreDump){1, SCENE_TIME_US - 60 * G_USEC_PER_SEC} : explore->now;
    model_enter(model, VIEW_SITES);
    answer(model, &explore->asked_sites, text);
    return model;
}

static Model *
make_sites(void)
{
    return show_sites(SITES_FUNCTIONS, FALSE, scene_table);
}

static Model *
make_sites_gain(void)
{
    return show_sites(SITES_FUNCTIONS, TRUE, scene_table_difference);
}

static Model *
make_sites_age(void)
{
    return show_sites(SITES_FUNCTIONS, FALSE, scene_ages);
}

static Model *
make_stacks(void)
{
    Model *model = show_sites(SITES_STACKS, FALSE, scene_stacks);
    press(model, "/main\r");
    return model;
}

static Model *
show_flame(gboolean marked, const char *text)
{
    Model *model = show_sites(SITES_FUNCTIONS, marked, scene_table);
    model_enter(model, VIEW_FLAME);
    answer(model, &model->explore->asked_flame, text);
    return model;
}

static Model *
make_flame(void)
{
    Model *model = show_flame(FALSE, scene_graph);
    press(model, "jj");
    return model;
}

static Model *
make_flame_difference(void)
{
    return show_flame(TRUE, scene_graph_difference);
}

static Model *
make_help(void)
{
    Model *model = make_targets();
    press(model, "?");
    return model;
}

static Model *
make_empty(void)
{
    return model_new(NULL);
}

static const Show shows[] = {
    {"targets", make_targets},
    {"tree", make_tree},
    {"filter", make_filter},
    {"target", make_target},
    {"target-estimate", make_target_estimate},
    {"target-end", make_target_end},
    {"sites", make_sites},
    {"sites-gain", make_sites_gain},
    {"sites-age", make_sites_age},
    {"stacks", make_stacks},
    {"flame", make_flame},
    {"flame-difference", make_flame_difference},
    {"help", make_help},
    {"empty", make_empty},
};

static gsize
paint(Stage *stage, Model *model)
{
    g_autoptr(Cells) cells = cells_new(screen_rows(stage_screen(stage)), screen_columns(stage_screen(stage)));
    view_draw(model, cells);
    return stage_paint(stage, cells);
}

/* Some types are in a package of their own. */
static gboolean
is_known(const char *type)
{
    g_autoptr(GError) error = NULL;
    gboolean known = terminal_type_check(type, STDOUT_FILENO, &error);
    if (!known)
        g_test_message("%s; it is in the package ncurses-term", error->message);
    return known;
}

static char *
text_on(const Show *show, const StageOptions *options)
{
    g_autoptr(Stage) stage = stage_new(options);
    g_autoptr(Model) model = show->make();
    paint(stage, model);
    return stage_text(stage);
}

/* The same letters in every size, whatever the colours. */
static void
test_every_size_and_color(gconstpointer data)
{
    static const struct {
        guint rows, columns;
    } sizes[] = {{24, 80}, {12, 40}, {30, 120}, {60, 200}, {5, 20}, {1, 1}};
    static const struct {
        const char *type;
        gboolean plain;
    } modes[] = {{"xterm-256color", TRUE}, {"xterm", FALSE}, {"xterm-16color", FALSE}, {"xterm-direct", FALSE}};
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        StageOptions options = {.type = "xterm-256color", .rows = sizes[i].rows, .columns = sizes[i].columns};
        g_autofree char *expected = text_on(data, &options);
        for (gsize j = 0; j < G_N_ELEMENTS(modes); j++) {
            options.type = modes[j].type;
            options.plain = modes[j].plain;
            g_autofree char *found = is_known(options.type) ? text_on(data, &options) : g_strdup(expected);
            g_assert_cmpstr(found, ==, expected);
        }
    }
}

static void
test_screen(gconstpointer data)
{
    const Show *show = data;
    for (gsize i = 0; i < G_N_ELEMENTS(houses); i++) {
        if (!is_known(houses[i].options.type))
            continue;
        g_autoptr(Stage) stage = stage_new(&houses[i].options);
        g_autoptr(Model) model = show->make();
        g_autofree char *name = g_strdup_printf("%s-%s.screen", show->name, houses[i].name);
        paint(stage, model);
        stage_compare(stage, name);
    }
}

/* A terminal that was resized shows what a new one of that size shows. */
static void
test_resize(void)
{
    enum { SIZES = 1000 };
    g_autoptr(Stage) stage = stage_new(&houses[0].options);
    g_autoptr(GRand) random = g_rand_new_with_seed(19);
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    g_ptr_array_add(models, make_targets());
    g_ptr_array_add(models, make_target());
    g_ptr_array_add(models, make_help());
    for (guint i = 0; i < SIZES; i++) {
        guint rows = (guint)g_rand_int_range(random, 1, 60);
        guint columns = (guint)g_rand_int_range(random, 1, 200);
        stage_resize(stage, rows, columns);
        paint(stage, models->pdata[i % models->len]);
    }
    stage_resize(stage, 24, 80);
    paint(stage, models->pdata[0]);
    stage_compare(stage, "targets-80x24.screen");
}

/* Relative luminance (WCAG 2.1). */
static double
luminance(const StageColor *color)
{
    const guint8 parts[] = {color->red, color->green, color->blue};
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (guint i = 0; i < 3; i++) {
        double part = parts[i] / 255.0;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double
contrast(const StageColor *one, const StageColor *other)
{
    double lights[] = {luminance(one) + 0.05, luminance(other) + 0.05};
    return MAX(lights[0], lights[1]) / MIN(lights[0], lights[1]);
}

/* Text on a background of ours has the contrast that WCAG asks for; text on the user's has a colour that the user's
 * theme chooses; bars can be seen on black and on white. */
static void
test_contrast(gconstpointer type)
{
    static const StageColor black = {0}, white = {.red = 255, .green = 255, .blue = 255};
    const StageOptions options = {.type = type, .rows = CELL_STYLES, .columns = 10};
    g_autoptr(Stage) stage = is_known(type) ? stage_new(&options) : NULL;
    if (stage == NULL) {
        g_test_skip("the terminal type is not installed");
        return;
    }
    g_autoptr(Cells) cells = cells_new(CELL_STYLES, 10);
    for (guint style = 0; style < CELL_STYLES; style++)
        cells_put(cells, (CellSpan){style, 0, 10}, style, "X");
    stage_paint(stage, cells);
    for (guint style = 0; style < CELL_STYLES; style++) {
        StageColor text, background;
        stage_colors(stage, style, 0, &text, &background);
        gboolean is_bar = style >= CELL_BAR_1 && style <= CELL_BAR_5;
        g_test_message("style %u", style);
        if (!background.is_default)
            g_assert_cmpfloat(contrast(&text, &background), >=, background.is_theme ? 3 : 4.5);
        else if (!is_bar)
            g_assert_true(text.is_default || text.is_theme);
        else if (!text.is_theme)
            g_assert_cmpfloat(MIN(contrast(&text, &black), contrast(&text, &white)), >=, 3);
    }
}

/* Only what has changed is sent. */
static void
test_bytes(void)
{
    g_autoptr(Stage) stage = stage_new(&houses[0].options);
    g_autoptr(Model) model = scene_model(5);
    gsize first = paint(stage, model);
    gsize same = paint(stage, model);
    model_take_frame(scene_frame(5), model);
    gsize next = paint(stage, model);
    g_test_message("first frame %zu bytes, the same again %zu, the next one %zu", first, same, next);
    g_assert_cmpuint(first, <, 4096);
    g_assert_cmpuint(same, ==, 0);
    g_assert_cmpuint(next, <, 400);
}

/* A name cannot write to the terminal. */
static void
test_hostile(void)
{
    g_autoptr(Stage) stage = stage_new(&houses[2].options);
    g_autoptr(Model) model = make_targets();
    paint(stage, model);
    g_autofree char *text = stage_text(stage);
    g_assert_nonnull(strstr(text, "evil?[2J?name?31m"));
    g_assert_nonnull(strstr(text, "n\u00e4me\u0301 \u6f22\u5b57"));
}

static void
test_unfit(void)
{
    static const char *const types[] = {"dumb", "", "no-such-terminal"};
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autoptr(GError) error = NULL;
        const ScreenOptions options = {.type = types[i], .in = stdin, .out = stdout};
        g_assert_null(screen_open(&options, &error));
        g_assert_error(error, SCREEN_ERROR, SCREEN_ERROR_TERMINAL);
        g_assert_nonnull(strstr(error->message, "--once"));
    }
}

int
main(int argc, char **argv)
{
    static const char *const colored[] = {"xterm", "xterm-16color", "xterm-256color", "xterm-direct"};
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shows); i++) {
        g_autofree char *path = g_strdup_printf("/tui/screens/%s", shows[i].name);
        g_test_add_data_func(path, &shows[i], test_screen);
        g_autofree char *every = g_strconcat(path, "-in-every-size-and-colour", NULL);
        g_test_add_data_func(every, &shows[i], test_every_size_and_color);
    }
    g_test_add_func("/tui/screens/resize", test_resize);
    for (gsize i = 0; i < G_N_ELEMENTS(colored); i++) {
        g_autofree char *path = g_strconcat("/tui/screens/contrast/", colored[i], NULL);
        g_test_add_data_func(path, colored[i], test_contrast);
    }
    g_test_add_func("/tui/screens/bytes", test_bytes);
    g_test_add_func("/tui/screens/hostile", test_hostile);
    g_test_add_func("/tui/screens/unfit", test_unfit);
    return g_test_run();
}
