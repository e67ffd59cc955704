/* SPDX-License-Identifier: Apache-2.0 */
/* The serialized form of a batch: a GVariant, which is safe to read from untrusted bytes. */
#ifndef JESCOPE_EXPORT_BATCH_FORM_H
#define JESCOPE_EXPORT_BATCH_FORM_H

#include "export/batch.h"

#define BATCH_VERSION 1

/* The approximate size of the names of OBJECT (may be NULL), or of a line, in the output of a sink that repeats them
 * for each stack. A batch stores every text once, but the dumped process determines its length and the number of
 * uses. */
gsize batch_object_bytes(const BatchObject *object);
gsize batch_line_bytes(const char *function, const char *file);

/* The members of Batch, in this order; see docs/decisions/0021-push.md. */
#define BATCH_FORM_DUMP   "(sssssxxtttt)"
#define BATCH_FORM_PLACES "(tuuuu)"
#define BATCH_FORM_LINES  "(uuuu)"
#define BATCH_FORM_STACKS "(tuu)"
#define BATCH_FORM                                                                                                     \
    "(u" BATCH_FORM_DUMP "a(ss)asa(ss)a" BATCH_FORM_PLACES "a" BATCH_FORM_LINES "a" BATCH_FORM_STACKS                  \
    "aua(ss)adadadada(sxxx)a(sbd)ay)"

enum {
    BATCH_CHILD_VERSION,
    BATCH_CHILD_DUMP,
    BATCH_CHILD_LABELS,
    BATCH_CHILD_STRINGS,
    BATCH_CHILD_OBJECTS,
    BATCH_CHILD_LOCATIONS,
    BATCH_CHILD_LINES,
    BATCH_CHILD_STACKS,
    BATCH_CHILD_FRAMES,
    BATCH_CHILD_VALUES,
    BATCH_CHILD_TOTAL,
    BATCH_CHILD_ESTIMATES,
    BATCH_CHILD_VARIANCES,
    BATCH_CHILD_LIVES, /* births and deaths of each stack */
    BATCH_CHILD_LEDGER,
    BATCH_CHILD_METRICS,
    BATCH_CHILD_HEAP,
    BATCH_CHILDREN,
};

#endif
