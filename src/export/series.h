/* SPDX-License-Identifier: Apache-2.0 */
/* The labels that identify a process in time-series systems, and its numbers. */
#ifndef JESCOPE_EXPORT_SERIES_H
#define JESCOPE_EXPORT_SERIES_H

#include "export/batch.h"

#include <jansson.h>

typedef struct {
    const char *service; /* the label for BatchDump.service: "job", "service_name" */
    const char *metric;  /* the value of __name__; NULL: no such label */
    gsize labels;        /* maximum number of labels */
    gsize value_bytes;
} SeriesRules;

/*
 * Returns an array of BatchLabel that owns their strings, sorted by unique name: host, instance ("HOST:PID"), the
 * service and the metric, and the labels of BATCH with other names. A label "__x", a reserved form, becomes "label__x".
 * *LEFT_OUT counts the labels of BATCH that are omitted because of RULES or a name that is taken.
 */
GArray *series_labels(const Batch *batch, const SeriesRules *rules, gsize *left_out);

/* The result of series_labels() as [{"name": ..., "value": ...}, ...]. */
json_t *series_json(const GArray *labels);

/* A number of a batch. Strings are borrowed. */
typedef struct {
    const char *family;       /* as in /metrics of `serve`, if it is there */
    const char *name, *value; /* an additional label; name NULL: none */
    gboolean counter;         /* otherwise a gauge */
    gdouble amount;           /* in base units */
} SeriesPoint;

/* Calls EACH for the statistics of BATCH, its ledger, and the totals of its dump with their standard errors. */
typedef void SeriesFunc(const SeriesPoint *point, gpointer data);
void series_foreach(const Batch *batch, SeriesFunc *each, gpointer data);

/* "N labels are left out", or NULL if LEFT_OUT is 0. To be freed. */
char *series_note(gsize left_out);

#endif
