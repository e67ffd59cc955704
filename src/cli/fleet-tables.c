/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet-tables.h"

#include "cli/document.h"
#include "fleet/outliers.h"
#include "report/units.h"
#include "text/printable.h"

#include <math.h>
#include <stdio.h>

enum {
    NAME_COLUMNS = 32,
    NUMBER_COLUMNS = 12,
};
#define NOISE 1.96 /* standard errors that sampling alone explains */

/* ---- cells ---- */

static void
print_name(const char *name)
{
    g_autofree char *safe = text_printable(name);
    g_autofree char *field = text_field(safe, NAME_COLUMNS);
    fputs(field, stdout);
}

static void
print_bytes(gdouble bytes, UnitsFlags flags)
{
    char text[UNITS_BUFFER];
    printf("  %*s", NUMBER_COLUMNS, units_format(text, PROFILE_INUSE_SPACE, bytes, flags));
}

static void
print_unknown(void)
{
    printf("  %*s", NUMBER_COLUMNS, "-");
}

static char *
format_time(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    return time != NULL ? g_date_time_format(time, "%F %T") : g_strdup("?");
}

static json_t *
json_time(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    g_autofree char *text = time != NULL ? g_date_time_format(time, "%FT%TZ") : NULL;
    return text != NULL ? json_string(text) : json_null();
}

static json_t *
json_name(const char *name)
{
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    return json_string(valid);
}

static json_t *
json_bytes(gdouble bytes)
{
    return json_integer(units_round(bytes));
}

static gboolean
has_waste(const FleetGroup *group)
{
    return group->counted == group->processes;
}

static gdouble
waste_of(const FleetGroup *group)
{
    return group->resident - group->allocated;
}

static json_t *
json_group(const FleetGroup *group)
{
    json_t *row =
        json_pack("{s:o, s:i, s:i, s:i, s:o, s:o, s:o}", "name", json_name(group->name), "processes", group->processes,
                  "hosts", group->hosts, "versions", group->versions, "latest", json_time(group->latest), "inuse",
                  json_bytes(group->inuse), "error", json_bytes(sqrt(group->variance)));
    json_object_set_new(row, "allocated", has_waste(group) ? json_bytes(group->allocated) : json_null());
    json_object_set_new(row, "resident", has_waste(group) ? json_bytes(group->resident) : json_null());
    return row;
}

/* ---- services ---- */

void
fleet_print_services(const FleetCensus *census, FleetTableForm form)
{
    g_autoptr(GPtrArray) groups = fleet_groups(census, FLEET_BY_SERVICE);
    json_t *rows = json_array();
    if (form == FLEET_TABLE_TEXT)
        printf("%-*s  %9s  %6s  %8s  %12s  %12s  %s\n", NAME_COLUMNS, "SERVICE", "PROCESSES", "HOSTS", "VERSIONS",
               "IN USE", "ERROR", "LATEST");
    for (guint i = 0; i < groups->len; i++) {
        const FleetGroup *group = groups->pdata[i];
        if (form == FLEET_TABLE_JSON) {
            json_array_append_new(rows, json_group(group));
            continue;
        }
        g_autofree char *latest = format_time(group->latest);
        print_name(group->name);
        printf("  %9u  %6u  %8u", group->processes, group->hosts, group->versions);
        print_bytes(group->inuse, UNITS_PLAIN);
        print_bytes(sqrt(group->variance), UNITS_PLAIN);
        printf("  %s\n", latest);
    }
    if (form == FLEET_TABLE_JSON)
        document_print("jescope-fleet-services",
                       json_pack("{s:o, s:O}", "time", json_time(census->time), "services", rows));
    json_decref(rows);
}

/* ---- the largest ---- */

/* A service and its change since BEFORE. */
typedef struct {
    const FleetGroup *group;
    gdouble growth, error; /* bytes */
    gboolean known;        /* whether there was an earlier value */
} Ranked;

static gdouble
key_of(const Ranked *ranked, FleetSort sort)
{
    if (sort == FLEET_SORT_WASTE)
        return has_waste(ranked->group) ? waste_of(ranked->group) : -INFINITY;
    if (sort == FLEET_SORT_GROWTH)
        return ranked->known ? ranked->growth : -INFINITY;
    return ranked->group->inuse;
}

static gint
compare_ranked(gconstpointer a, gconstpointer b, gpointer sort)
{
    gdouble one = key_of(a, GPOINTER_TO_UINT(sort)), other = key_of(b, GPOINTER_TO_UINT(sort));
    return (one < other) - (one > other);
}

