/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a service (ServiceOptions.rules): evaluates them at each sample and executes their actions. */
#ifndef JESCOPE_SERVICE_RULES_SINK_H
#define JESCOPE_SERVICE_RULES_SINK_H

#include "service/sink.h"

/* These implement service_rules_each() and service_rules_problems(). */
gboolean rules_sink_each(gpointer state, Viewer viewer, void (*each)(const RuleStanding *standing, gpointer data),
                         gpointer data);
GPtrArray *rules_sink_problems(gpointer state);

typedef struct {
    guint64 fired;
    guint64 failed; /* actions */
    guint64 judged; /* from engine_judged() */
} RulesSinkCounts;
/* Waits for nothing that takes long. */
RulesSinkCounts rules_sink_counts(gpointer state);

/* Implements service_rule_counts(). */
GArray *rules_sink_states(gpointer state);

#endif
