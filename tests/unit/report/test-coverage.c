/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on two dumps between which sampling may have been off. */
#include "report/coverage.h"

#include <string.h>

#define SECOND ((guint64)G_USEC_PER_SEC)

/* Taken at 100 s, sampled from 95 s to 100 s; the second one at 120 s. */
static const ProfileCapture first = {
    .time = 100 * SECOND, .pid = 1, .start = 9, .since = 95 * SECOND, .until = 100 * SECOND};

static const struct {
    ProfileCapture second;
    gdouble sampled; /* negative: not known */
    const char *note;
} cases[] = {
    /* two recordings */
    {{.time = 120 * SECOND, .pid = 1, .start = 9, .since = 115 * SECOND, .until = 120 * SECOND},
     5,
     "off for 15.0 s of the 20.0 s"},
    /* on since before the first dump */
    {{.time = 120 * SECOND, .pid = 1, .start = 9, .since = 95 * SECOND, .flags = CAPTURE_ACTIVE}, 20, NULL},
    {{.time = 120 * SECOND, .pid = 1, .start = 9, .flags = CAPTURE_ACTIVE | CAPTURE_SINCE_START}, 20, NULL},
    /* switched off long before the dump was taken */
    {{.time = 120 * SECOND, .pid = 1, .start = 9, .since = 95 * SECOND, .until = 105 * SECOND}, 5, "off for 15.0 s"},
    /* off, since when is not known */
    {{.time = 120 * SECOND, .pid = 1, .start = 9}, -1, "for an unknown time"},
    /* switched on right after the first dump: not a gap */
    {{.time = 120 * SECOND, .pid = 1, .start = 9, .since = 100 * SECOND + 500000, .flags = CAPTURE_ACTIVE}, 19.5, NULL},
    /* another process */
    {{.time = 120 * SECOND, .pid = 1, .start = 10, .since = 115 * SECOND}, -1, NULL},
};

static void
test_gaps(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        gdouble sampled = -1;
        g_autofree char *note = coverage_between(&first, &cases[i].second);
        g_test_message("case %u", (guint)i);
        g_assert_true(coverage_sampled_seconds(&first, &cases[i].second, &sampled) == (cases[i].sampled >= 0));
        g_assert_cmpfloat_with_epsilon(sampled, cases[i].sampled, 1e-6);
        g_assert_true((note == NULL) == (cases[i].note == NULL));
        g_assert_true(note == NULL || strstr(note, cases[i].note) != NULL);
    }
    g_assert_null(coverage_between(NULL, &first));
}

static Profile *
profile_with(const char *line)
{
    g_autofree char *text = g_strconcat("heap_v2/1\n  t*: 1: 1048576 [0: 0]\n@ 0x1000\n  t*: 1: 1048576 [0: 0]\n\n"
                                        "MAPPED_LIBRARIES:\n",
                                        line, NULL);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    return profile_read_bytes(bytes, "dump", PROFILE_READ_DEFAULT, NULL);
}

/* F14, F15: what is known of the start, and of the present. F16: the share has its error. */
static void
test_capture(void)
{
    static const struct {
        const char *line;
        const char *notes[2];
    } texts[] = {
        {"", {NULL}},
        {"jescope_capture=1 time=1 flags=19 allocated=3145728 unheld=1048576 large=16384\n",
         {"explains 50.0% ± 0.0% of the 2.0 MiB that the program holds", "sampling on since the process started"}},
        {"jescope_capture=1 time=1 flags=1\n",
         {"sampling on, start time unknown: earlier allocations are not included"}},
        {"jescope_capture=1 time=1 flags=9\n", {"sampling on, probably since the process started (prof_active:true)"}},
        {"jescope_capture=1 time=1000000 flags=0\n",
         {"sampling is off now (1970-01-01 00:00:01): allocations made while it was off are not included"}},
        {"jescope_capture=1 time=9000000 since=1000000 until=6000000\n",
         {"sampled for 5.0 s from 1970-01-01 00:00:01 on: allocations made before or after are not included"}},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(Profile) profile = profile_with(texts[i].line);
        g_auto(GStrv) notes = coverage_notes(profile);
        for (guint j = 0; j < G_N_ELEMENTS(texts[i].notes) && texts[i].notes[j] != NULL; j++)
            g_assert_cmpstr(notes[j], ==, texts[i].notes[j]);
        g_assert_cmpuint(g_strv_length(notes), ==, (texts[i].notes[0] != NULL) + (texts[i].notes[1] != NULL));
    }
}

int
main(int argc, char **argv)
{
    g_setenv("TZ", "UTC", TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/coverage/gaps", test_gaps);
    g_test_add_func("/report/coverage/capture", test_capture);
    return g_test_run();
}
