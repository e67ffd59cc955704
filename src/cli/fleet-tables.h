/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `jescope fleet`, as text or as documents (document.h). */
#ifndef JESCOPE_CLI_FLEET_TABLES_H
#define JESCOPE_CLI_FLEET_TABLES_H

#include "fleet/groups.h"

typedef enum {
    FLEET_TABLE_TEXT,
    FLEET_TABLE_JSON,
} FleetTableForm;

typedef enum {
    FLEET_SORT_BYTES,
    FLEET_SORT_WASTE,  /* resident memory that is not allocated */
    FLEET_SORT_GROWTH, /* since the preceding census */
} FleetSort;

void fleet_print_services(const FleetCensus *census, FleetTableForm form);

/* Prints COUNT rows of services; BEFORE is an earlier census. */
void fleet_print_top(const FleetCensus *census, const FleetCensus *before, FleetSort sort, guint count,
                     FleetTableForm form);

void fleet_print_hosts(const FleetCensus *census, FleetTableForm form);

/* The memory held by one function at one time. */
typedef struct {
    gint64 time;
    GPtrArray *holdings; /* FleetHolding */
} FleetTrace;

/* TRACES (FleetTrace) in ascending order of time; prints the hosts of the last one. */
void fleet_print_trace(const GArray *traces, FleetTableForm form);

#endif
