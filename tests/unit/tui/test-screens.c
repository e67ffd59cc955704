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
make_tree_of_units(void)
{
    Model *model = make_targets();
    press(model, "tt");
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
    model_take_event(&(FeedEvent){SCENE_TIME_US, "4711.1", "profiling was switched on"}, model);
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
make_sites_nothing(void)
{
    Model *model = show_sites(SITES_FUNCTIONS, FALSE, scene_nothing);
    model->explore->focus = g_strdup("nomatch");
    return model;
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

static void
never(Model *model, gpointer unused)
{
}

static Model *
make_question(void)
{
    Model *model = make_targets();
    model_ask(model,
              &(Question){.text = g_strdup("redis-server (4711) has no agent: stop one of its threads for a moment "
                                           "every 5 s to read statistics?"),
                          .yes = never});
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
    {"tree-units", make_tree_of_units},
    {"filter", make_filter},
    {"target", make_target},
    {"target-estimate", make_target_estimate},
    {"target-end", make_target_end},
    {"sites", make_sites},
    {"sites-gain", make_sites_gain},
    {"sites-age", make_sites_age},
    {"sites-nothing", make_sites_nothing},
    {"stacks", make_stacks},
    {"flame", make_flame},
    {"flame-difference", make_flame_difference},
    {"help", make_help},
    {"question", make_question},
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

/* Bars and charts are there, but of no letter that the fonts of Linux's console do not have. */
static void
test_console(gconstpointer data)
{
    const StageOptions options = {.type = "linux", .rows = 60, .columns = 120};
    g_autofree char *text = text_on(data, &options);
    glong length;
    g_autofree gunichar *letters = g_utf8_to_ucs4(text, -1, NULL, &length, NULL);
    g_assert_nonnull(letters);
    for (glong i = 0; i < length; i++) {
        gboolean is_block = letters[i] >= 0x2580 && letters[i] <= 0x259f;
        gboolean is_braille = letters[i] >= 0x2800 && letters[i] <= 0x28ff;
        g_assert_false(is_braille);
        g_assert_true(!is_block || g_utf8_strchr("\u2580\u2584\u2588\u258c\u2591\u2592\u2593", -1, letters[i]) != NULL);
    }
    if (strcmp(((const Show *)data)->name, "target") == 0)
        g_assert_nonnull(strstr(text, " \u2584\u2588"));
}

/* Text without the blanks at the ends of its lines and of itself. */
static char *
trim_lines(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
        g_strchomp(lines[i]);
    g_autofree char *joined = g_strjoinv("\n", lines);
    return g_strdup(g_strchomp(joined));
}

/* A terminal that is resized shows in every size what there is to be shown, and nothing of the sizes before. */
static void
test_resize(void)
{
    enum { SIZES = 1000 };
    g_autoptr(Stage) stage = stage_new(&houses[0].options);
    g_autoptr(GRand) random = g_rand_new_with_seed(19);
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    for (gsize i = 0; i < G_N_ELEMENTS(shows); i++)
        g_ptr_array_add(models, shows[i].make());
    for (guint i = 0; i < SIZES; i++) {
        guint rows = (guint)g_rand_int_range(random, 1, 60);
        guint columns = (guint)g_rand_int_range(random, 1, 200);
        g_autoptr(Cells) cells = cells_new(rows, columns);
        stage_resize(stage, rows, columns);
        view_draw(models->pdata[i % models->len], cells);
        stage_paint(stage, cells);
        g_autofree char *drawn = cells_text(cells);
        g_autofree char *shown = stage_text(stage);
        g_autofree char *expected = trim_lines(drawn);
        g_autofree char *found = trim_lines(shown);
        g_assert_cmpstr(found, ==, expected);
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

/* A theme: its 16 colours and the backgrounds it is used with, as 0xRRGGBB. */
typedef struct {
    const char *name;
    guint32 colors[16];
    guint32 backgrounds[4];
    guint n_backgrounds;
} Theme;

static const Theme themes[] = {
    {"xterm",
     {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00,
      0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff},
     {0xffffff, 0x000000},
     2},
    {"VGA and the Linux console",
     {0x000000, 0xaa0000, 0x00aa00, 0xaa5500, 0x0000aa, 0xaa00aa, 0x00aaaa, 0xaaaaaa, 0x555555, 0xff5555, 0x55ff55,
      0xffff55, 0x5555ff, 0xff55ff, 0x55ffff, 0xffffff},
     {0x000000},
     1},
    {"Solarized",
     {0x073642, 0xdc322f, 0x859900, 0xb58900, 0x268bd2, 0xd33682, 0x2aa198, 0xeee8d5, 0x002b36, 0xcb4b16, 0x586e75,
      0x657b83, 0x839496, 0x6c71c4, 0x93a1a1, 0xfdf6e3},
     {0xfdf6e3, 0x002b36},
     2},
    {"Tango",
     {0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf, 0x555753, 0xef2929, 0x8ae234,
      0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec},
     {0xffffff, 0xeeeeec, 0x2e3436, 0x000000},
     4},
    {"GNOME",
     {0x171421, 0xc01c28, 0x26a269, 0xa2734c, 0x12488b, 0xa347ba, 0x2aa1b3, 0xd0cfcc, 0x5e5c64, 0xf66151, 0x33da7a,
      0xe9ad0c, 0x2a7bde, 0xc061cb, 0x33c7de, 0xffffff},
     {0xffffff, 0x1e1e1e, 0x171421},
     3},
};

static StageColor
color_from(guint32 rgb)
{
    return (StageColor){.red = (guint8)(rgb >> 16), .green = (guint8)(rgb >> 8), .blue = (guint8)rgb};
}

static StageColor
color_in(const Theme *theme, const StageColor *color)
{
    return color->is_theme ? color_from(theme->colors[color->number]) : *color;
}

/* Of TEXT on BACKGROUND, or, where that is the terminal's own, on the worst of the theme's. */
static double
contrast_in(const Theme *theme, const StageColor *text, const StageColor *background)
{
    const StageColor front = color_in(theme, text), back = color_in(theme, background);
    double least = G_MAXDOUBLE;
    if (!background->is_default)
        return contrast(&front, &back);
    for (guint i = 0; i < theme->n_backgrounds; i++) {
        const StageColor own = color_from(theme->backgrounds[i]);
        least = MIN(least, contrast(&front, &own));
    }
    return least;
}

/* What has a colour can be read in every common theme: with a contrast of 3, which WCAG asks for large text and
 * graphics, and on backgrounds that no theme chooses with 4.5. Bold text may be shown in the brighter colour. */
static void
assert_readable(Stage *stage, guint style)
{
    enum { BRIGHTER = 8 };
    StageColor text, background;
    stage_colors(stage, style, 0, &text, &background);
    for (gsize i = 0; i < G_N_ELEMENTS(themes) && !text.is_default; i++) {
        double least = contrast_in(&themes[i], &text, &background);
        if (stage_is_bold(stage, style, 0) && text.is_theme && text.number < BRIGHTER) {
            StageColor bright = text;
            bright.number += BRIGHTER;
            least = MIN(least, contrast_in(&themes[i], &bright, &background));
        }
        g_test_message("style %u in %s: %.2f", style, themes[i].name, least);
        g_assert_cmpfloat(least, >=, background.is_default || background.is_theme ? 3 : 4.5);
    }
    g_assert_true(background.is_default || !text.is_default);
}

static void
test_contrast(gconstpointer type)
{
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
    for (guint style = 0; style < CELL_STYLES; style++)
        assert_readable(stage, style);
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
        g_autofree char *console = g_strconcat(path, "-on-linux", NULL);
        g_test_add_data_func(console, &shows[i], test_console);
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
