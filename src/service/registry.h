/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of targets. Changes are detected by inotify on the directories of agents, a pidfd of each live target, and a
 * slow scan of /proc. In the main context.
 */
#ifndef JESCOPE_SERVICE_REGISTRY_H
#define JESCOPE_SERVICE_REGISTRY_H

#include "service/core.h"

/* Begins to look for what SERVICE's options name. */
Registry *registry_new(Service *service);
void registry_free(Registry *registry);

/* SERVICE's options name other targets now. */
void registry_set_names(Registry *registry);

/* As service_targets() and others. */
GPtrArray *registry_list(Registry *registry, Viewer viewer);
ServiceTarget *registry_lookup(Registry *registry, Viewer viewer, const char *text, GError **error);
ServiceTarget *registry_default(Registry *registry, Viewer viewer, GError **error);

/* Whether those that were there at the beginning are known. */
gboolean registry_has_looked(const Registry *registry);

/* Live ones by pid, of ServiceTarget, borrowed. */
const GPtrArray *registry_live(const Registry *registry);

#endif
