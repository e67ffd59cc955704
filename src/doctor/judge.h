/* SPDX-License-Identifier: Apache-2.0 */
/* From evidence to causes: the rules of stats/causes.def. Pure, thread-safe. */
#ifndef JESCOPE_DOCTOR_JUDGE_H
#define JESCOPE_DOCTOR_JUDGE_H

#include "doctor/classes.h"
#include "doctor/evidence.h"
#include "stats/causes.h"

typedef struct {
    CauseId cause;
    char *advice;         /* what to do; NULL: nothing that could be computed */
    gdouble gives_back;   /* bytes that it gives back, by this process's own numbers */
    GPtrArray *functions; /* char *: from the one to blame outwards; may be empty */
    gdouble bytes;        /* that the cause holds now */
    gboolean grows;       /* then per second, with a 95 % interval */
    gdouble rate, low, high;
    gdouble onset;       /* seconds into the watch */
    gdouble hours;       /* until the limit of the control group is reached; 0: unknown */
    gdouble confidence;  /* 0..1 */
    GPtrArray *evidence; /* char *: sentences without a full stop */
    GPtrArray *against;  /* char *: what else was considered, "CAUSE, because ..." */
} DoctorFinding;

typedef struct {
    GPtrArray *findings; /* DoctorFinding, the likeliest first; empty: healthy */
    gdouble detectable;  /* growth of the heap in bytes per second that would have been seen; infinite: none */
    GPtrArray *notes;    /* char *: what one step more would tell, and what the watch could not see */
} DoctorReport;

/* CLASSES is doctor_classes() of the evidence. */
void doctor_judge(const DoctorEvidence *evidence, const DoctorClasses *classes, DoctorReport *report);
void doctor_report_clear(DoctorReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorReport, doctor_report_clear)

#endif
