/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions to blame in several symbolized dumps of one process: those whose stacks grow, and the one that
 * holds most. The call tree is searched from the root; where the growth divides, siblings are tested with a bounded
 * false discovery rate, and the deepest function with four fifths of the growth is named. Allocator wrappers are
 * skipped: by name, and if other callers hold memory through them that does not grow.
 */
#ifndef JESCOPE_DOCTOR_CULPRIT_H
#define JESCOPE_DOCTOR_CULPRIT_H

#include "doctor/classes.h"
#include "profile/growth.h"
#include "report/view.h"

typedef struct {
    const Growth *growth;         /* of inuse_space over the dumps */
    const Growth *objects;        /* of inuse_objects; NULL: sizes are taken from the last dump */
    const Growth *births;         /* of alloc_space; NULL: the dumps lack it (prof_accum) */
    const Growth *pinned;         /* of pinned; NULL: the last dump lacks it */
    gboolean slabs_known;         /* pinned is computed from the slabs of single objects */
    const View *view;             /* of growth_profile() */
    const Symbols *names;         /* of growth_profile() */
    const DoctorClasses *classes; /* NULL: the exact counters are unknown */
    guint64 class_size;           /* the size class whose holder is wanted; 0: none */
    const GPtrArray *vanished;    /* char *: files that were unmapped during the watch; may be NULL */
    gboolean young;               /* sampling began recently: only the second half of the dumps counts */
} CulpritInput;

/* Sets the stacks of EVIDENCE (growing, unfreed, holder, mover, class_holder) and the figures of the profile. A mover
 * found by another sampler is kept, and so is growing if no sample of this profile shows what grows; functions that
 * allocate for others are removed from both. */
void culprit_find(const CulpritInput *input, DoctorEvidence *evidence);

#endif
