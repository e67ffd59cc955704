/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"
#include "report/units.h"

#include <math.h>
#include <string.h>

typedef struct {
    ProfileValue values[PROFILE_N_VALUES]; /* those of non-empty stacks; the others stay 0 */
    guint n_values;
    TableRow *rows;
    guint64 *last_seen; /* per node: the last stack (of any side) it was counted for, plus one */
    guint64 stacks;
} TableBuild;

typedef struct {
    const View *view;
    ProfileValue value;
    ReportSort sort;
    gboolean by_name; /* breaks ties like jeprof: by name only, not first by cumulative weight */
} TableOrder;

static void
choose_values(TableBuild *build, const View *view)
{
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++) {
        gboolean known = FALSE;
        for (guint side = 0; side < view_n_sides(view); side++)
            known = known || profile_has_value(view_input(view, side)->profile, value);
        if (known)
            build->values[build->n_values++] = value;
    }
}

/* Like weight_add() but for values known to be nonzero: called for every frame of every stack. */
static void
add_weight(const TableBuild *build, ProfileWeight *sum, const ProfileWeight *weight)
{
    for (guint i = 0; i < build->n_values; i++) {
        ProfileValue value = build->values[i];
        sum->estimate[value] += weight->estimate[value];
        sum->variance[value] += weight->variance[value];
    }
    sum->age_covariance += weight->age_covariance;
    sum->lifetime_covariance += weight->lifetime_covariance;
    sum->births += weight->births;
    sum->deaths += weight->deaths;
}

static void
add_path(const ViewPath *path, gpointer user)
{
    TableBuild *build = user;
    gboolean by_group = path->group != PROFILE_NONE;
    const guint32 *nodes = by_group ? &path->group : path->nodes;

    build->stacks++;
    add_weight(build, &build->rows[nodes[0]].flat[path->side], path->weight);
    for (guint32 i = 0; i < (by_group ? 1 : path->n_nodes); i++) {
        guint32 node = nodes[i];
        build->rows[node].depth = MIN(build->rows[node].depth, i);
        if (build->last_seen[node] == build->stacks)
            continue;
        build->last_seen[node] = build->stacks;
        add_weight(build, &build->rows[node].cumulative[path->side], path->weight);
    }
}

gdouble
table_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    return weights[VIEW_NOW].estimate[value] - weights[VIEW_BASE].estimate[value];
}

static void
shown_of(const ProfileWeight *weight, ProfileValue value, gdouble *amount, gdouble *variance)
{
    *amount = weight->estimate[value];
    *variance = weight->variance[value];
    if (value_is_mean(value) && !profile_mean(weight, value, amount, variance))
        *amount = *variance = 0;
}

gdouble
table_shown(const ProfileWeight *weight, ProfileValue value)
{
    gdouble amount, variance;

    shown_of(weight, value, &amount, &variance);
    return amount;
}

gdouble
table_shown_error(const ProfileWeight *weight, ProfileValue value)
{
    gdouble amount, variance;

    shown_of(weight, value, &amount, &variance);
    return sqrt(variance);
}

gdouble
table_shown_change(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    return table_shown(&weights[VIEW_NOW], value) - table_shown(&weights[VIEW_BASE], value);
}

gdouble
table_shown_variance(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    gdouble amount, now, base;

    shown_of(&weights[VIEW_NOW], value, &amount, &now);
    shown_of(&weights[VIEW_BASE], value, &amount, &base);
    return now + base;
}

gboolean
table_is_noise(const ProfileWeight weights[VIEW_N_SIDES], ProfileValue value)
{
    return fabs(table_shown_change(weights, value)) <= TABLE_NOISE * sqrt(table_shown_variance(weights, value));
}

void
table_write_significance(Writer *writer, gdouble change, gdouble variance)
{
    gdouble significance = change == 0    ? 0
                           : variance > 0 ? change / sqrt(variance)
                                          : copysign(TABLE_SIGNIFICANCE_MAX, change);

    writer_number(writer, CLAMP(significance, -TABLE_SIGNIFICANCE_MAX, TABLE_SIGNIFICANCE_MAX), 3);
}

static gdouble
sort_key(const TableRow *row, const TableOrder *order)
{
    switch (order->sort) {
    case REPORT_SORT_CUMULATIVE:
        return table_change(row->cumulative, order->value);
    case REPORT_SORT_CHANGE:
        return fabs(table_change(row->flat, order->value));
    default:
        return table_change(row->flat, order->value);
    }
}

static gdouble
second_key(const TableRow *row, const TableOrder *order)
{
    return order->by_name ? 0 : fabs(table_change(row->cumulative, order->value));
}

static gint
compare_rows(gconstpointer a, gconstpointer b, gpointer user)
{
    const TableRow *left = a;
    const TableRow *right = b;
    const TableOrder *order = user;

    if (order->sort != REPORT_SORT_NAME) {
        gdouble left_key = sort_key(left, order);
        gdouble right_key = sort_key(right, order);
        if (left_key == right_key) {
            left_key = second_key(left, order);
            right_key = second_key(right, order);
        }
        if (left_key != right_key)
            return left_key > right_key ? -1 : 1;
        if (left->depth != right->depth && !order->by_name)
            return left->depth < right->depth ? -1 : 1;
    }
    return strcmp(view_node(order->view, left->node)->name, view_node(order->view, right->node)->name);
}

static gboolean
is_empty_row(const TableRow *row)
{
    for (guint side = 0; side < VIEW_N_SIDES; side++)
        for (guint value = 0; value < PROFILE_N_VALUES; value++)
            if (row->cumulative[side].estimate[value] != 0)
                return FALSE;
    return TRUE;
}

GArray *
table_new(const View *view, const ReportOptions *options)
{
    guint32 n = view_n_nodes(view);
    GArray *table = g_array_sized_new(FALSE, TRUE, sizeof(TableRow), n);
    TableOrder order = {.view = view, .value = options->value, .sort = options->sort};
    TableBuild build = {0};
    guint32 kept = 0;

    order.by_name = (options->flags & REPORT_JEPROF_LAYOUT) != 0;
    g_array_set_size(table, n);
    build.rows = (TableRow *)(void *)table->data;
    build.last_seen = g_new0(guint64, (gsize)n + 1);
    for (guint32 i = 0; i < n; i++)
        build.rows[i] = (TableRow){.node = i, .depth = G_MAXUINT32};
    choose_values(&build, view);
    view_foreach(view, add_path, &build);
    for (guint32 i = 0; i < n; i++)
        if (!is_empty_row(&build.rows[i]))
            build.rows[kept++] = build.rows[i];
    g_array_set_size(table, kept);
    g_array_sort_with_data(table, compare_rows, &order);
    g_free(build.last_seen);
    return table;
}
