/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor found, for people and for programs (docs/formats.md, "jescope-doctor"). */
#ifndef JESCOPE_DOCTOR_ANSWER_H
#define JESCOPE_DOCTOR_ANSWER_H

#include "doctor/judge.h"

#include <jansson.h>

/* What a report is about. */
typedef struct {
    const char *name;     /* "redis-server (4711)", or of the files */
    gdouble seconds;      /* that were looked at */
    const Ledger *ledger; /* at the end, or NULL */
} DoctorSubject;

void doctor_answer_text(GString *out, const DoctorSubject *subject, const DoctorReport *report);

/* The members of the document; a new reference. */
json_t *doctor_answer_json(const DoctorSubject *subject, const DoctorReport *report);

#endif
