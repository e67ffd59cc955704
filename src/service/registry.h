/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of targets. Changes are detected by inotify on the directories of agents, a pidfd of each live target, and an
 * infrequent scan of /proc. Used in the main context.
 */
#ifndef JESCOPE_SERVICE_REGISTRY_H
#define JESCOPE_SERVICE_REGISTRY_H

#include "service/core.h"

/* Starts to look for the targets that SERVICE's options select. */
Registry *registry_new(Service *service);
void registry_free(Registry *registry);

/* To be called after a change of the targets in SERVICE's options. */
void registry_set_names(Registry *registry);

/* These implement service_targets() and related functions. */
GPtrArray *registry_list(Registry *registry, Viewer viewer);
ServiceTarget *registry_lookup(Registry *registry, Viewer viewer, const char *text, GError **error);
ServiceTarget *registry_default(Registry *registry, Viewer viewer, GError **error);

/* The live targets that VIEWER sees, by pid, as references to ServiceTarget. Of a user whose processes take too long to
 * look at, some are left out. */
GPtrArray *registry_list_live(const Registry *registry, Viewer viewer);

/* Whether the first scan has completed. */
gboolean registry_has_looked(const Registry *registry);

/* The live targets by pid, of ServiceTarget, borrowed. */
const GPtrArray *registry_live(const Registry *registry);

#endif
