/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks all current and future processes of one name. Of processes that appear together, the one that started the
 * others comes first. Each has its own series (series-name.h).
 */
#ifndef JESCOPE_SERVICE_FLEET_H
#define JESCOPE_SERVICE_FLEET_H

#include "service/scan-result.h"

typedef struct Fleet Fleet;

/* Tracks the processes with the name PROGRAM (candidates.h), for SERIES. */
Fleet *fleet_new(const char *program, const char *series);
void fleet_free(Fleet *fleet);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fleet, fleet_free)

/* Adds the changes since the last call to RESULT. */
void fleet_look(Fleet *fleet, ScanResult *result);

/* Drops PROCESS until a later look finds it again. Adds the remark WHY to RESULT, once per process; of many processes
 * only for some, of which one says how many others there were. */
void fleet_leave_out(Fleet *fleet, const Process *process, const char *why, ScanResult *result);

/* The number of processes remembered to avoid repeated remarks; a look removes those that have exited. */
guint fleet_count_left_out(const Fleet *fleet);

#endif
