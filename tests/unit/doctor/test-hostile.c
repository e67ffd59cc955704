/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps by which another user would block root's doctor: each took more than half a minute, the more the longer. */
#include "../report/fixture.h"

#include "doctor/culprit.h"

#include <time.h>

enum { DUMPS = 4, LONGEST_S = 20, MOST_FOUND = 32 };

static const guint64 MIB = 1 << 20;

typedef char *TextOf(guint dump);

static void
append_name(GString *text, guint address, const char *name)
{
    g_string_append_printf(text, "0x%x %s\n", address, name);
}

static GString *
begin(void)
{
    return g_string_new("--- symbol\n");
}

static void
begin_stacks(GString *text)
{
    g_string_append(text, "---\n--- heap\nheap profile: 1: 1 [0: 0] @ heapprofile\n");
}

static void
append_stack(GString *text, guint64 objects, guint64 size, guint innermost)
{
    g_string_append_printf(text, "%" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT " [0: 0] @ 0x%x", objects, objects * size,
                           innermost);
}

static void
append_caller(GString *text, guint address)
{
    g_string_append_printf(text, " 0x%x", address + 1);
}

static char *
end(GString *text, const char *mappings)
{
    g_string_append_printf(text, "\nMAPPED_LIBRARIES:\n%s", mappings);
    return g_string_free(text, FALSE);
}

/* Fails if it takes too long. */
static void
find(TextOf *text_of, const GPtrArray *vanished, DoctorEvidence *evidence)
{
    Fixture dumps[DUMPS];
    const Profile *profiles[DUMPS];
    gdouble times[DUMPS];
    g_autoptr(GError) error = NULL;
    ReportOptions options;

    for (guint i = 0; i < DUMPS; i++) {
        g_autofree char *text = text_of(i);
        fixture_init(&dumps[i], text, PROFILE_READ_DEFAULT);
        profiles[i] = dumps[i].profile;
        times[i] = 10 * i;
    }
    g_autoptr(Growth) growth = growth_new(profiles, times, DUMPS, PROFILE_INUSE_SPACE, &error);
    g_assert_no_error(error);
    g_autoptr(Symbols) names = symbolize(growth_profile(growth), NULL, &error);
    g_assert_no_error(error);
    report_options_init(&options);
    ReportInput input = {.profile = growth_profile(growth), .symbols = names, .name = "dumps"};
    g_autoptr(View) view = view_new(&input, NULL, &options, &error);
    g_assert_no_error(error);
    const CulpritInput culprits = {.growth = growth, .view = view, .names = names, .vanished = vanished};
    const clock_t begun = clock();
    culprit_find(&culprits, evidence);
    g_assert_cmpint(clock() - begun, <, LONGEST_S * CLOCKS_PER_SEC);
    for (guint i = 0; i < DUMPS; i++)
        fixture_clear(&dumps[i]);
}

/* Two functions whose memory is allocated through the same thousands of frames without a name, which the first stack
 * has in the opposite order. */
