/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/groups.h"

#include "confine/keyed-hash.h"
#include "fleet/outliers.h"

#include <math.h>
#include <string.h>

/* A group and the sets behind its counts. */
typedef struct {
    FleetGroup group; /* first: pointers to both are interchangeable */
    GHashTable *hosts, *versions;
} Gathered;

static void
gathered_free(gpointer data)
{
    Gathered *gathered = data;
    g_free(gathered->group.name);
    g_hash_table_unref(gathered->hosts);
    g_hash_table_unref(gathered->versions);
    g_free(gathered);
}

static Gathered *
gathered_new(const char *name)
{
    Gathered *gathered = g_new0(Gathered, 1);
    gathered->group.name = g_strdup(name);
    gathered->hosts = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    gathered->versions = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    return gathered;
}

static void
gather(Gathered *gathered, const FleetProcess *process)
{
    FleetGroup *group = &gathered->group;
    g_hash_table_add(gathered->hosts, g_strdup(process->host));
    g_hash_table_add(gathered->versions, g_strdup(process->version));
    group->processes++;
    group->hosts = g_hash_table_size(gathered->hosts);
    group->versions = g_hash_table_size(gathered->versions);
    group->latest = MAX(group->latest, process->time);
    group->inuse += process->inuse;
    group->variance += process->variance;
    if (process->allocated <= 0 || process->resident <= 0)
        return;
    group->allocated += process->allocated;
    group->resident += process->resident;
    group->counted++;
}

static gint
compare_sizes(gconstpointer a, gconstpointer b)
{
    const FleetGroup *one = *(const FleetGroup *const *)a, *other = *(const FleetGroup *const *)b;
    return one->inuse != other->inuse ? (one->inuse < other->inuse ? 1 : -1) : strcmp(one->name, other->name);
}

GPtrArray *
fleet_groups(const FleetCensus *census, FleetBy by)
{
    GPtrArray *groups = g_ptr_array_new_with_free_func(gathered_free);
    g_autoptr(GHashTable) known = g_hash_table_new(keyed_hash_string, g_str_equal);
    for (guint i = 0; i < census->processes->len; i++) {
        const FleetProcess *process = &g_array_index(census->processes, FleetProcess, i);
        const char *name = by == FLEET_BY_SERVICE ? process->service : process->host;
        Gathered *gathered = g_hash_table_lookup(known, name);
        if (gathered == NULL) {
            gathered = gathered_new(name);
            g_hash_table_insert(known, gathered->group.name, gathered);
            g_ptr_array_add(groups, gathered);
        }
        gather(gathered, process);
    }
    g_ptr_array_sort(groups, compare_sizes);
    return groups;
}

GHashTable *
fleet_groups_by_name(const GPtrArray *groups)
{
    GHashTable *names = g_hash_table_new(keyed_hash_string, g_str_equal);
    for (guint i = 0; i < groups->len; i++)
        g_hash_table_insert(names, ((const FleetGroup *)groups->pdata[i])->name, groups->pdata[i]);
    return names;
}

gdouble
fleet_group_each(const FleetGroup *group, gdouble *variance)
{
    gdouble n = MAX(group->processes, 1);
    *variance = group->variance / (n * n);
    return group->inuse / n;
}

static gint
compare_distances(gconstpointer a, gconstpointer b)
{
    const FleetGroup *one = *(const FleetGroup *const *)a, *other = *(const FleetGroup *const *)b;
    gdouble left = fabs(one->distance), right = fabs(other->distance);
    return left != right ? (left < right ? 1 : -1) : compare_sizes(a, b);
}

gboolean
fleet_groups_mark(GPtrArray *groups, gdouble *median)
{
    guint n = groups->len;
    if (n < OUTLIERS_MIN_HOSTS)
        return FALSE;
    g_autofree gdouble *values = g_new(gdouble, n), *variances = g_new(gdouble, n), *distances = g_new(gdouble, n);
    for (guint i = 0; i < n; i++)
        values[i] = fleet_group_each(groups->pdata[i], &variances[i]);
    *median = outliers_distances(values, variances, n, distances);
    for (guint i = 0; i < n; i++) {
        FleetGroup *group = groups->pdata[i];
        group->distance = distances[i];
        group->outlier = outliers_is(values[i], *median, distances[i]);
    }
    g_ptr_array_sort(groups, compare_distances);
    return TRUE;
}
