/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a census, aggregated by service or host. */
#ifndef JESCOPE_FLEET_GROUPS_H
#define JESCOPE_FLEET_GROUPS_H

#include "fleet/store.h"

typedef enum {
    FLEET_BY_SERVICE,
    FLEET_BY_HOST,
} FleetBy;

typedef struct {
    char *name;
    guint processes, hosts, versions; /* numbers of distinct ones */
    gint64 latest;                    /* time of the latest dump */
    gdouble inuse, variance;          /* bytes */
    gdouble allocated, resident;      /* bytes, of the processes that report both */
    guint counted;                    /* number of these processes */
    gdouble distance;                 /* set by fleet_groups_mark() */
    gboolean outlier;
} FleetGroup;

/* Aggregates CENSUS to FleetGroups, sorted by bytes in use, the largest first. */
GPtrArray *fleet_groups(const FleetCensus *census, FleetBy by);

/* Maps names to GROUPS. The table borrows them; the caller owns both. */
GHashTable *fleet_groups_by_name(const GPtrArray *groups);

/* The mean bytes in use per process, and its variance. */
gdouble fleet_group_each(const FleetGroup *group, gdouble *variance);

/* Sets distance and outlier from fleet_group_each() (outliers.h), and sorts by distance, the largest first. FALSE
 * without a change if there are fewer than OUTLIERS_MIN_HOSTS groups. */
gboolean fleet_groups_mark(GPtrArray *groups, gdouble *median);

#endif
