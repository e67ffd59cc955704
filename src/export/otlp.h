/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of OTLP requests for one batch (https://github.com/open-telemetry/opentelemetry-proto, release 1.11): metrics,
 * which are stable, and profiles, whose status is "development". Pure.
 */
#ifndef JESCOPE_EXPORT_OTLP_H
#define JESCOPE_EXPORT_OTLP_H

#include "export/batch.h"

/* An ExportMetricsServiceRequest: the numbers of series_foreach() as gauges and cumulative sums. */
GByteArray *otlp_metrics(const Batch *batch);

/* An ExportProfilesServiceRequest: one Profile for each of alloc_objects, alloc_space, inuse_objects and inuse_space
 * that the batch has, with full stacks and function names. */
GByteArray *otlp_profiles(const Batch *batch);

/* A Resource: service.name, host.name, service.instance.id ("HOST:PID"), process.pid, process.executable.path,
 * container.id, k8s.pod.uid, and the other labels under their names. Used by both requests. */
GByteArray *otlp_resource(const Batch *batch);
GByteArray *otlp_scope(void);

/* The number of points or profiles that an answer (Export...ServiceResponse) reports as rejected; 0 also if it cannot
 * be parsed. */
guint64 otlp_rejected(const char *body, gsize length);

#endif
