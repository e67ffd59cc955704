/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a target, and what only after a question. */
#include "scene.h"
#include "tui/explore.h"
#include "tui/view.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A feed that notes what it is asked. */
typedef struct {
    Feed base;
    GPtrArray *asked; /* "METHOD PATH" */
} Ear;

static guint
ask(Feed *feed, const char *key, const char *method, const char *path)
{
    Ear *ear = (Ear *)feed;
    g_assert_cmpstr(key, ==, "4711.1");
    g_ptr_array_add(ear->asked, g_strconcat(method, " ", path, NULL));
    return ++feed->questions;
}

static void
free_ear(Feed *feed)
{
}

static const FeedOps ops = {.name = "ear", .free = free_ear, .ask = ask};

static Ear
ear_new(void)
{
    return (Ear){.base = {.ops = &ops}, .asked = g_ptr_array_new_with_free_func(g_free)};
}

static const char *
last(const Ear *ear)
{
    return ear->asked->len > 0 ? ear->asked->pdata[ear->asked->len - 1] : "";
}

static void
press(Model *model, const char *letters)
{
    for (; *letters != '\0'; letters++)
        view_key(model, &(Key){.code = *letters == '\r' ? KEY_IS_ENTER : KEY_IS_LETTER, .letter = (gunichar)*letters});
}

static void
press_code(Model *model, KeyCode code)
{
    view_key(model, &(Key){.code = code});
}

static void
answer(Model *model, const char *text)
{
    json_t *document = json_loads(text, 0, NULL);
    g_assert_nonnull(document);
    explore_answer(model->feed->questions, document, NULL, model);
    json_decref(document);
}

static Model *
open_target(Ear *ear)
{
    Model *model = model_new(&ear->base);
    for (guint n = 0; n < 3; n++)
        model_take_frame(scene_frame(n), model);
    model_open(model, "4711.1");
    return model;
}

static void
end(Model *model, Ear *ear)
{
    model_free(model);
    g_ptr_array_unref(ear->asked);
}

static void
take_dumps(Model *model, Ear *ear)
{
    press(model, "s");
    g_assert_cmpuint(ear->asked->len, ==, 0);
    press(model, "y");
    g_assert_cmpstr(last(ear), ==, "POST /dumps");
    answer(model, "{\"id\":5,\"taken\":1795348800.5}");
    g_assert_cmpint(model_view(model), ==, VIEW_SITES);
    g_assert_cmpstr(last(ear), ==, "GET /dumps/5?format=page&value=inuse_space&part=table&count=5000");
    answer(model, scene_table);
    press(model, "Dy");
    g_assert_cmpstr(last(ear), ==, "POST /dumps");
    answer(model, "{\"id\":6,\"taken\":1795348900}");
    g_assert_cmpstr(last(ear), ==, "GET /dumps/6?format=page&value=inuse_space&base=5&part=table&count=5000");
    answer(model, scene_table_difference);
}

static void
test_sites(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    take_dumps(model, &ear);
    g_assert_cmpuint(model->explore->sites->rows->len, ==, 3);
    press(model, "v");
    g_assert_cmpstr(last(&ear), ==, "GET /dumps/6?format=page&value=inuse_space&base=5&part=table&count=5000&by=line");
    press(model, "w/dict\rFa b&c\r");
    g_assert_cmpstr(
        last(&ear), ==,
        "GET "
        "/dumps/6?format=page&value=inuse_space&base=5&wrappers=true&focus=a%20b%26c&part=table&count=5000&by=line");
    press(model, "M");
    g_assert_null(strstr(last(&ear), "base="));
    end(model, &ear);
}

