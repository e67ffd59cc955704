/* SPDX-License-Identifier: Apache-2.0 */
/* What keys do, and how frames follow each other. */
#include "scene.h"
#include "tui/view.h"

#include <string.h>
#include <time.h>

static void
press(Model *model, const char *letters)
{
    for (; *letters != '\0'; letters++)
        view_key(model, &(Key){.code = KEY_IS_LETTER, .letter = (gunichar)*letters});
}

static void
press_code(Model *model, KeyCode code)
{
    view_key(model, &(Key){.code = code});
}

static char *
frame_text(Model *model)
{
    g_autoptr(Cells) cells = cells_new(24, 100);
    view_draw(model, cells);
    return cells_text(cells);
}

/* The pids of the list, in its order. */
static char *
order(Model *model)
{
    GString *pids = g_string_new(NULL);
    g_autofree char *text = frame_text(model);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 2; lines[i] != NULL; i++)
        if (g_ascii_strtoull(lines[i], NULL, 10) != 0)
            g_string_append_printf(pids, " %u", (guint)g_ascii_strtoull(lines[i], NULL, 10));
    return g_string_free(pids, FALSE);
}

static void
assert_order(Model *model, const char *expected)
{
    g_autofree char *found = order(model);
    g_assert_cmpstr(found, ==, expected);
}

static void
test_sort(void)
{
    g_autoptr(Model) model = scene_model(3);
    assert_order(model, " 812 4711 4712 1 99");
    press(model, "I");
    assert_order(model, " 99 1 4712 4711 812");
    press(model, "N");
    assert_order(model, " 1 99 812 4711 4712");
    press(model, "A");
    assert_order(model, " 4711 4712 1 99 812");
    press(model, "+");
    assert_order(model, " 4711 1 99 812 4712");
}

static void
test_filter(void)
{
    g_autoptr(Model) model = scene_model(2);
    press(model, "/6380");
    press_code(model, KEY_IS_ENTER);
    assert_order(model, " 4712");
    press(model, "/");
    for (guint i = 0; i < 4; i++)
        press_code(model, KEY_IS_ERASE);
    press(model, "REDIS");
    press_code(model, KEY_IS_ENTER);
    assert_order(model, " 4711 4712");
    press(model, "/xyz");
    press_code(model, KEY_IS_ESCAPE);
    assert_order(model, " 4711 4712");
    g_assert_false(model->quit);
}

/* The target INDEX is a java with the command line LINE. */
static void
rename_target(Model *model, guint index, const char *line)
{
    gpointer *place = &model->frame->targets->pdata[index];
    FeedTarget *before = *place;
    RouteStatus status = before->status;
    status.name = "java";
    status.arguments = line;
    *place = feed_target_new(before->key, &status);
    feed_target_free(before);
}

/* Where arguments do not fit, the part is shown that tells targets of one name apart. */
static void
test_arguments(void)
{
    static const char common[] = "-Xmx4g -cp /srv/app/lib/everything.jar:/srv/app/lib/more.jar com.example.Main";
    g_autoptr(Model) model = scene_model(1);
    const char *const last[] = {" --shard=1/left", " --shard=1/right"};
    for (guint i = 0; i < 2; i++) {
        g_autofree char *line = g_strconcat("/usr/bin/java ", common, last[i], NULL);
        rename_target(model, i, line);
    }
    g_autofree char *wide = frame_text(model);
    g_assert_null(strstr(wide, "com.example"));
    g_assert_nonnull(strstr(wide, "java \u2026left\n"));
    g_assert_nonnull(strstr(wide, "java \u2026right\n"));
    g_assert_nonnull(strstr(wide, "a-process-with"));
    for (guint i = 0; i < 2; i++)
        rename_target(model, i, i == 0 ? "java a" : "java b");
    g_autofree char *brief = frame_text(model);
    g_assert_nonnull(strstr(brief, "java a\n"));
    g_assert_nonnull(strstr(brief, "java b\n"));
}

enum { CROWD = 3000, LONG = 4000 };

/* Replaces the targets by many of one name, each in a unit of its own, whose arguments differ at their end only: users
 * choose all of these. */
