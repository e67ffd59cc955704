/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for report tests: from text that brings its own names, so that nothing on the machine decides the outcome.
 */
#ifndef JESCOPE_TESTS_REPORT_FIXTURE_H
#define JESCOPE_TESTS_REPORT_FIXTURE_H

#include "report/report.h"

typedef struct {
    Profile *profile;
    Symbols *symbols;
    GBytes *text;
    ReportInput input;
} Fixture;

/*
 * Four stacks below main, each through malloc: insert with make_node inlined (100 bytes in 1 object), recurse in itself
 * (200 in 2), a C++ method (300 in 3), and an address without a name (40 in 4). Twice as much was allocated in all.
 */
extern const char fixture_text[];

void fixture_init(Fixture *fixture, const char *text, ProfileReadFlags flags);
void fixture_clear(Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)

/* The report as text; aborts the test if it cannot be written. */
char *fixture_report(const Fixture *now, const Fixture *base, const char *format, const ReportOptions *options);
GBytes *fixture_report_bytes(const Fixture *now, const Fixture *base, const char *format, const ReportOptions *options);

#endif
