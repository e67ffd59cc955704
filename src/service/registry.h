/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets as they come and go. Three things tell of them: inotify on the directories where agents listen, a pidfd
 * of each live target, and a slow look at /proc for what the others miss. In the main context.
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
GPtrArray *registry_list(Registry *registry);
ServiceTarget *registry_lookup(Registry *registry, const char *text, GError **error);
ServiceTarget *registry_default(Registry *registry, GError **error);

/* Whether those that were there at the beginning are known. */
gboolean registry_has_looked(const Registry *registry);

/* Live ones by pid, of ServiceTarget, borrowed. */
const GPtrArray *registry_live(const Registry *registry);

#endif