static GArray *
rank(const GPtrArray *groups, const GPtrArray *before, FleetSort sort)
{
    GArray *ranked = g_array_new(FALSE, TRUE, sizeof(Ranked));
    g_autoptr(GHashTable) names = fleet_groups_by_name(before);
    for (guint i = 0; i < groups->len; i++) {
        const FleetGroup *group = groups->pdata[i], *old = g_hash_table_lookup(names, group->name);
        Ranked row = {.group = group, .known = old != NULL};
        if (old != NULL) {
            row.growth = group->inuse - old->inuse;
            row.error = sqrt(group->variance + old->variance);
        }
        g_array_append_val(ranked, row);
    }
    g_array_sort_with_data(ranked, compare_ranked, GUINT_TO_POINTER(sort));
    return ranked;
}

static void
print_ranked(const Ranked *row)
{
    print_name(row->group->name);
    printf("  %9u", row->group->processes);
    print_bytes(row->group->inuse, UNITS_PLAIN);
    if (has_waste(row->group))
        print_bytes(waste_of(row->group), UNITS_PLAIN);
    else
        print_unknown();
    if (row->known) {
        print_bytes(row->growth, UNITS_SIGNED);
        print_bytes(NOISE * row->error, UNITS_PLAIN);
        fputs(fabs(row->growth) <= NOISE * row->error ? "  noise" : "", stdout);
    } else {
        print_unknown();
        print_unknown();
    }
    putchar('\n');
}

static json_t *
json_ranked(const Ranked *row)
{
    json_t *group = json_group(row->group);
    json_object_set_new(group, "growth", row->known ? json_bytes(row->growth) : json_null());
    json_object_set_new(group, "growth_error", row->known ? json_bytes(row->error) : json_null());
    return group;
}

void
fleet_print_top(const FleetCensus *census, const FleetCensus *before, FleetSort sort, guint count, FleetTableForm form)
{
    g_autoptr(GPtrArray) groups = fleet_groups(census, FLEET_BY_SERVICE);
    g_autoptr(GPtrArray) old = fleet_groups(before, FLEET_BY_SERVICE);
    g_autoptr(GArray) ranked = rank(groups, old, sort);
    json_t *rows = json_array();
    if (form == FLEET_TABLE_TEXT)
        printf("%-*s  %9s  %12s  %12s  %12s  %12s\n", NAME_COLUMNS, "SERVICE", "PROCESSES", "IN USE", "WASTE", "GROWTH",
               "95% +-");
    for (guint i = 0; i < ranked->len && i < count; i++) {
        const Ranked *row = &g_array_index(ranked, Ranked, i);
        if (form == FLEET_TABLE_TEXT)
            print_ranked(row);
        else
            json_array_append_new(rows, json_ranked(row));
    }
    if (form == FLEET_TABLE_JSON)
        document_print("jescope-fleet-top", json_pack("{s:o, s:o, s:O}", "time", json_time(census->time), "since",
                                                      json_time(before->time), "services", rows));
    json_decref(rows);
}

/* ---- hosts ---- */

static void
print_host(const FleetGroup *group, gboolean marked)
{
    gdouble variance, each = fleet_group_each(group, &variance);
    print_name(group->name);
    printf("  %9u", group->processes);
    print_bytes(group->inuse, UNITS_PLAIN);
    print_bytes(each, UNITS_PLAIN);
    print_bytes(sqrt(variance), UNITS_PLAIN);
    if (marked)
        printf("  %8.1f%s", group->distance, group->outlier ? "  outlier" : "");
    putchar('\n');
}

static json_t *
json_host(const FleetGroup *group, gboolean marked)
{
    gdouble variance, each = fleet_group_each(group, &variance);
    json_t *row = json_group(group);
    json_object_set_new(row, "per_process", json_bytes(each));
    json_object_set_new(row, "per_process_error", json_bytes(sqrt(variance)));
    json_object_set_new(row, "distance",
                        marked && isfinite(group->distance) ? json_real(group->distance) : json_null());
    json_object_set_new(row, "outlier", marked ? json_boolean(group->outlier) : json_null());
    return row;
}

