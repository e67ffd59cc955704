/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "report/calltree.h"

#include <string.h>
#include <time.h>

enum { N_STACKS = 300, N_FUNCTIONS = 5, DEEPEST = 6 };

/* Stacks of few functions, so that many begin alike, end within another, and are equal to one before. */
static char *
random_dump(guint32 seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    GString *text = g_string_new("--- symbol\n0x1000 a\n0x2000 b\n0x3000 c\n0x4000 d\n0x5000 e\n---\n--- heap\n"
                                 "heap profile: 1: 1 [0: 0] @ heapprofile\n");

    for (guint i = 0; i < N_STACKS; i++) {
        guint depth = (guint)g_rand_int_range(rand, 1, DEEPEST + 1);
        g_string_append_printf(text, "%d: %d [0: 0] @", g_rand_int_range(rand, 1, 9), g_rand_int_range(rand, 1, 999));
        for (guint j = 0; j < depth; j++)
            g_string_append_printf(text, " 0x%x001", 1 + (guint)g_rand_int_range(rand, 0, N_FUNCTIONS));
        g_string_append_c(text, '\n');
    }
    g_string_append(text, "\nMAPPED_LIBRARIES:\n00001000-00008000 r-xp 00000000 08:01 17 /bin/app\n");
    return g_string_free(text, FALSE);
}

typedef struct {
    const CallTree *tree;
    CallTreeOrder order;
    GHashTable *seen; /* node -> sum of what ends there */
    gdouble sum;
} Walk;

static guint32
child_of(const CallTree *tree, guint32 at, guint32 node)
{
    guint32 child = calltree_node(tree, at)->first_child;

    while (child != PROFILE_NONE && calltree_node(tree, child)->node != node)
        child = calltree_node(tree, child)->next_sibling;
    return child;
}

/* Follows each stack from the root: it must be there, and with it what it holds. */
static void
follow(const ViewPath *path, gpointer user)
{
    Walk *walk = user;
    guint32 at = 0;
    gdouble *held;

    if (path->side != VIEW_NOW)
        return;
    for (guint32 i = 0; i < path->n_nodes; i++) {
        at = child_of(walk->tree, at, path->nodes[walk->order == CALLTREE_TOP_DOWN ? path->n_nodes - 1 - i : i]);
        g_assert_cmpuint(at, !=, PROFILE_NONE);
    }
    held = g_hash_table_lookup(walk->seen, GUINT_TO_POINTER(at));
    if (!held) {
        held = g_new0(gdouble, 1);
        g_hash_table_insert(walk->seen, GUINT_TO_POINTER(at), held);
    }
    *held += path->weight->estimate[PROFILE_INUSE_SPACE];
    walk->sum += path->weight->estimate[PROFILE_INUSE_SPACE];
}

/* The weight of a node is its own and its children's, which are sorted by weight. */
static void
check_node(const CallTree *tree, guint32 at, ViewSide side)
{
    gdouble sum = calltree_self(tree, at, side)->estimate[PROFILE_INUSE_SPACE];
    gdouble above = G_MAXDOUBLE;
    guint32 child = calltree_node(tree, at)->first_child;

    for (; child != PROFILE_NONE; child = calltree_node(tree, child)->next_sibling) {
        g_assert_cmpuint(calltree_node(tree, child)->parent, ==, at);
        g_assert_cmpuint(calltree_node(tree, child)->depth, ==, calltree_node(tree, at)->depth + 1);
        g_assert_cmpfloat(calltree_extent(tree, child), <=, above);
        above = calltree_extent(tree, child);
        sum += calltree_total(tree, child, side);
    }
    g_assert_cmpfloat_with_epsilon(calltree_total(tree, at, side), sum, 1e-6);
    g_assert_cmpfloat_with_epsilon(calltree_weight(tree, at, side).estimate[PROFILE_INUSE_SPACE], sum, 1e-6);
}

static void
check_tree(const View *view, CallTreeOrder order)
{
    g_autoptr(CallTree) tree = calltree_new(view, order, PROFILE_INUSE_SPACE);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    Walk walk = {tree, order, seen, 0};
    guint32 visited = 0;

    view_foreach(view, follow, &walk);
    for (guint32 at = 0; at != PROFILE_NONE; at = calltree_next(tree, at)) {
        const gdouble *held = g_hash_table_lookup(seen, GUINT_TO_POINTER(at));
        g_assert_cmpfloat_with_epsilon(calltree_self(tree, at, VIEW_NOW)->estimate[PROFILE_INUSE_SPACE],
                                       held ? *held : 0, 1e-6);
        for (guint side = 0; side < view_n_sides(view); side++)
            check_node(tree, at, side);
        visited++;
    }
    g_assert_cmpuint(visited, ==, tree->n_nodes);
    g_assert_cmpfloat_with_epsilon(calltree_total(tree, 0, VIEW_NOW), walk.sum, 1e-6);
    g_assert_cmpfloat(calltree_total(tree, 0, VIEW_BASE), >=, view_n_sides(view) == 2 ? 1 : 0);
}

