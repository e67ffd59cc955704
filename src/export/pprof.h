/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), within the limits of the
 * system that gets it. What does not fit is not lost: the lightest stacks are added up in one, "[other stacks]", and
 * frames beyond the depth in one, "[outer frames]"; both are counted, also in comments of the profile. Sample types are
 * those of pprof: alloc_objects, alloc_space, inuse_objects, inuse_space, as far as the dump has them. Addresses are
 * offsets in files. Pure.
 */
#ifndef JESCOPE_EXPORT_PPROF_H
#define JESCOPE_EXPORT_PPROF_H

#include "export/batch.h"

typedef struct {
    gsize samples; /* at least 2 */
    gsize depth;   /* frames of a stack, inlined ones included; at least 2 */
    gsize bytes;   /* uncompressed */
} PprofLimits;

typedef struct {
    gsize folded; /* stacks that were added up, those of BatchDump.folded not included */
    gsize cut;    /* stacks with frames beyond the depth */
} PprofRest;

/* Not compressed. NOTES (NULL-terminated, or NULL) become comments. NULL: not even one stack fits. */
GByteArray *pprof_of_batch(const Batch *batch, const PprofLimits *limits, const char *const *notes, PprofRest *rest);

/* BYTES as gzip. To be unreferenced. */
GBytes *pprof_gzip(const GByteArray *bytes);

#endif
