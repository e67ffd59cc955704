/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are targets: a look at /proc that is cheap to repeat. What was looked at and is none is looked at
 * again less and less often (a program may be started in a process, and an agent brought into one).
 *
 * A Scanner is used by one thread at a time, any thread.
 */
#ifndef JESCOPE_SERVICE_SCAN_H
#define JESCOPE_SERVICE_SCAN_H

#include "target/process.h"

typedef struct Scanner Scanner;

/* NAMES as ServiceOptions.targets. */
Scanner *scanner_new(const char *const *names);
void scanner_free(Scanner *scanner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scanner, scanner_free)

/* A new target. */
typedef struct {
    Process process;
    char *address; /* named: for target_open(); else the path of its agent's socket */
    gboolean named;
} ScanFound;

/* One that is none any more. */
typedef struct {
    pid_t pid;
    guint64 start_time;
} ScanLost;

typedef struct {
    GArray *found; /* of ScanFound, by pid; cleared with the array */
    GArray *lost;  /* of ScanLost */
    char *trouble; /* why a name stands for no target, for the operator; NULL: nothing new */
} ScanResult;

/* What has changed since the last time. HINTS, of pid_t, are looked at in any case; may be NULL. */
ScanResult *scanner_run(Scanner *scanner, const GArray *hints);
void scan_result_free(ScanResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScanResult, scan_result_free)

#endif
