/* SPDX-License-Identifier: Apache-2.0 */
/* What a look for targets has found. */
#ifndef JESCOPE_SERVICE_SCAN_RESULT_H
#define JESCOPE_SERVICE_SCAN_RESULT_H

#include "target/facts.h"
#include "target/identity.h"

/* A new target. */
typedef struct {
    Process process;
    char *address; /* named: for target_open(); else the path of its agent's socket */
    gboolean named;
    Identity *identity;
    char *series;        /* of the source that names it (ServiceSource); NULL: none does */
    gboolean numbered;   /* it may be SERIES/2, ... */
    ProcessFacts *facts; /* NULL: not read yet */
} ScanFound;

/* A process that is no longer a target. */
typedef struct {
    pid_t pid;
    guint64 start_time;
} ScanLost;

/* Of a source. */
typedef struct {
    char *series;
    char *text;
    gboolean missing; /* there is no process whose samples could be taken */
} ScanRemark;

typedef struct ScanResult {
    GArray *found;   /* of ScanFound, by pid unless sources name them; cleared with the array */
    GArray *lost;    /* of ScanLost */
    GArray *remarks; /* of ScanRemark; cleared with the array */
    char *trouble;   /* why a name has no target, or targets are ignored, for the operator; NULL: nothing new */
} ScanResult;

ScanResult *scan_result_new(void);
void scan_result_free(ScanResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScanResult, scan_result_free)

/* FOUND's texts are copied, and its identity is looked up. */
void scan_result_add_found(ScanResult *result, const ScanFound *found);
void scan_result_add_lost(ScanResult *result, const Process *process);
void scan_result_add_remark(ScanResult *result, const ScanRemark *remark);

#endif