/* 12 MiB of what the program holds are in the dump; what a filter leaves says nothing of it. */
static void
test_coverage(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    const FeedTarget *target = model_opened(model);
    const double share = (12 << 20) / (double)target->status.figures[STATUS_HELD];
    g_assert_cmpfloat(model_coverage(model, target), <, 0);
    press(model, "sy");
    answer(model, "{\"id\":5,\"taken\":1795348800.5}");
    model->explore->focus = g_strdup("main");
    answer(model, scene_table);
    g_assert_cmpfloat(model_coverage(model, target), <, 0);
    press(model, "F");
    for (guint i = 0; i < 4; i++)
        press_code(model, KEY_IS_ERASE);
    press(model, "\r");
    answer(model, scene_table);
    g_assert_cmpfloat(model_coverage(model, target), ==, share);
    end(model, &ear);
}

/* The newest dump that was kept by the moment is shown without a question, and another one when the moment is. */
static void
test_replay(void)
{
    static const FeedOps replay_ops = {.name = "replay", .replays = TRUE, .free = free_ear, .ask = ask};
    Ear ear = ear_new();
    ear.base.ops = &replay_ops;
    Model *model = open_target(&ear);
    press(model, "s");
    g_assert_cmpint(model_view(model), ==, VIEW_SITES);
    g_assert_cmpstr(last(&ear), ==, "GET /dumps");
    answer(model, "{\"dumps\":[]}");
    g_assert_nonnull(strstr(model->explore->trouble, "no heap dump"));
    explore_move(model);
    explore_move(model); /* while the first question is open: asked again after it */
    g_assert_cmpuint(ear.asked->len, ==, 2);
    answer(model, "{\"dumps\":[{\"id\":3,\"taken\":1795348900},{\"id\":2,\"taken\":1795348800}]}");
    g_assert_cmpstr(ear.asked->pdata[2], ==, "GET /dumps/3?format=page&value=inuse_space&part=table&count=5000");
    g_assert_cmpstr(last(&ear), ==, "GET /dumps");
    answer(model, "{\"dumps\":[{\"id\":3,\"taken\":1795348900}]}");
    g_assert_cmpuint(ear.asked->len, ==, 4); /* the same one is not read again */
    press(model, "DREP");
    g_assert_null(model->question.text);
    g_assert_cmpuint(ear.asked->len, ==, 4);
    /* The report of a dump that is still to come, at a moment that has none: it comes too late. */
    explore_move(model);
    answer(model, "{\"dumps\":[]}");
    json_t *late = json_loads(scene_table, 0, NULL);
    explore_answer(3, late, NULL, model);
    json_decref(late);
    g_assert_null(model->explore->sites);
    g_assert_nonnull(strstr(model->explore->trouble, "no heap dump"));
    end(model, &ear);
}

static const SiteRow *
site(const Model *model, guint row)
{
    return &g_array_index(model->explore->sites->rows, SiteRow, row);
}

/* Only the values that the dump has, in turn. A mean has neither gain nor error. */
static void
test_values(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    take_dumps(model, &ear);
    guint before = ear.asked->len;
    press(model, "o");
    g_assert_cmpuint(ear.asked->len, ==, before); /* that report named none */
    press(model, "v");
    answer(model, scene_values);
    press(model, "o");
    g_assert_cmpstr(last(&ear), ==, "GET /dumps/6?format=page&value=age&part=table&count=5000&by=line");
    answer(model, scene_ages);
    g_assert_cmpfloat(site(model, 0)->own, ==, 90);
    g_assert_true(isnan(site(model, 0)->own_error));
    g_assert_true(isnan(site(model, 2)->own)); /* nothing of its own is in use */
    g_assert_cmpfloat(site(model, 2)->total, ==, 75);
    g_assert_cmpfloat(model->explore->sites->total, ==, 75);
    press(model, "o");
    g_assert_cmpstr(last(&ear), ==, "GET /dumps/6?format=page&value=inuse_space&base=5&part=table&count=5000&by=line");
    end(model, &ear);
}

/* Whatever is pressed: without a yes nothing is asked that changes the target, and no dump is taken. */
static void
test_no_question_no_change(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    for (guint letter = ' '; letter < 0x7f; letter++) {
        const char text[] = {(char)letter, 'n', '\0'};
        if (letter == 'q' || letter == 'y' || letter == 'Y')
            continue;
        press(model, text);
        press_code(model, KEY_IS_ESCAPE);
        if (model_view(model) == VIEW_TARGETS)
            model_open(model, "4711.1");
    }
    g_assert_cmpuint(ear.asked->len, ==, 0);
    end(model, &ear);
}

