/* SPDX-License-Identifier: Apache-2.0 */
#include "client/event-stream.h"

#include <string.h>

static void
append(const char *name, const char *data, gpointer all)
{
    g_string_append_printf(all, "[%s|%s]", name, data);
}

/* What TEXT has, fed in pieces of STEP bytes; NULL: it was refused. */
static char *
read_in(const char *text, gsize step)
{
    GString *all = g_string_new(NULL);
    g_autoptr(EventStream) stream = event_stream_new(append, all);
    gsize length = strlen(text);
    gboolean ok = TRUE;
    for (gsize at = 0; at < length && ok; at += step)
        ok = event_stream_feed(stream, text + at, MIN(step, length - at));
    return g_string_free(all, !ok);
}

static void
test_events(void)
{
    static const struct {
        const char *text;
        const char *events;
    } cases[] = {
        {"retry: 2000\n\nid: 7\nevent: dump\ndata: {\"id\":7}\n\n:\n\n", "[dump|{\"id\":7}]"},
        {"data: a\ndata: b\n\n", "[message|a\nb]"},
        {"data:a\r\n\r\ndata:  b\r\r", "[message|a][message| b]"},
        {"data\n\n", "[message|]"},
        {"event: x\n\ndata: y\n\n", "[message|y]"},
        {"event: x\nevent: z\ndata: y\nodd: field\n\n", "[z|y]"},
        {"data: not complete\n", ""},
        {": a comment\ndatabase: no\n\n", ""},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        for (gsize step = 1; step < 9; step++) {
            g_autofree char *found = read_in(cases[i].text, step);
            g_assert_cmpstr(found, ==, cases[i].events);
        }
}

/* A server cannot fill our memory, by a long line or by many. */
static void
test_bounds(void)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autofree char *line = g_strnfill(EVENT_STREAM_MAX + 1, 'x');
    while (lines->len <= 2 * EVENT_STREAM_MAX)
        g_string_append(lines, "data: yyyyyyyyyyyyyyyy\n");
    g_autofree char *of_line = read_in(line, 1000);
    g_autofree char *of_lines = read_in(lines->str, 1000);
    g_assert_null(of_line);
    g_assert_null(of_lines);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/event-stream/events", test_events);
    g_test_add_func("/event-stream/bounds", test_bounds);
    return g_test_run();
}
