/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds targets by scanning /proc, cheaply if repeated. Processes that are not targets are examined again at growing
 * intervals (a process may execute a program or load an agent).
 *
 * A Scanner may be used by one thread at a time.
 */
#ifndef JESCOPE_SERVICE_SCAN_H
#define JESCOPE_SERVICE_SCAN_H

#include "service/scan-result.h"
#include "service/service.h"

typedef struct Scanner Scanner;

/* NAMES is as ServiceOptions.targets. Of unnamed targets, at most PER_USER are accepted per user. */
Scanner *scanner_new(const char *const *names, guint per_user);
/* A scanner without names that runs in ROOT. */
Scanner *scanner_new_at(const ServiceRoot *root, guint per_user);
/* A scanner for only the processes of SOURCES. */
Scanner *scanner_new_of(const ServiceSource *sources, guint n);
void scanner_free(Scanner *scanner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scanner, scanner_free)

/* Returns the changes since the last scan. The processes in HINTS (of pid_t; may be NULL) are always examined. */
ScanResult *scanner_run(Scanner *scanner, const GArray *hints);
/* Drops FOUND, of a source of all processes of a name, which gets no series: it is examined again, and the remark WHY
 * is added to RESULT, once. */
void scanner_leave_out(Scanner *scanner, const ScanFound *found, const char *why, ScanResult *result);

#endif
