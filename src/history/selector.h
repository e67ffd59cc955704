/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors, by which users name values of the history; series.h has the syntax. */
#ifndef JESCOPE_HISTORY_SELECTOR_H
#define JESCOPE_HISTORY_SELECTOR_H

#include "history/block.h"

typedef enum {
    OWNER_TOGETHER, /* the merged arena if the sample has it, otherwise the sum of its arenas */
    OWNER_EACH,     /* every real arena separately */
    OWNER_ONE,
} OwnerChoice;

typedef struct {
    StatsMetric metric;
    OwnerChoice choice;
    guint32 owner; /* for OWNER_ONE, as in SectionKey */
    char *item;    /* NULL: each item separately */
} Selector;

/* FALSE with HISTORY_ERROR_MISSING for an unknown metric, with a similar name if there is one, or for an owner or item
 * that its scope does not have. */
gboolean selector_parse(const char *text, Selector *selector, GError **error);
void selector_clear(Selector *selector);

/* Whether SELECTOR selects KEY, which has its metric. */
gboolean selector_matches(const Selector *selector, const History *history, const SectionKey *key);

/* The item of KEY as a user writes it; NULL if its scope has none. */
char *selector_item(const History *history, const SectionKey *key);

/* The part of samples that has the values. */
HistoryParts selector_part(const Selector *selector);

#endif
