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

/*
 * The same function at other addresses in each dump: it is inlined in two places, which hand over to each other, and
 * from the third dump on another process runs, 64 KiB higher. Half of it comes through a wrapper.
 */
static char *
moving_dump_text(guint dump, guint bytes)
{
    guint64 base = dump < 2 ? 0 : 0x10000;
    guint64 leak = base + (dump % 2 ? 0x2000 : 0x2100);

    return g_strdup_printf("--- symbol\n0x%" G_GINT64_MODIFIER "x malloc\n0x%" G_GINT64_MODIFIER
                           "x zmalloc\n0x%" G_GINT64_MODIFIER "x leak\n0x%" G_GINT64_MODIFIER "x main\n---\n--- heap\n"
                           "heap profile: 2: %u [0: 0] @ heapprofile\n"
                           "1: %u [0: 0] @ 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER
                           "x\n1: %u [0: 0] @ 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER
                           "x 0x%" G_GINT64_MODIFIER "x\n\nMAPPED_LIBRARIES:\n"
                           "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp 00000000 08:01 17 /bin/app\n",
                           base + 0x1000, base + 0x1800, leak, base + 0x3000, bytes, bytes / 2, base + 0x1000, leak + 1,
                           base + 0x3001, bytes / 2, base + 0x1000, base + 0x1801, leak + 1, base + 0x3001,
                           base + 0x1000, base + 0x8000);
}

static char *
trend_of(char *const dumps_text[N_DUMPS], ReportFlags flags, TrendFormat format)
{
    static const char *const names[N_DUMPS] = {"a", "b\x1b[31m", "c", "d", "e"};
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
        fixture_init(&dumps[i], dumps_text[i], PROFILE_READ_DEFAULT);
        profiles[i] = dumps[i].profile;
    }
    growth = growth_new(profiles, times, N_DUMPS, PROFILE_INUSE_SPACE, &error);
    g_assert_no_error(error);
    symbols = symbolize(growth_profile(growth), NULL, &error);
    g_assert_no_error(error);
    report_options_init(&options);
    options.flags = flags;
    static const char *const notes[] = {"a note", NULL};
    trend_write(&(TrendInput){growth, symbols, names, times, N_DUMPS, TRUE, notes, NULL, 0}, &options, format, out,
                &error);
    g_assert_no_error(error);
    for (guint i = 0; i < N_DUMPS; i++)
        fixture_clear(&dumps[i]);
    g_output_stream_close(out, NULL, NULL);
    result = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
    return g_strndup(g_bytes_get_data(result, NULL), g_bytes_get_size(result));
}

static char *
trend_text(const guint bytes[N_DUMPS], TrendFormat format)
{
    char *texts[N_DUMPS];

    for (guint i = 0; i < N_DUMPS; i++)
        texts[i] = dump_text(bytes[i]);
    char *trend = trend_of(texts, REPORT_DEFAULT, format);
    for (guint i = 0; i < N_DUMPS; i++)
        g_free(texts[i]);
    return trend;
}

static char *
moving_trend_text(const guint bytes[N_DUMPS], ReportFlags flags)
{
    char *texts[N_DUMPS];

    for (guint i = 0; i < N_DUMPS; i++)
        texts[i] = moving_dump_text(i, bytes[i]);
    char *trend = trend_of(texts, flags, TREND_JSON);
    for (guint i = 0; i < N_DUMPS; i++)
        g_free(texts[i]);
    return trend;
}

static void
test_text(void)
{
    g_autofree char *text = trend_text((const guint[]){100, 200, 300, 400, 500}, TREND_TEXT);

    g_assert_cmpstr(text, ==,
                    "5 dumps, a to e, over 4.0 h\n"
                    "inuse_space in all: still growing, +100 B/h ± 0 B, 107 B → 507 B\n"
                    "a note\n"
                    "\n"
                    "still growing ▁▃▅▆█  +100 B/h ± 0 B, 100 B → 500 B\n"
                    "      leak\n"
                    "1 of 2 functions shown, 1 of them changed by no more than sampling explains\n"
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
    g_assert_nonnull(strstr(text, "{\"name\":\"b\\\\u{001B}[31m\","));
}

/* F2: one function is one row, whatever its addresses, its wrappers and the process were. */
static void
test_functions(void)
{
    g_autofree char *grows = moving_trend_text((const guint[]){100, 200, 300, 400, 500}, REPORT_DEFAULT);
    const char *functions = strstr(grows, "\"functions\":[\n{\"verdict\":\"still growing\"");
    const char *stacks = strstr(grows, "\"stacks\":[\n{\"verdict\":\"still growing\"");

    g_assert_nonnull(functions);
    g_assert_nonnull(stacks);
    g_assert_nonnull(strstr(functions, "\"series\":[100,200,300,400,500],\"frames\":[\"leak\"]}],\n"));
    g_assert_nonnull(strstr(stacks, "\"series\":[100,200,300,400,500],\"frames\":[\"leak\",\"main\"]}]}"));

    g_autofree char *stays = moving_trend_text((const guint[]){100, 100, 100, 100, 100}, REPORT_DEFAULT);
    g_assert_null(strstr(stays, "growing"));
    g_assert_null(strstr(stays, "shrinking"));

    g_assert_nonnull(
        strstr(grows, "\"notes\":[\"a note\",\"charged to their callers: zmalloc (50.0%); --wrappers shows"));

    g_autofree char *wrapped = moving_trend_text((const guint[]){100, 200, 300, 400, 500}, REPORT_WRAPPERS);
    g_assert_nonnull(strstr(wrapped, "\"series\":[50,100,150,200,250],\"frames\":[\"zmalloc\",\"leak\",\"main\"]}"));
}

/* F2: of two callers one frees what the other allocates. Their stacks change, the function does not. */
static void
test_hand_over(void)
{
    char *texts[N_DUMPS];

    for (guint i = 0; i < N_DUMPS; i++)
        texts[i] = g_strdup_printf("--- symbol\n0x1000 malloc\n0x2000 cache_put\n0x3000 fill\n0x4000 serve\n---\n"
                                   "--- heap\nheap profile: 2: 1000 [0: 0] @ heapprofile\n"
                                   "1: %u [0: 0] @ 0x1000 0x2001 0x3001\n1: %u [0: 0] @ 0x1000 0x2001 0x4001\n\n"
                                   "MAPPED_LIBRARIES:\n",
                                   900 - 200 * i, 100 + 200 * i);
    g_autofree char *text = trend_of(texts, REPORT_DEFAULT, TREND_TEXT);
    for (guint i = 0; i < N_DUMPS; i++)
        g_free(texts[i]);
    g_assert_nonnull(strstr(text, "inuse_space in all: within error, "));
    g_assert_nonnull(strstr(text, "0 of 1 functions shown, 1 of them changed by no more than sampling explains\n"));
    g_assert_nonnull(strstr(text, "      cache_put\n      ← serve\n"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/trend/text", test_text);
    g_test_add_func("/report/trend/one-off", test_one_off);
    g_test_add_func("/report/trend/json", test_json);
    g_test_add_func("/report/trend/functions", test_functions);
    g_test_add_func("/report/trend/hand-over", test_hand_over);
    return g_test_run();
}
