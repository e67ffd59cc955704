/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of causes.def: what a process's memory can be held by, how each is recognised, and what to do about it. */
#ifndef JESCOPE_STATS_CAUSES_H
#define JESCOPE_STATS_CAUSES_H

#include <glib.h>

typedef enum {
#define CAUSE(ID, ...) CAUSE_##ID,
#include "stats/causes.def"
#undef CAUSE
    CAUSES,
} CauseId;

/* One row, whose fields causes.def explains. */
typedef struct {
    const char *name;
    const char *finding;
    const char *rule;
    const char *against;
    const char *advice;
} Cause;

extern const Cause causes[CAUSES];

#endif
