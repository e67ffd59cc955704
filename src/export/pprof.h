/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), within the limits of the
 * receiving system. The rest is not lost: the lightest stacks are summed up in one, "[other stacks]", and frames beyond
 * the depth become one, "[outer frames]"; the profile's comments have the numbers of both. Sample types are pprof's:
 * alloc_objects, alloc_space, inuse_objects and inuse_space, if the dump has them. Addresses are file offsets. Pure.
 */
#ifndef JESCOPE_EXPORT_PPROF_H
#define JESCOPE_EXPORT_PPROF_H

#include "export/batch.h"

typedef struct {
    gsize samples; /* at least 2 */
    gsize depth;   /* frames per stack, including inlined ones; at least 2 */
    gsize bytes;   /* uncompressed */
} PprofLimits;

typedef struct {
    gsize folded; /* stacks summed up, not including BatchDump.folded */
    gsize cut;    /* stacks with frames beyond the depth */
} PprofRest;

/* Returns the uncompressed profile, or NULL if not even one stack fits. NOTES (NULL-terminated, or NULL) become
 * comments. */
GByteArray *pprof_of_batch(const Batch *batch, const PprofLimits *limits, const char *const *notes, PprofRest *rest);

/* Compresses BYTES with gzip. To be unreferenced. */
GBytes *pprof_gzip(const GByteArray *bytes);

#endif
