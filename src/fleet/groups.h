/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a census, added up by what they have in common. */
#ifndef JESCOPE_FLEET_GROUPS_H
#define JESCOPE_FLEET_GROUPS_H

#include "fleet/store.h"

typedef enum {
    FLEET_BY_SERVICE,
    FLEET_BY_HOST,
} FleetBy;

typedef struct {
    char *name;
    guint processes, hosts, versions; /* how many different ones */
    gint64 latest;                    /* dump of any */
    gdouble inuse, variance;          /* bytes */
    gdouble allocated, resident;      /* bytes of the processes that know both */
    guint counted;                    /* how many these are */
    gdouble distance;                 /* of fleet_groups_mark() */
    gboolean outlier;
} FleetGroup;

/* FleetGroup, by bytes in use, the largest first. */
GPtrArray *fleet_groups(const FleetCensus *census, FleetBy by);

/* GROUPS by their names; both stay the caller's. */
GHashTable *fleet_groups_by_name(const GPtrArray *groups);

/* What one process has in use, in the mean, and the variance of that. */
gdouble fleet_group_each(const FleetGroup *group, gdouble *variance);

/* Sets distance and outlier by what one process has in use (outliers.h), and sorts by distance, the largest first.
 * FALSE: there are fewer than OUTLIERS_MIN_HOSTS, and nothing was done. */
gboolean fleet_groups_mark(GPtrArray *groups, gdouble *median);

#endif
