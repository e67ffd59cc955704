/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that are to blame: from several dumps of one process, named, those whose stacks grow, and the one that
 * holds most. The call tree is searched from the root; where the growth divides, siblings are tested with a bounded
 * rate of false discoveries, and the deepest function with four fifths of the growth is named. Allocator wrappers are
 * not: by name, and by rule, since other callers hold memory through them that does not grow.
 */
#ifndef JESCOPE_DOCTOR_CULPRIT_H
#define JESCOPE_DOCTOR_CULPRIT_H

#include "doctor/classes.h"
#include "profile/growth.h"
#include "report/view.h"

typedef struct {
    const Growth *growth;         /* of inuse_space over the dumps */
    const Growth *objects;        /* of inuse_objects, or NULL: the sizes are those of the last dump */
    const Growth *births;         /* of alloc_space, or NULL: the dumps do not carry it (prof_accum) */
    const Growth *pinned;         /* of pinned, or NULL: the last dump does not carry it */
    gboolean slabs_known;         /* pinned is by the slabs of single objects */
    const View *view;             /* of growth_profile() */
    const Symbols *names;         /* of it */
    const DoctorClasses *classes; /* or NULL: the exact counters are not known */
    guint64 class_size;           /* whose holder is looked for; 0: none */
    const GPtrArray *vanished;    /* char *: files that were unmapped during the watch, or NULL */
    gboolean young;               /* sampling is young: only the second half of the dumps counts */
} CulpritInput;

/* Fills the stacks of EVIDENCE: growing, unfreed, holder, mover, class_holder and profiled. Of what is there already,
 * by other samples, a mover is kept, and growing where no sample of this profile tells what grows; their functions lose
 * those that allocate for others as well. */
void culprit_find(const CulpritInput *input, DoctorEvidence *evidence);

#endif