void
fleet_print_hosts(const FleetCensus *census, FleetTableForm form)
{
    g_autoptr(GPtrArray) groups = fleet_groups(census, FLEET_BY_HOST);
    gdouble median = 0;
    gboolean marked = fleet_groups_mark(groups, &median);
    json_t *rows = json_array();
    if (form == FLEET_TABLE_TEXT)
        printf("%-*s  %9s  %12s  %12s  %12s%s\n", NAME_COLUMNS, "HOST", "PROCESSES", "IN USE", "PER PROCESS", "ERROR",
               marked ? "  DISTANCE" : "");
    for (guint i = 0; i < groups->len; i++)
        if (form == FLEET_TABLE_TEXT)
            print_host(groups->pdata[i], marked);
        else
            json_array_append_new(rows, json_host(groups->pdata[i], marked));
    if (form == FLEET_TABLE_JSON)
        document_print("jescope-fleet-hosts", json_pack("{s:o, s:o, s:i, s:O}", "time", json_time(census->time),
                                                        "median", marked ? json_bytes(median) : json_null(),
                                                        "needed_hosts", OUTLIERS_MIN_HOSTS, "hosts", rows));
    else if (!marked)
        printf("no outliers are sought among %u hosts: it takes %d\n", groups->len, OUTLIERS_MIN_HOSTS);
    json_decref(rows);
}

/* ---- one function ---- */

static void
add_up(const GPtrArray *holdings, gdouble *inuse, gdouble *error)
{
    gdouble variance = 0;
    *inuse = 0;
    for (guint i = 0; i < holdings->len; i++) {
        const FleetHolding *holding = holdings->pdata[i];
        *inuse += holding->inuse;
        variance += holding->variance;
    }
    *error = sqrt(variance);
}

static gint
compare_holdings(gconstpointer a, gconstpointer b)
{
    const FleetHolding *one = *(const FleetHolding *const *)a, *other = *(const FleetHolding *const *)b;
    return (one->inuse < other->inuse) - (one->inuse > other->inuse);
}

static void
print_trace_text(const GArray *traces)
{
    const FleetTrace *last = &g_array_index(traces, FleetTrace, traces->len - 1);
    printf("%-*s  %6s  %12s  %12s\n", NAME_COLUMNS, "TIME", "HOSTS", "IN USE", "ERROR");
    for (guint i = 0; i < traces->len; i++) {
        const FleetTrace *trace = &g_array_index(traces, FleetTrace, i);
        gdouble inuse, error;
        g_autofree char *time = format_time(trace->time);
        add_up(trace->holdings, &inuse, &error);
        printf("%-*s  %6u", NAME_COLUMNS, time, trace->holdings->len);
        print_bytes(inuse, UNITS_PLAIN);
        print_bytes(error, UNITS_PLAIN);
        putchar('\n');
    }
    printf("\n%-*s  %6s  %12s  %12s\n", NAME_COLUMNS, "HOST", "", "IN USE", "ERROR");
    for (guint i = 0; i < last->holdings->len; i++) {
        const FleetHolding *holding = last->holdings->pdata[i];
        print_name(holding->host);
        printf("  %6s", "");
        print_bytes(holding->inuse, UNITS_PLAIN);
        print_bytes(sqrt(holding->variance), UNITS_PLAIN);
        putchar('\n');
    }
}

static json_t *
json_holdings(const GPtrArray *holdings)
{
    json_t *rows = json_array();
    for (guint i = 0; i < holdings->len; i++) {
        const FleetHolding *holding = holdings->pdata[i];
        json_array_append_new(rows,
                              json_pack("{s:o, s:o, s:o}", "host", json_name(holding->host), "inuse",
                                        json_bytes(holding->inuse), "error", json_bytes(sqrt(holding->variance))));
    }
    return rows;
}

static json_t *
json_trace(const FleetTrace *trace)
{
    gdouble inuse, error;
    add_up(trace->holdings, &inuse, &error);
    return json_pack("{s:o, s:o, s:o, s:o}", "time", json_time(trace->time), "inuse", json_bytes(inuse), "error",
                     json_bytes(error), "hosts", json_holdings(trace->holdings));
}

void
fleet_print_trace(const GArray *traces, FleetTableForm form)
{
    json_t *rows = json_array();
    for (guint i = 0; i < traces->len; i++) {
        const FleetTrace *trace = &g_array_index(traces, FleetTrace, i);
        g_ptr_array_sort(trace->holdings, compare_holdings);
        if (form == FLEET_TABLE_JSON)
            json_array_append_new(rows, json_trace(trace));
    }
    if (form == FLEET_TABLE_TEXT)
        print_trace_text(traces);
    else
        document_print("jescope-fleet-trace", json_pack("{s:O}", "moments", rows));
    json_decref(rows);
}
