/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of causes.def: why a process holds memory, how each cause is recognised, and what to do about it. */
#ifndef JESCOPE_STATS_CAUSES_H
#define JESCOPE_STATS_CAUSES_H

#include <glib.h>

typedef enum {
#define CAUSE(ID, ...) CAUSE_##ID,
#include "stats/causes.def"
#undef CAUSE
    CAUSES,
} CauseId;

/* A row of causes.def, which explains the fields. */
typedef struct {
    const char *name;
    const char *finding;
    const char *rule;
    const char *against;
    const char *advice;
} Cause;

extern const Cause causes[CAUSES];

#endif
