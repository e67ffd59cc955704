/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a scrape for Prometheus: the statistics of targets (stats/openmetrics.h) with the labels target (its id) and
 * process (its name), the state of profiling in each, and the server's own figures, including the cost of scrapes.
 * docs/prometheus.md lists the families. Pure, except for reading the state of its own process.
 */
#ifndef JESCOPE_SITE_METRICS_H
#define JESCOPE_SITE_METRICS_H

#include "http/server.h"
#include "service/service.h"

typedef enum {
    METRICS_TEXT, /* Prometheus' format 0.0.4 */
    METRICS_OPENMETRICS,
} MetricsFormat;

/* The format preferred by the header ACCEPT (NULL: none); text by default. */
MetricsFormat metrics_format(const char *accept);

const char *metrics_content_type(MetricsFormat format);

/* The figures of the server itself. */
typedef struct {
    ServiceFigures service;
    ServerFigures server;
    GArray *pushes; /* of ServicePushFigures; NULL: none */
    GArray *rules;  /* of RuleCount; NULL: none */
} MetricsOwn;

typedef struct {
    const GPtrArray *scraped; /* of ServiceScraped */
    gint64 duration_us;
    const MetricsOwn *own; /* NULL: only those of targets */
} MetricsScrape;

GBytes *metrics_write(const MetricsScrape *scrape, MetricsFormat format);

#endif
