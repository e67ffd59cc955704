/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sampler-choice.h"

#include <glib.h>
#include <string.h>

enum {
    PROFILER = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF,
    READY = WIRE_FLAG_SAMPLER_READY,
    SERVES = WIRE_FLAG_SAMPLER_READY | WIRE_FLAG_SAMPLER_SERVES,
    ACTIVE = WIRE_FLAG_PROF_ACTIVE,
};

static void
test_what_a_process_can_be_asked_for(void)
{
    static const struct {
        guint32 flags;
        SamplerChoice choice;
        Outcome outcome;
        const char *says;
    } rows[] = {
        {0, {WIRE_SAMPLER_AUTO, 0}, OUTCOME_DONE, ""},
        {PROFILER, {WIRE_SAMPLER_JEMALLOC, 0}, OUTCOME_DONE, ""},
        {PROFILER | READY, {WIRE_SAMPLER_JESCOPE, 0}, OUTCOME_DONE, ""},
        {SERVES, {WIRE_SAMPLER_JESCOPE, 1 << 20}, OUTCOME_DONE, ""},
        {SERVES, {WIRE_SAMPLER_AUTO, 1 << 20}, OUTCOME_DONE, ""},
        /* What is on is jemalloc's profiler. */
        {PROFILER | READY | ACTIVE, {WIRE_SAMPLER_JESCOPE, 1 << 20}, OUTCOME_DONE, ""},
        {SERVES | ACTIVE, {WIRE_SAMPLER_JESCOPE, 0}, OUTCOME_DONE, ""},
        {SERVES | ACTIVE, {WIRE_SAMPLER_JESCOPE, 1 << 20}, OUTCOME_BUSY, "is on already"},
        {SERVES | ACTIVE, {WIRE_SAMPLER_AUTO, 1 << 20}, OUTCOME_BUSY, "is on already"},
        {PROFILER | READY, {WIRE_SAMPLER_AUTO, 1 << 20}, OUTCOME_INVALID, "--sampler=jescope"},
        {PROFILER, {WIRE_SAMPLER_JESCOPE, 0}, OUTCOME_NO_PROFILING, "jemalloc 5.1.0"},
        {WIRE_FLAG_CONFIG_PROF | SERVES, {WIRE_SAMPLER_JEMALLOC, 0}, OUTCOME_NO_PROFILING, "cannot profile"},
        {SERVES, {WIRE_SAMPLER_JEMALLOC, 0}, OUTCOME_NO_PROFILING, "cannot profile"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const WireHelloReply hello = {.flags = rows[i].flags, .jemalloc_version = "5.1.0"};
        Failure failure = {0};
        g_assert_cmpint(sampler_choice_check(&rows[i].choice, &hello, &failure), ==, rows[i].outcome);
        g_assert_nonnull(strstr(failure.why, rows[i].says));
        g_assert_cmpint(failure.why[0] == '\0', ==, rows[i].outcome == OUTCOME_DONE);
    }
}

static void
test_what_it_needs(void)
{
    static const struct {
        guint32 obstacle;
        const char *says;
    } rows[] = {{WIRE_SAMPLER_NO_HOOKS, "5.2.0 to 5.3.1"},
                {WIRE_SAMPLER_NO_UNWINDER, "glibc 2.35"},
                {WIRE_SAMPLER_ODD_SIZES, "size classes"},
                {WIRE_SAMPLER_NO_AGENT, "jescope attach"},
                {WIRE_SAMPLER_UNASKED, NULL},
                {WIRE_SAMPLER_READY, NULL},
                {G_MAXUINT32, NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const WireHelloReply hello = {.sampler_obstacle = rows[i].obstacle};
        const SamplerChoice ours = {.sampler = WIRE_SAMPLER_JESCOPE};
        Failure failure = {0};
        const char *needs = sampler_choice_needs(&hello);
        g_assert_true(rows[i].says == NULL ? needs == NULL : strstr(needs, rows[i].says) != NULL);
        g_assert_cmpint(sampler_choice_check(&ours, &hello, &failure), ==, OUTCOME_NO_PROFILING);
        g_assert_nonnull(strstr(failure.why, needs != NULL ? needs : "cannot be used"));
    }
}

static void
test_flags_of_leases(void)
{
    g_assert_cmpuint(sampler_choice_flags(WIRE_SAMPLER_AUTO), ==, 0);
    g_assert_cmpuint(sampler_choice_flags(WIRE_SAMPLER_JEMALLOC), ==, WIRE_LEASE_JEMALLOC);
    g_assert_cmpuint(sampler_choice_flags(WIRE_SAMPLER_JESCOPE), ==, WIRE_LEASE_JESCOPE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/sampler-choice/check", test_what_a_process_can_be_asked_for);
    g_test_add_func("/wire/sampler-choice/needs", test_what_it_needs);
    g_test_add_func("/wire/sampler-choice/flags", test_flags_of_leases);
    return g_test_run();
}