static Model *
crowd(void)
{
    Model *model = scene_model(1);
    FeedFrame *frame = feed_frame_new(SCENE_TIME_US + G_USEC_PER_SEC);
    g_autofree char *common = g_strnfill(LONG, '/');
    for (guint i = 0; i < CROWD; i++) {
        RouteStatus status;
        g_autofree char *key = g_strdup_printf("%u.2", i + 1);
        g_autofree char *line = g_strdup_printf("crowd %s%05u", common, i);
        g_autofree char *group = g_strdup_printf("/user.slice/a/b/c/d/e/f/g/h/%u.scope", i);
        status_init(&status);
        status.pid = i + 1;
        status.name = "crowd";
        status.state = "live";
        status.reach = "attach";
        status.arguments = line;
        status.control_group = group;
        g_ptr_array_add(frame->targets, feed_target_new(key, &status));
    }
    frame->begins = TRUE;
    model_take_frame(frame, model);
    return model;
}

static void
assert_fast(Model *model)
{
    g_autoptr(GTimer) timer = g_timer_new();
    g_autofree char *text = frame_text(model);
    g_assert_cmpfloat(g_timer_elapsed(timer, NULL), <, 1);
    g_assert_nonnull(strstr(text, "crowd"));
}

/* The time to draw a frame is no matter of what processes call themselves. */
static void
test_crowd(void)
{
    g_autoptr(Model) model = crowd();
    assert_fast(model);
    for (guint i = TREE_NONE + 1; i < TREES; i++) {
        press(model, "t");
        assert_fast(model);
    }
    g_assert_cmpint(model->tree, ==, TREE_UNITS);
}

/* A text for each N below 2^BITS. All of them have one value of g_str_hash(), as "Ez" and "FY" have. */
static char *
colliding_text(guint n)
{
    enum { BITS = 16 };
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < BITS; i++)
        g_string_append(text, (n >> i & 1) != 0 ? "Ez" : "FY");
    return g_string_free(text, FALSE);
}

/* The processor time of frames whose targets have keys by NAME. */
static double
seconds_of(char *(*name)(guint n))
{
    enum { FRAMES = 60 };
    g_autoptr(Model) model = scene_model(1);
    const clock_t begun = clock();
    for (guint i = 0; i < FRAMES; i++) {
        FeedFrame *frame = feed_frame_new(SCENE_TIME_US + i * G_USEC_PER_SEC);
        for (guint n = 0; n < CROWD; n++) {
            RouteStatus status;
            g_autofree char *key = name(n);
            status_init(&status);
            g_ptr_array_add(frame->targets, feed_target_new(key, &status));
        }
        model_take_frame(frame, model);
    }
    return (double)(clock() - begun) / CLOCKS_PER_SEC;
}

static char *
plain_text(guint n)
{
    return g_strdup_printf("%032u", n);
}

/* Names that a user has chosen to collide in a table cost no more than others. */
static void
test_colliding_names(void)
{
    double plain = seconds_of(plain_text), colliding = seconds_of(colliding_text);
    g_test_message("%.3f s, with names that collide %.3f s", plain, colliding);
    g_assert_cmpfloat(colliding, <, 4 * plain + 0.5);
}

/* The cursor stays on its target wherever that moves to. */
static void
test_cursor_follows(void)
{
    g_autoptr(Model) model = scene_model(2);
    press_code(model, KEY_IS_DOWN);
    g_assert_cmpint(targets_chosen(model)->status.pid, ==, 4711);
    press(model, "N");
    g_assert_cmpint(targets_chosen(model)->status.pid, ==, 4711);
    press_code(model, KEY_IS_END);
    g_assert_cmpint(targets_chosen(model)->status.pid, ==, 4712);
    press_code(model, KEY_IS_HOME);
    g_assert_cmpint(targets_chosen(model)->status.pid, ==, 1);
}

static void
test_depth(void)
{
    g_autoptr(Model) model = scene_model(2);
    press_code(model, KEY_IS_DOWN);
    press_code(model, KEY_IS_ENTER);
    g_assert_cmpint(model_view(model), ==, VIEW_TARGET);
    g_assert_cmpint(model_opened(model)->status.pid, ==, 4711);
    press(model, "?");
    g_assert_cmpint(model_view(model), ==, VIEW_HELP);
    press(model, "x");
    g_assert_cmpint(model_view(model), ==, VIEW_TARGET);
    press_code(model, KEY_IS_ESCAPE);
    press_code(model, KEY_IS_ESCAPE);
    g_assert_cmpint(model_view(model), ==, VIEW_TARGETS);
    g_assert_null(model_opened(model));
    press(model, "q");
    g_assert_true(model->quit);
}