static void
test_readonly(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    model->readonly = TRUE;
    press(model, "sy");
    press(model, "DyRyEyPy");
    g_assert_cmpuint(ear.asked->len, ==, 0);
    g_assert_cmpint(model_view(model), ==, VIEW_TARGET);
    end(model, &ear);
}

/* What is switched on ends with the screens of the target. */
static void
test_lease(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    press(model, "Ey");
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling?active=true&for=10s");
    answer(model, "{\"active\":true,\"lease\":{\"id\":77}}");
    explore_tick(model);
    g_assert_cmpuint(ear.asked->len, ==, 1);
    model->explore->renewed_us -= EXPLORE_RENEW_S * G_USEC_PER_SEC;
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling/leases/77?for=10s");
    answer(model, "{\"active\":true,\"lease\":{\"id\":77}}");
    press_code(model, KEY_IS_ESCAPE);
    g_assert_cmpint(model_view(model), ==, VIEW_TARGETS);
    g_assert_cmpstr(last(&ear), ==, "DELETE /profiling/leases/77");
    g_assert_null(model->explore);
    end(model, &ear);
}

/* A lease that ended since top was stopped is taken again; one that another client has ended is not. */
static void
test_lost_lease(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    g_autoptr(GError) error = g_error_new_literal(g_quark_from_static_string("test"), 1, "no lease 77");
    press(model, "Ey");
    answer(model, "{\"active\":true,\"lease\":{\"id\":77}}");
    model->explore->renewed_us = model->explore->granted_us -= 2 * EXPLORE_LEASE_S * G_USEC_PER_SEC;
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling/leases/77?for=10s");
    explore_answer(ear.base.questions, NULL, error, model);
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling?active=true&for=10s");
    g_assert_nonnull(strstr(model->message, "enabled again"));
    answer(model, "{\"active\":true,\"lease\":{\"id\":79}}");
    g_assert_cmpuint(model->explore->lease, ==, 79);
    model->explore->renewed_us -= EXPLORE_RENEW_S * G_USEC_PER_SEC;
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling/leases/79?for=10s");
    explore_answer(ear.base.questions, NULL, error, model);
    g_assert_cmpstr(last(&ear), ==, "PUT /profiling/leases/79?for=10s");
    g_assert_cmpuint(model->explore->lease, ==, 0);
    g_assert_cmpstr(model->message, ==, "no lease 77");
    end(model, &ear);
}

static void
test_record(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    press(model, "Ry");
    answer(model, "{\"active\":true,\"lease\":{\"id\":78}}");
    model->explore->record_until_us = 1;
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "POST /dumps");
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "POST /dumps");
    answer(model, "{\"id\":9,\"taken\":1}");
    explore_tick(model);
    g_assert_cmpstr(last(&ear), ==, "DELETE /profiling/leases/78");
    g_assert_cmpint(model_view(model), ==, VIEW_SITES);
    end(model, &ear);
}

static void
test_failed(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    g_autoptr(GError) error = g_error_new_literal(g_quark_from_static_string("x"), 1, "it is busy");
    press(model, "Ry");
    explore_answer(ear.base.questions, NULL, error, model);
    g_assert_cmpstr(model->message, ==, "it is busy");
    g_assert_cmpuint(model->explore->record_until_us, ==, 0);
    g_assert_false(explore_tick(model));
    end(model, &ear);
}

