/* SPDX-License-Identifier: Apache-2.0 */
/* The labels by which systems of time series know a process, and the numbers they get of it. */
#ifndef JESCOPE_EXPORT_SERIES_H
#define JESCOPE_EXPORT_SERIES_H

#include "export/batch.h"

#include <jansson.h>

typedef struct {
    const char *service; /* the label that has BatchDump.service: "job", "service_name" */
    const char *metric;  /* the value of __name__; NULL: no such label */
    gsize labels;        /* in all */
    gsize value_bytes;
} SeriesRules;

/*
 * Of BatchLabel that own their strings, sorted by name, each name once: the labels of BATCH, host, instance
 * ("HOST:PID"), the service and the metric, which go before labels of the same names. A label "__x", whose form is
 * reserved for the systems themselves, becomes "label__x". Labels that RULES leave no room for are counted in
 * *LEFT_OUT.
 */
GArray *series_labels(const Batch *batch, const SeriesRules *rules, gsize *left_out);

/* [{"name": ..., "value": ...}, ...]: of series_labels(). */
json_t *series_json(const GArray *labels);

/* A number of a batch. Strings are borrowed. */
typedef struct {
    const char *family;       /* as in /metrics of `serve`, where it has it */
    const char *name, *value; /* a label beside those of the process; name NULL: none */
    gboolean counter;         /* else a gauge */
    gdouble amount;           /* in base units */
} SeriesPoint;

/* The statistics of BATCH, its ledger, and the totals of its dump with their standard errors. */
typedef void SeriesFunc(const SeriesPoint *point, gpointer data);
void series_foreach(const Batch *batch, SeriesFunc *each, gpointer data);

/* "N labels are left out", or NULL if LEFT_OUT is 0. To be freed. */
char *series_note(gsize left_out);

#endif
