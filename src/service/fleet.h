/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes of one name, now and later. Of processes that appear together the one that started the others is the
 * first. Each gets a series of its own (series-name.h).
 */
#ifndef JESCOPE_SERVICE_FLEET_H
#define JESCOPE_SERVICE_FLEET_H

#include "service/scan-result.h"

typedef struct Fleet Fleet;

/* The processes that go by PROGRAM (candidates.h), for SERIES. */
Fleet *fleet_new(const char *program, const char *series);
void fleet_free(Fleet *fleet);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fleet, fleet_free)

/* Adds to RESULT what has changed since the last time. */
void fleet_look(Fleet *fleet, ScanResult *result);

/* PROCESS is not followed until a later look finds it again; RESULT remarks WHY, once. */
void fleet_leave_out(Fleet *fleet, const Process *process, const char *why, ScanResult *result);

/* How many processes are remembered so that no second remark is made; those that have ended are not, after a look. */
guint fleet_count_left_out(const Fleet *fleet);

#endif