static void
test_flame(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    take_dumps(model, &ear);
    press(model, "f");
    g_assert_nonnull(strstr(last(&ear), "part=graph"));
    answer(model, scene_graph);
    press(model, "j");
    press(model, "j\r");
    g_assert_nonnull(strstr(last(&ear), "&zoom="));
    press(model, "d");
    g_assert_null(strstr(last(&ear), "base="));
    press_code(model, KEY_IS_ESCAPE);
    g_assert_null(strstr(last(&ear), "&zoom="));
    press(model, "i");
    g_assert_nonnull(strstr(last(&ear), "callers=true"));
    press_code(model, KEY_IS_ESCAPE);
    g_assert_cmpint(model_view(model), ==, VIEW_SITES);
    end(model, &ear);
}

static void
draw(Model *model)
{
    g_autoptr(Cells) cells = cells_new(24, 80);
    view_draw(model, cells);
}

static void
click(Model *model, KeyCode code, guint row, guint column)
{
    draw(model);
    view_key(model, &(Key){.code = code, .row = row, .column = column});
}

/* A click on a row chooses it, one on the heading sorts, and a double click opens the flame graph through the function.
 */
static void
test_mouse_sites(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    take_dumps(model, &ear);
    draw(model);
    guint first = model->explore->first;
    click(model, KEY_IS_CLICK, first + 2, 30);
    g_assert_cmpuint(model->explore->row, ==, 2);
    click(model, KEY_IS_CLICK, first, 0);
    g_assert_cmpuint(model->explore->row, ==, 0);
    click(model, KEY_IS_CLICK, first + 9, 0); /* below the last one */
    g_assert_cmpuint(model->explore->row, ==, 2);
    click(model, KEY_IS_CLICK, 0, 0); /* the title */
    click(model, KEY_IS_CLICK, 23, 0);
    g_assert_cmpuint(model->explore->row, ==, 2);
    guint asked = ear.asked->len;
    click(model, KEY_IS_CLICK, first - 1, 5);
    g_assert_cmpint(model->explore->sort, ==, SITES_BY_OWN);
    g_assert_cmpuint(ear.asked->len, ==, asked + 1);
    answer(model, scene_table_difference);
    click(model, KEY_IS_DOWN, 0, 0); /* the wheel */
    g_assert_cmpuint(model->explore->row, ==, 2);
    click(model, KEY_IS_DOUBLE, first + 1, 30);
    g_assert_cmpint(model_view(model), ==, VIEW_FLAME);
    g_assert_nonnull(strstr(last(&ear), "part=graph"));
    g_assert_nonnull(strstr(last(&ear), "focus="));
    end(model, &ear);
}

static const char *
chosen_box(const Model *model)
{
    return g_array_index(model->explore->flame->rows, FlameRow, model->explore->flame_row).name;
}

/* A click chooses a box, a double click zooms into it. Where there is no box, nothing changes. */
static void
test_mouse_flame(void)
{
    Ear ear = ear_new();
    Model *model = open_target(&ear);
    take_dumps(model, &ear);
    press(model, "f");
    click(model, KEY_IS_CLICK, 5, 5); /* before the graph is there */
    answer(model, scene_graph);
    click(model, KEY_IS_CLICK, 4, 10);
    g_assert_cmpstr(chosen_box(model), ==, "dictAdd");
    click(model, KEY_IS_CLICK, 4, 79);
    g_assert_cmpstr(chosen_box(model), ==, "evil\033[2J");
    click(model, KEY_IS_CLICK, 3, 79);
    g_assert_cmpstr(chosen_box(model), ==, "main");
    click(model, KEY_IS_CLICK, 20, 40);
    click(model, KEY_IS_CLICK, 1, 40);
    g_assert_cmpstr(chosen_box(model), ==, "main");
    guint asked = ear.asked->len;
    click(model, KEY_IS_DOUBLE, 20, 40);
    g_assert_cmpuint(ear.asked->len, ==, asked);
    click(model, KEY_IS_DOUBLE, 4, 10);
    g_assert_cmpuint(ear.asked->len, ==, asked + 1);
    g_assert_nonnull(strstr(last(&ear), "&zoom="));
    end(model, &ear);
}