static char *
nameless_text(guint dump)
{
    enum { FRAMES = 3000, MAIN = 0x1000, CALLERS = 0x2000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();

    append_name(text, MAIN, "main");
    append_name(text, CALLERS, "alpha");
    append_name(text, CALLERS + EACH, "beta");
    begin_stacks(text);
    append_stack(text, 0, 0, FIRST + FRAMES * EACH);
    for (guint i = FRAMES; i-- > 1;)
        append_caller(text, FIRST + i * EACH);
    g_string_append_c(text, '\n');
    for (guint caller = 0; caller < 2; caller++) {
        append_stack(text, 1000 * (dump + 1), MIB, FIRST);
        for (guint i = 1; i < FRAMES; i++)
            append_caller(text, FIRST + i * EACH);
        append_caller(text, CALLERS + caller * EACH);
        append_caller(text, MAIN);
        g_string_append_c(text, '\n');
    }
    return end(text, "");
}

static void
test_nameless_frames(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find(nameless_text, NULL, &evidence);
    g_assert_nonnull(evidence.holder);
}

/* Functions that grow, of which each has more than a tenth of what all of them grow beyond what another one shrinks. */
static char *
crowd_text(guint dump)
{
    enum { FUNCTIONS = 2000, SHRINKS = 0x1000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();

    append_name(text, SHRINKS, "shrinks");
    for (guint i = 0; i < FUNCTIONS; i++) {
        g_autofree char *name = g_strdup_printf("f%u", i);
        append_name(text, FIRST + i * EACH, name);
    }
    begin_stacks(text);
    append_stack(text, (100 - 20 * dump) * FUNCTIONS + 100 * dump, MIB, SHRINKS);
    g_string_append_c(text, '\n');
    for (guint i = 0; i < FUNCTIONS; i++) {
        append_stack(text, 1 + 20 * dump, MIB, FIRST + i * EACH);
        g_string_append_c(text, '\n');
    }
    return end(text, "");
}

static void
test_crowd_of_functions(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find(crowd_text, NULL, &evidence);
    g_assert_cmpuint(evidence.growing->len, ==, MOST_FOUND);
}

/* Many stacks through functions of long names. */
static char *
long_names_text(guint dump)
{
    enum { STACKS = 60000, NAMES = 8, LENGTH = 200000, CALLEES = 0x1000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();
    g_autofree char *tail = g_strnfill(LENGTH, 'r');

    for (guint i = 0; i < NAMES; i++) {
        g_autofree char *name = g_strdup_printf("f%u%s", i, tail);
        append_name(text, CALLEES + i * EACH, name);
    }
    begin_stacks(text);
    for (guint i = 0; i < STACKS; i++) {
        append_stack(text, 10, MIB, CALLEES);
        for (guint j = 1; j < NAMES; j++)
            append_caller(text, CALLEES + j * EACH);
        append_caller(text, FIRST + i * EACH);
        g_string_append_c(text, '\n');
    }
    return end(text, "");
}

static void
test_long_names(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find(long_names_text, NULL, &evidence);
    g_assert_nonnull(evidence.holder);
}

/* Two functions that call each other, and each of them for other memory at the end of all of their paths. */
static char *
recursion_text(guint dump)
{
    enum { STACKS = 400, FRAMES = 4000, ONE = 0x1000, OTHER = 0x2000, BESIDE = 0x3000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();

    append_name(text, ONE, "vee");
    append_name(text, OTHER, "doubleu");
    append_name(text, BESIDE, "ex");
    begin_stacks(text);
    for (guint i = 0; i < 2; i++) {
        append_stack(text, 10 * MIB, 64, i ? OTHER : ONE);
        append_caller(text, BESIDE);
        g_string_append_c(text, '\n');
    }
    for (guint i = 0; i < STACKS; i++) {
        append_stack(text, (i + 1 < STACKS ? 1 : 5000) * (dump + 1), MIB, ONE);
        for (guint j = 1; j < FRAMES; j++)
            append_caller(text, j % 2 ? OTHER : ONE);
        append_caller(text, FIRST + i * EACH);
        g_string_append_c(text, '\n');
    }
    return end(text, "");
}

static void
test_deep_recursion(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find(recursion_text, NULL, &evidence);
    g_assert_nonnull(evidence.holder);
}

static char *
long_path(guint number)
{
    g_autofree char *directory = g_strnfill(200, 'd');

    return g_strdup_printf("/tmp/%s/%05u.so", directory, number);
}

/* Deep stacks in a file that stays mapped. */
static char *
mapped_text(guint dump)
{
    enum { STACKS = 300, FRAMES = 3000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();
    g_autofree char *path = long_path(99999);
    g_autofree char *mapping = g_strdup_printf("00100000-00200000 r-xp 00000000 08:01 77 %s\n", path);

    begin_stacks(text);
    for (guint i = 0; i < STACKS; i++) {
        append_stack(text, 10, MIB, FIRST + i * EACH);
        for (guint j = 1; j < FRAMES; j++)
            append_caller(text, FIRST + (j + i) * EACH);
        g_string_append_c(text, '\n');
    }
    return end(text, mapping);
}

static void
test_many_unmapped_files(void)
{
    enum { FILES = 4096 };
    g_auto(DoctorEvidence) evidence = {0};
    g_autoptr(GPtrArray) vanished = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < FILES; i++)
        g_ptr_array_add(vanished, long_path(i));
    doctor_evidence_init(&evidence);
    find(mapped_text, vanished, &evidence);
    g_assert_nonnull(evidence.holder);
    g_assert_null(evidence.holder->object);
}

enum { HELPERS = 4000 };

/* Helpers, each of which another function calls for other objects, behind many functions. */
static char *
helpers_text(guint dump)
{
    enum { OTHERS = 60000, CALLER = 0x1000, FIRST = 0x100000, EACH = 16 };
    GString *text = begin();

    append_name(text, CALLER, "caller");
    for (guint i = 0; i < OTHERS + HELPERS; i++) {
        g_autofree char *name = g_strdup_printf(i < OTHERS ? "o%u" : "h%u", i < OTHERS ? i : i - OTHERS);
        append_name(text, FIRST + i * EACH, name);
    }
    begin_stacks(text);
    for (guint i = 0; i < OTHERS + HELPERS; i++) {
        append_stack(text, 10, 4096, FIRST + i * EACH);
        append_caller(text, CALLER);
        g_string_append_c(text, '\n');
    }
    return end(text, "");
}

/* They are all removed from a stack of another profile. */
static void
test_chain_of_helpers(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    evidence.mover = g_new0(DoctorStack, 1);
    evidence.mover->functions = g_ptr_array_new_with_free_func(g_free);
    evidence.mover->block = 100;
    for (guint i = 0; i < HELPERS; i++)
        g_ptr_array_add(evidence.mover->functions, g_strdup_printf("h%u", i));
    g_ptr_array_add(evidence.mover->functions, g_strdup("serve"));
    find(helpers_text, NULL, &evidence);
    g_assert_cmpuint(evidence.mover->functions->len, ==, 1);
    g_assert_cmpstr(evidence.mover->functions->pdata[0], ==, "serve");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/hostile/nameless-frames", test_nameless_frames);
    g_test_add_func("/doctor/hostile/crowd-of-functions", test_crowd_of_functions);
    g_test_add_func("/doctor/hostile/long-names", test_long_names);
    g_test_add_func("/doctor/hostile/deep-recursion", test_deep_recursion);
    g_test_add_func("/doctor/hostile/many-unmapped-files", test_many_unmapped_files);
    g_test_add_func("/doctor/hostile/chain-of-helpers", test_chain_of_helpers);
    return g_test_run();
}
