/* SPDX-License-Identifier: Apache-2.0 */
/* A batch as bytes: a GVariant, whose reader checks all that it is given. */
#ifndef JESCOPE_EXPORT_BATCH_FORM_H
#define JESCOPE_EXPORT_BATCH_FORM_H

#include "export/batch.h"

#define BATCH_VERSION 1

/* About what the names of OBJECT, which may be NULL, or of a line take where a sink writes each stack with its names. A
 * batch has every text once: its process decides how long one is and how often it is used. */
gsize batch_object_bytes(const BatchObject *object);
gsize batch_line_bytes(const char *function, const char *file);

/* The members of Batch in this order; docs/decisions/0021-push.md. */
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