/* What a server sends is checked. */
static void
test_malformed(void)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"format\":\"jescope-page\",\"graph\":{\"total\":[1,2],\"parent\":[-1,1],\"frame\":[-1,0]}}",
        "{\"format\":\"jescope-page\",\"graph\":{\"total\":[1,2],\"parent\":[-1,-1],\"frame\":[-1,0]}}",
        "{\"format\":\"jescope-page\",\"graph\":{\"total\":[1,2],\"parent\":[-1,\"x\"],\"frame\":[-1,0]}}",
        "{\"format\":\"jescope-page\",\"graph\":{\"total\":[-5],\"parent\":[-1],\"frame\":[-1]}}",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        json_t *document = json_loads(texts[i], 0, NULL);
        g_assert_null(flame_read(document, &error));
        g_assert_nonnull(error);
        json_decref(document);
    }
    json_t *odd = json_loads("{\"format\":\"jescope-page\",\"table\":{\"flat\":[1,2],\"frame\":[99,\"x\"]},\"notes\":["
                             "1],\"frames\":{\"name\":[7]}}",
                             0, NULL);
    g_autoptr(Sites) sites = sites_read(odd, NULL);
    g_assert_cmpuint(sites->rows->len, ==, 2);
    g_assert_cmpstr(g_array_index(sites->rows, SiteRow, 0).name, ==, "?");
    json_decref(odd);
}

static json_t *
repeated(json_t *value, guint count)
{
    json_t *values = json_array();
    for (guint i = 0; i < count; i++)
        json_array_append(values, value);
    json_decref(value);
    return values;
}

static gsize
bytes_of(const GArray *rows)
{
    gsize bytes = 0;
    for (guint i = 0; i < rows->len; i++)
        bytes += strlen(g_array_index(rows, SiteRow, i).name);
    return bytes;
}

/* A server sends a long name once, and has it in every row: it does not take more memory for each. */
static void
test_repeated_name(void)
{
    enum { NAME = 4 << 20, ROWS = 40 };
    g_autofree char *name = g_strnfill(NAME, 'x');
    json_t *table =
        json_pack("{s:s, s:{s:[s]}, s:{s:o, s:o}}", "format", "jescope-page", "frames", "name", name, "table", "flat",
                  repeated(json_integer(1), ROWS), "frame", repeated(json_integer(0), ROWS));
    json_t *stacks =
        json_pack("{s:s, s:{s:[s]}, s:{s:o, s:[o]}}", "format", "jescope-page", "frames", "name", name, "stacks",
                  "total", repeated(json_integer(1), 1), "frames", repeated(json_integer(0), ROWS));
    json_t *const documents[] = {table, stacks};
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++) {
        g_autoptr(Sites) sites = sites_read(documents[i], NULL);
        g_assert_nonnull(sites);
        g_assert_cmpuint(bytes_of(sites->rows), >, NAME);
        g_assert_cmpuint(bytes_of(sites->rows), <=, SITE_NAMES_BYTES + ROWS * 16);
        json_decref(documents[i]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tui/explore/sites", test_sites);
    g_test_add_func("/tui/explore/coverage", test_coverage);
    g_test_add_func("/tui/explore/replay", test_replay);
    g_test_add_func("/tui/explore/values", test_values);
    g_test_add_func("/tui/explore/no-question-no-change", test_no_question_no_change);
    g_test_add_func("/tui/explore/readonly", test_readonly);
    g_test_add_func("/tui/explore/lease", test_lease);
    g_test_add_func("/tui/explore/lost-lease", test_lost_lease);
    g_test_add_func("/tui/explore/record", test_record);
    g_test_add_func("/tui/explore/failed", test_failed);
    g_test_add_func("/tui/explore/flame", test_flame);
    g_test_add_func("/tui/explore/mouse-sites", test_mouse_sites);
    g_test_add_func("/tui/explore/mouse-flame", test_mouse_flame);
    g_test_add_func("/tui/explore/malformed", test_malformed);
    g_test_add_func("/explore/repeated-name", test_repeated_name);
    return g_test_run();
}
