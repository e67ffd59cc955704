/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a condition compares: a value of a sample, or what it does over time.
 *
 *   held, arena.mapped@3, bin.curregs@merged/64   a metric (docs/metrics.md), named as for `jescope series`
 *   working-set     the share of the control group's limit that is in use, without page cache that can be given up
 *   fragmentation   the share of the pages in use that is not allocated
 *   pressure        the share of the time in which a process of the control group waited for memory
 *   ledger(LINE), function(REGEX), stack(REGEX)   see probe.h
 *   rate(QUANTITY)           change per second since the sample before
 *   slope(QUANTITY, WINDOW)  change per second over a time, with its error
 *   grows(QUANTITY, WINDOW)  whether it grows beyond its own movement: true or false
 */
#ifndef JESCOPE_RULES_QUANTITY_H
#define JESCOPE_RULES_QUANTITY_H

#include "rules/amount.h"
#include "rules/probe.h"

#include "history/history.h"

typedef enum {
    QUANTITY_VALUE,
    QUANTITY_RATE,
    QUANTITY_SLOPE,
    QUANTITY_GROWS, /* no amount: 1 or 0 */
} QuantityForm;

typedef struct QuantitySource QuantitySource;

typedef struct {
    QuantityForm form;
    char *text;      /* as it was written, without blanks */
    char *base;      /* the quantity in the parentheses, or text */
    AmountUnit unit; /* of what is compared */
    gint64 window_us;
    QuantitySource *source;
} Quantity;

enum {
    QUANTITY_WINDOW_MAX_DAYS = 31,
};

/* A sentence in *WHY (to be freed) and FALSE: TEXT is not a quantity. */
gboolean quantity_parse(const char *text, Quantity *quantity, char **why);
void quantity_clear(Quantity *quantity);

/* What it is measured by; NULL: a sample has it. */
const Probe *quantity_probe(const Quantity *quantity);

/* The value of the base in SAMPLE, or of one with a probe in PROBED: a table of Quantity.base -> gdouble, which may be
 * NULL. FALSE: it has none. */
gboolean quantity_read(const Quantity *quantity, const StatsSample *sample, GHashTable *probed, gdouble *value);

/* The metrics that quantity_read() looks at are appended to METRICS, of StatsMetric; returns their parts of a sample.
 */
HistoryParts quantity_needs(const Quantity *quantity, GArray *metrics);

#endif
