/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a part of the fleet as a profile. The process that connects to the store puts its answers into a
 * document, as they are (fleet_document_*); a confined child, which they cannot harm, makes a profile of it.
 */
#ifndef JESCOPE_FLEET_STATE_H
#define JESCOPE_FLEET_STATE_H

#include "profile/profile.h"

typedef struct {
    gint64 time;         /* of the latest moment, microseconds since 1970 */
    guint64 period;      /* mean bytes between samples, the largest */
    guint moments;       /* of all answers together */
    gdouble scale;       /* of the sums: 1, or the share that one process has */
    gboolean cumulative; /* what was allocated in all is known */
} FleetFacts;

/* A document of NAMES, the answer to fleet_ask_names(), and of one or several answers to fleet_ask_stacks() or
 * fleet_ask_whole(). */
GString *fleet_document_new(const FleetFacts *facts, const GString *names);
void fleet_document_add(GString *document, const GString *stacks);
void fleet_document_end(GString *document);

/*
 * The mean over its moments. Variances of what one moment holds add up; those of moments are averaged, which is what
 * they are if all hold the same sampled objects, and at most that otherwise. NAME is for messages.
 */
Profile *fleet_document_read(int fd, const char *name, GError **error);

#endif
