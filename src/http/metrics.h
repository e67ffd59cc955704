/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scrape, written for Prometheus: the statistics of targets (stats/openmetrics.h) with the labels target (its id) and
 * process (its name), how profiling stands in each, and our own figures, scrapes' cost among them. docs/prometheus.md
 * lists the families. Pure, but for looking at our own process.
 */
#ifndef JESCOPE_HTTP_METRICS_H
#define JESCOPE_HTTP_METRICS_H

#include "http/server.h"
#include "service/service.h"

typedef enum {
    METRICS_TEXT, /* Prometheus' format 0.0.4 */
    METRICS_OPENMETRICS,
} MetricsFormat;

/* What the header ACCEPT (NULL: none) prefers; the text where it does not matter. */
MetricsFormat metrics_format(const char *accept);

const char *metrics_content_type(MetricsFormat format);

/* Our own figures. */
typedef struct {
    ServiceFigures service;
    ServerFigures server;
} MetricsOwn;

typedef struct {
    const GPtrArray *scraped; /* of ServiceScraped */
    gint64 duration_us;
    const MetricsOwn *own; /* NULL: the targets' alone */
} MetricsScrape;

GBytes *metrics_write(const MetricsScrape *scrape, MetricsFormat format);

#endif
