/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a part of the fleet as a profile. The process that is connected to the store copies its answers to a
 * document without parsing them (fleet_document_*); a confined child converts this to a profile, and parses each by
 * itself.
 */
#ifndef JESCOPE_FLEET_STATE_H
#define JESCOPE_FLEET_STATE_H

#include "profile/profile.h"

typedef struct {
    gint64 time;         /* time of the latest moment, microseconds since 1970 */
    guint64 period;      /* mean bytes between samples, the largest of all processes */
    guint moments;       /* total of all answers */
    gdouble scale;       /* factor for the sums: 1, or the share of one process */
    gboolean cumulative; /* cumulative values are known */
} FleetFacts;

/* A document consists of NAMES, the answer to fleet_ask_names(), and of one or more answers to fleet_ask_stacks() or
 * fleet_ask_whole(). */
GString *fleet_document_new(const FleetFacts *facts, const GString *names);
void fleet_document_add(GString *document, const GString *stacks);

/*
 * Reads the profile: the mean over the moments. Variances within a moment are summed; those of several moments are
 * averaged, which is exact if all moments have the same sampled objects and an upper bound otherwise. NAME is used in
 * messages. NULL with ERROR.
 */
Profile *fleet_document_read(int fd, const char *name, GError **error);

#endif