static void
test_sums(void)
{
    for (guint32 seed = 1; seed <= 20; seed++) {
        g_autofree char *now_text = random_dump(seed), *base_text = random_dump(seed + 1000);
        g_auto(Fixture) now = {0}, base = {0};
        ReportOptions options;
        g_autoptr(GError) error = NULL;

        fixture_init(&now, now_text, PROFILE_READ_DEFAULT);
        fixture_init(&base, base_text, PROFILE_READ_DEFAULT);
        report_options_init(&options);
        for (guint sides = 1; sides <= VIEW_N_SIDES; sides++) {
            g_autoptr(View) view = view_new(&now.input, sides == 2 ? &base.input : NULL, &options, &error);
            g_assert_no_error(error);
            check_tree(view, CALLTREE_TOP_DOWN);
            check_tree(view, CALLTREE_BOTTOM_UP);
        }
    }
}

/* A filter may leave no stack at all. */
static void
test_empty(void)
{
    g_autofree char *text = random_dump(1);
    g_auto(Fixture) fixture = {0};
    g_autoptr(GRegex) nothing = g_regex_new("nothing", 0, 0, NULL);
    ReportOptions options;
    g_autoptr(GError) error = NULL;

    fixture_init(&fixture, text, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    options.focus = nothing;
    g_autoptr(View) view = view_new(&fixture.input, NULL, &options, &error);
    g_assert_no_error(error);
    g_autoptr(CallTree) tree = calltree_new(view, CALLTREE_TOP_DOWN, PROFILE_INUSE_SPACE);
    g_assert_cmpuint(calltree_next(tree, 0), ==, PROFILE_NONE);
    g_assert_cmpfloat(calltree_total(tree, 0, VIEW_NOW), ==, 0);
    g_assert_cmpfloat(calltree_weight(tree, 0, VIEW_NOW).estimate[PROFILE_INUSE_SPACE], ==, 0);
}

enum { LONG_NAME = 1 << 19, N_CALLERS = 8000, N_LONG = 16 };

static double
seconds_of(const char *name)
{
    struct timespec begin, end;
    g_auto(Fixture) fixture = {0};
    ReportOptions options;
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new("--- symbol\n");

    for (guint i = 0; i < N_LONG; i++)
        g_string_append_printf(text, "0x%x %s%u\n", 0x1000 + 16 * i, name, N_LONG + i);
    for (guint i = 0; i < N_CALLERS; i++)
        g_string_append_printf(text, "0x%x caller%u\n", 0x100000 + 16 * i, i);
    g_string_append(text, "---\n--- heap\nheap profile: 1: 1 [0: 0] @ heapprofile\n");
    for (guint i = 0; i < N_CALLERS; i++)
        for (guint j = N_LONG; j-- > 0;)
            g_string_append_printf(text, "1: 8 [0: 0] @ 0x%x 0x%x\n", 0x1000 + 16 * j, 0x100001 + 16 * i);
    g_string_append(text, "\nMAPPED_LIBRARIES:\n");
    fixture_init(&fixture, text->str, PROFILE_READ_DEFAULT);
    report_options_init(&options);
    g_autoptr(View) view = view_new(&fixture.input, NULL, &options, &error);
    g_assert_no_error(error);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    g_autoptr(CallTree) tree = calltree_new(view, CALLTREE_TOP_DOWN, PROFILE_INUSE_SPACE);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    guint32 caller = calltree_node(tree, 0)->first_child, child = calltree_node(tree, caller)->first_child;
    for (guint i = 0; i < N_LONG; i++, child = calltree_node(tree, child)->next_sibling) {
        g_autofree char *expected = g_strdup_printf("%s%u", name, N_LONG + i);
        g_assert_cmpstr(view_node(view, calltree_node(tree, child)->node)->name, ==, expected);
    }
    g_assert_cmpuint(child, ==, PROFILE_NONE);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/* Equal siblings are in the order of their names, which are not compared again below each caller. */
static void
test_long_names(void)
{
    g_autofree char *name = g_strnfill(LONG_NAME, 'a');
    double brief = seconds_of("a"), lengthy = seconds_of(name);

    g_test_message("%.3f s, with long names %.3f s", brief, lengthy);
    g_assert_cmpfloat(lengthy, <, 4 * brief + 0.5);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/calltree/sums", test_sums);
    g_test_add_func("/report/calltree/empty", test_empty);
    g_test_add_func("/report/calltree/long-names", test_long_names);
    return g_test_run();
}
