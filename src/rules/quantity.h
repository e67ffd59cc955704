/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quantities that conditions compare: a value of a sample, or its change over time.
 *
 *   held, arena.mapped@3, bin.curregs@merged/64   a metric (docs/metrics.md), named as for `jescope series`
 *   working-set     the share of the control group's limit that is in use, without reclaimable page cache
 *   fragmentation   the share of the pages in use that is not allocated
 *   pressure        the share of the time in which a process of the control group waited for memory
 *   ledger(LINE), function(REGEX), stack(REGEX)   see probe.h
 *   rate(QUANTITY)           change per second since the previous sample
 *   slope(QUANTITY, WINDOW)  change per second over a time, with its error
 *   grows(QUANTITY, WINDOW)  whether it grows beyond its own variation: true or false
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
    AmountUnit unit; /* of the value that is compared */
    gint64 window_us;
    QuantitySource *source;
} Quantity;

enum {
    QUANTITY_WINDOW_MAX_DAYS = 31,
};

/* Parses TEXT. FALSE with a sentence in *WHY, to be freed, if it is invalid. */
gboolean quantity_parse(const char *text, Quantity *quantity, char **why);
void quantity_clear(Quantity *quantity);

/* The probe that measures it; NULL if samples have it. */
const Probe *quantity_probe(const Quantity *quantity);

/* Reads the value of the base from SAMPLE, or if it has a probe from PROBED, a table of Quantity.base -> gdouble, which
 * may be NULL. FALSE if there is no value. */
gboolean quantity_read(const Quantity *quantity, const StatsSample *sample, GHashTable *probed, gdouble *value);

/* Appends the metrics that quantity_read() reads to METRICS (of StatsMetric). Returns the parts of a sample that have
 * them. */
HistoryParts quantity_needs(const Quantity *quantity, GArray *metrics);

#endif
