/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/draw.h"
#include "tui/track.h"

#include <string.h>

static void
add(Track *track, gint64 seconds, guint64 rss)
{
    guint64 figures[STATUS_FIGURES];
    memset(figures, 0xff, sizeof(figures));
    figures[STATUS_RSS] = rss;
    track_add(track, seconds * G_USEC_PER_SEC, figures);
}

static void
test_gain(void)
{
    g_autoptr(Track) track = track_new();
    double gain;
    g_assert_false(track_gain(track, STATUS_RSS, &gain));
    add(track, 0, 1000);
    g_assert_false(track_gain(track, STATUS_RSS, &gain));
    add(track, 30, 1500);
    g_assert_true(track_gain(track, STATUS_RSS, &gain));
    g_assert_cmpfloat(gain, ==, 1000);
    g_assert_false(track_gain(track, STATUS_ALLOCATED, &gain));
    /* What is older than a minute does not count. */
    add(track, 90, 1500);
    g_assert_true(track_gain(track, STATUS_RSS, &gain));
    g_assert_cmpfloat(gain, ==, 0);
    add(track, 95, STATUS_UNKNOWN);
    g_assert_false(track_gain(track, STATUS_RSS, &gain));
}

/* Going back in time forgets what came later. */
static void
test_back(void)
{
    g_autoptr(Track) track = track_new();
    for (guint i = 0; i < 10; i++)
        add(track, i, i);
    add(track, 4, 44);
    g_assert_cmpuint(track_count(track), ==, 5);
    g_assert_cmpuint(track_point(track, 0)->figures[STATUS_RSS], ==, 44);
    g_assert_cmpuint(track_point(track, 1)->figures[STATUS_RSS], ==, 3);
}

static void
test_full(void)
{
    g_autoptr(Track) track = track_new();
    for (guint i = 0; i < 3 * TRACK_POINTS; i++)
        add(track, i, i);
    g_assert_cmpuint(track_count(track), ==, TRACK_POINTS);
    g_assert_cmpuint(track_point(track, TRACK_POINTS - 1)->figures[STATUS_RSS], ==, 2 * TRACK_POINTS);
}

static void
test_spark(void)
{
    g_autoptr(Track) track = track_new();
    g_autofree char *nothing = draw_spark(track, STATUS_RSS, 4);
    g_assert_cmpstr(nothing, ==, "");
    add(track, 0, 0);
    add(track, 1, 7);
    g_autofree char *two = draw_spark(track, STATUS_RSS, 4);
    g_assert_cmpstr(two, ==, "  \u2581\u2588");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tui/track/gain", test_gain);
    g_test_add_func("/tui/track/back", test_back);
    g_test_add_func("/tui/track/full", test_full);
    g_test_add_func("/tui/track/spark", test_spark);
    return g_test_run();
}
