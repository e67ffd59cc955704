/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a doctor report as text and as JSON (docs/formats.md, "jescope-doctor"). */
#ifndef JESCOPE_DOCTOR_ANSWER_H
#define JESCOPE_DOCTOR_ANSWER_H

#include "doctor/judge.h"

#include <jansson.h>

/* The subject of a report. */
typedef struct {
    const char *name;     /* a process, "redis-server (4711)", or files */
    gdouble seconds;      /* duration of the watch */
    const Ledger *ledger; /* at the end of the watch; may be NULL */
} DoctorSubject;

void doctor_answer_text(GString *out, const DoctorSubject *subject, const DoctorReport *report);

/* Returns an object with the members of the document; a new reference. */
json_t *doctor_answer_json(const DoctorSubject *subject, const DoctorReport *report);

#endif