/* What has ended stays in its last state, marked. */
static void
test_gone(void)
{
    g_autoptr(Model) model = scene_model(2);
    model_open(model, "4711.1");
    for (guint n = 2; n < 5; n++) {
        FeedFrame *frame = scene_frame(n);
        g_ptr_array_remove_index(frame->targets, 0);
        model_take_frame(frame, model);
    }
    g_assert_true(model_opened(model)->gone);
    g_assert_cmpuint(model->frame->targets->len, ==, 5);
    g_autofree char *text = frame_text(model);
    g_assert_nonnull(strstr(text, "This process has ended"));
    press_code(model, KEY_IS_ESCAPE);
    g_autofree char *list = frame_text(model);
    g_assert_nonnull(strstr(list, "ended"));
}

/* Many processes that come and go do not pile up. */
static void
test_many_gone(void)
{
    g_autoptr(Model) model = scene_model(1);
    for (guint n = 1; n < 3 * GONE_SHOWN; n++) {
        FeedFrame *frame = scene_frame(n);
        FeedTarget *first = frame->targets->pdata[0];
        g_free(first->key);
        first->key = g_strdup_printf("%u.7", n);
        model_take_frame(frame, model);
    }
    g_assert_cmpuint(model->frame->targets->len, <=, 5 + GONE_SHOWN);
    g_assert_cmpuint(g_hash_table_size(model->tracks), <=, 6 + GONE_SHOWN);
}

/* An event is that of the process, not of another one that had its pid before. */
static void
test_events(void)
{
    g_autoptr(Model) model = scene_model(1);
    const FeedTarget *target = model_find(model, "4711.1");
    model_take_event(&(FeedEvent){SCENE_TIME_US, "4711.0", "of another one"}, model);
    model_take_event(&(FeedEvent){SCENE_TIME_US, "4711.1", "of its own"}, model);
    g_assert_false(model_is_event_of(model->events->pdata[0], target));
    g_assert_true(model_is_event_of(model->events->pdata[1], target));
    for (guint i = 0; i < 2 * EVENTS_SHOWN; i++)
        model_take_event(&(FeedEvent){SCENE_TIME_US - 2 * G_TIME_SPAN_DAY, "4711.1", "of yesterday"}, model);
    g_assert_cmpuint(model->events->len, ==, EVENTS_SHOWN);
    model->opened = g_strdup("4711.1");
    model->views[++model->depth] = VIEW_TARGET;
    g_autoptr(Cells) cells = cells_new(60, 100);
    view_draw(model, cells);
    g_autofree char *text = cells_text(cells);
    g_assert_true(g_regex_match_simple("\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  of yesterday", text, G_REGEX_DEFAULT,
                                       G_REGEX_MATCH_DEFAULT));
    model_drop_events(model);
    g_assert_cmpuint(model->events->len, ==, 0);
    model->feed = NULL;
}

static gboolean done;

static void
do_it(Model *model, gpointer data)
{
    done = TRUE;
}

/* Nothing but a yes is a yes. */
static void
test_question(void)
{
    static const char *const answers[] = {"n", "q", " ", "x", NULL};
    g_autoptr(Model) model = scene_model(1);
    for (guint i = 0; answers[i] != NULL; i++) {
        model_ask(model,
                  &(Question){.text = g_strdup("Do it?"), .yes = do_it, .data = g_strdup("x"), .free_data = g_free});
        press(model, answers[i]);
        g_assert_false(done);
        g_assert_false(model->quit);
    }
    model_ask(model, &(Question){.text = g_strdup("Do it?"), .yes = do_it});
    press_code(model, KEY_IS_ENTER);
    g_assert_false(done);
    model_ask(model, &(Question){.text = g_strdup("Do it?"), .yes = do_it});
    press(model, "y");
    g_assert_true(done);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tui/model/sort", test_sort);
    g_test_add_func("/tui/model/filter", test_filter);
    g_test_add_func("/tui/model/arguments", test_arguments);
    g_test_add_func("/tui/model/crowd", test_crowd);
    g_test_add_func("/tui/model/colliding-names", test_colliding_names);
    g_test_add_func("/tui/model/cursor-follows", test_cursor_follows);
    g_test_add_func("/tui/model/depth", test_depth);
    g_test_add_func("/tui/model/gone", test_gone);
    g_test_add_func("/tui/model/many-gone", test_many_gone);
    g_test_add_func("/tui/model/events", test_events);
    g_test_add_func("/tui/model/question", test_question);
    return g_test_run();
}
