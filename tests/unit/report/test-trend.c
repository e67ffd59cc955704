/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "report/trend.h"

#include <string.h>

enum { N_DUMPS = 5 };

/* A dump with a stack that holds `bytes` and one that never changes. */
static char *
dump_text(guint bytes)
{
    return g_strdup_printf("--- symbol\n0x1000 malloc\n0x2000 leak\n0x3000 main\n---\n--- heap\n"
                           "heap profile: 2: %u [0: 0] @ heapprofile\n1: %u [0: 0] @ 0x1000 0x2001 0x3001\n"
                           "1: 7 [0: 0] @ 0x1000 0x3001\n\nMAPPED_LIBRARIES:\n",
                           bytes + 7, bytes);
}

static char *
trend_text(const guint bytes[N_DUMPS], TrendFormat format)
{
    static const char *const names[N_DUMPS] = {"a", "b", "c", "d", "e"};
    static const gdouble times[N_DUMPS] = {0, 3600, 7200, 10800, 14400};
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(Growth) growth = NULL;
    g_autoptr(Symbols) symbols = NULL;
    Fixture dumps[N_DUMPS];
    const Profile *profiles[N_DUMPS];
    ReportOptions options;

    for (guint i = 0; i < N_DUMPS; i++) {
        g_autofree char *text = dump_text(bytes[i]);
        fixture_init(&dumps[i], text, PROFILE_READ_DEFAULT);
        profiles[i] = dumps[i].profile;
    }
    growth = growth_new(profiles, times, N_DUMPS, PROFILE_INUSE_SPACE, &error);
    g_assert_no_error(error);
    symbols = symbolize(growth_profile(growth), NULL, &error);
    g_assert_no_error(error);
    report_options_init(&options);
    trend_write(&(TrendInput){growth, symbols, names, times, N_DUMPS, TRUE}, &options, format, out, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < N_DUMPS; i++)
        fixture_clear(&dumps[i]);
    g_output_stream_close(out, NULL, NULL);
    result = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
    return g_strndup(g_bytes_get_data(result, NULL), g_bytes_get_size(result));
}

static void
test_text(void)
{
    g_autofree char *text = trend_text((const guint[]){100, 200, 300, 400, 500}, TREND_TEXT);

    g_assert_cmpstr(text, ==,
                    "5 dumps, a to e, over 4.0 h\n"
                    "inuse_space in all: still growing, +100 B/h ± 0 B, 107 B → 507 B\n"
                    "\n"
                    "still growing ▁▃▅▆█  +100 B/h ± 0 B, 100 B → 500 B\n"
                    "      leak\n"
                    "      ← main\n"
                    "\n"
                    "1 of 2 stacks shown, 1 of them changed by no more than sampling explains\n");
}

static void
test_one_off(void)
{
    g_autofree char *text = trend_text((const guint[]){100, 100, 500, 500, 500}, TREND_TEXT);

    g_assert_nonnull(strstr(text, "one-off "));
    g_assert_nonnull(strstr(text, "biggest step 100.0% of all rises"));
}

static void
test_json(void)
{
    g_autofree char *text = trend_text((const guint[]){100, 200, 300, 400, 500}, TREND_JSON);

    g_assert_nonnull(strstr(text, "\"series\":[100,200,300,400,500],\"frames\":[\"leak\",\"main\"]"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/trend/text", test_text);
    g_test_add_func("/report/trend/one-off", test_one_off);
    g_test_add_func("/report/trend/json", test_json);
    return g_test_run();
}
