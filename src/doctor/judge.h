/* SPDX-License-Identifier: Apache-2.0 */
/* Derives causes from the evidence by the rules of stats/causes.def. Pure and thread-safe. */
#ifndef JESCOPE_DOCTOR_JUDGE_H
#define JESCOPE_DOCTOR_JUDGE_H

#include "doctor/classes.h"
#include "doctor/evidence.h"
#include "stats/causes.h"

typedef struct {
    CauseId cause;
    char *advice;         /* what to do; NULL: none */
    gdouble gives_back;   /* bytes that following the advice frees, computed from this process's numbers */
    GPtrArray *functions; /* char *: from the function to blame outwards; may be empty */
    gdouble bytes;        /* currently held because of it */
    gboolean grows;       /* then rate is in bytes per second, with its 95 % interval */
    gdouble rate, low, high;
    gdouble onset;       /* seconds into the watch */
    gdouble hours;       /* until the limit of the control group is reached; 0: unknown */
    gdouble confidence;  /* 0..1 */
    GPtrArray *evidence; /* char *: sentences without a full stop */
    GPtrArray *against;  /* char *: the causes that were rejected, "not CAUSE, because ..." */
} DoctorFinding;

typedef struct {
    GPtrArray *findings; /* DoctorFinding, the likeliest first; empty: healthy */
    gdouble detectable;  /* smallest growth of the heap, in bytes per second, that would have been detected; infinite:
                            none */
    GPtrArray *notes;    /* char *: what a further step would show, and what the watch could not see */
} DoctorReport;

/* CLASSES must be from doctor_classes() for the moments of EVIDENCE. Clear REPORT with doctor_report_clear(). */
void doctor_judge(const DoctorEvidence *evidence, const DoctorClasses *classes, DoctorReport *report);
void doctor_report_clear(DoctorReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorReport, doctor_report_clear)

#endif
