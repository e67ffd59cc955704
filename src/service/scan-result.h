/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a scan for targets. */
#ifndef JESCOPE_SERVICE_SCAN_RESULT_H
#define JESCOPE_SERVICE_SCAN_RESULT_H

#include "target/facts.h"
#include "target/identity.h"

/* A new target. */
typedef struct {
    Process process;
    char *address; /* if named: for target_open(); otherwise the path of its agent's socket */
    gboolean named;
    Identity *identity;
    char *series;        /* of the source (ServiceSource) that names it; NULL: none */
    gboolean numbered;   /* its series may be SERIES/2, ... */
    ProcessFacts *facts; /* NULL: not read yet */
} ScanFound;

/* A process that is no longer a target. */
typedef struct {
    pid_t pid;
    guint64 start_time;
} ScanLost;

/* A remark about a source. */
typedef struct {
    char *series;
    char *text;
    gboolean missing; /* there is no process to sample */
} ScanRemark;

typedef struct ScanResult {
    GArray *found;   /* of ScanFound, by pid unless sources name them; cleared with the array */
    GArray *lost;    /* of ScanLost */
    GArray *remarks; /* of ScanRemark; cleared with the array */
    char *trouble;   /* message for the operator why a name has no target, or targets are ignored; NULL: nothing new */
} ScanResult;

ScanResult *scan_result_new(void);
void scan_result_free(ScanResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScanResult, scan_result_free)

/* Copies FOUND's texts, and looks up its identity. */
void scan_result_add_found(ScanResult *result, const ScanFound *found);
void scan_result_add_lost(ScanResult *result, const Process *process);
void scan_result_add_remark(ScanResult *result, const ScanRemark *remark);

#endif
