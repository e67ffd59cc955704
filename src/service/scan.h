/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds targets: a scan of /proc that is cheap to repeat. Other processes are examined again at growing intervals (a
 * process may execute a program, and an agent may be loaded).
 *
 * A Scanner is used by one thread at a time, any thread.
 */
#ifndef JESCOPE_SERVICE_SCAN_H
#define JESCOPE_SERVICE_SCAN_H

#include "service/scan-result.h"
#include "service/service.h"

typedef struct Scanner Scanner;

/* NAMES as ServiceOptions.targets; of those that it finds without, at most PER_USER of one user are targets. */
Scanner *scanner_new(const char *const *names, guint per_user);
/* The same, where ROOT looks. */
Scanner *scanner_new_at(const ServiceRoot *root, guint per_user);
/* The processes of SOURCES and no others. */
Scanner *scanner_new_of(const ServiceSource *sources, guint n);
void scanner_free(Scanner *scanner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scanner, scanner_free)

/* The changes since the last scan. HINTS, of pid_t, are always examined; may be NULL. */
ScanResult *scanner_run(Scanner *scanner, const GArray *hints);
/* FOUND, of a source of all processes of a name, gets no series: it is looked at again, and RESULT remarks WHY, once.
 */
void scanner_leave_out(Scanner *scanner, const ScanFound *found, const char *why, ScanResult *result);

#endif
