/* SPDX-License-Identifier: Apache-2.0 */
/* The words with which a user names values of the history; series.h gives their form. */
#ifndef JESCOPE_HISTORY_SELECTOR_H
#define JESCOPE_HISTORY_SELECTOR_H

#include "history/block.h"

typedef enum {
    OWNER_TOGETHER, /* the merged arena where a sample has it, else the sum of its arenas */
    OWNER_EACH,     /* every real arena by itself */
    OWNER_ONE,
} OwnerChoice;

typedef struct {
    StatsMetric metric;
    OwnerChoice choice;
    guint32 owner; /* of OWNER_ONE, as SectionKey */
    char *item;    /* NULL: each by itself */
} Selector;

/* HISTORY_ERROR_MISSING with a nearby name where there is one: no such metric, or words its scope does not have. */
gboolean selector_parse(const char *text, Selector *selector, GError **error);
void selector_clear(Selector *selector);

/* Whether KEY, whose metric is SELECTOR's, is one of its values. */
gboolean selector_matches(const Selector *selector, const History *history, const SectionKey *key);

/* The item of KEY in a user's words; NULL if its scope has none. */
char *selector_item(const History *history, const SectionKey *key);

/* The part the values are in. */
HistoryParts selector_part(const Selector *selector);

#endif
