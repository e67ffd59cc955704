/* SPDX-License-Identifier: Apache-2.0 */
#include "report/headline.h"

#include "profile/capture.h"
#include "report/format.h"
#include "report/table.h"
#include "report/units.h"

static char *
say_explained(const Profile *profile)
{
    char percent[UNITS_BUFFER];
    guint64 held;

    if (!profile_held(profile, &held) || held == 0)
        return NULL;
    return g_strdup_printf(
        "%s explained", units_percent(percent, profile_total(profile)->estimate[PROFILE_INUSE_SPACE], (gdouble)held));
}

/* The first row in the order SORT; NULL: the table is empty. */
static char *
say_first(const ReportInput *now, const ReportInput *base, const ReportOptions *options, ReportSort sort)
{
    ReportOptions chosen = *options;
    char amount[UNITS_BUFFER];

    chosen.value = PROFILE_INUSE_SPACE;
    chosen.sort = sort;
    g_autoptr(View) view = view_new(now, base, &chosen, NULL);
    g_autoptr(GArray) rows = view != NULL ? table_new(view, &chosen) : NULL;
    if (rows == NULL || rows->len == 0)
        return NULL;
    const TableRow *row = &g_array_index(rows, TableRow, 0);
    const char *name = view_node(view, row->node)->display;
    const gdouble bytes =
        base != NULL ? table_change(row->flat, chosen.value) : row->flat[VIEW_NOW].estimate[chosen.value];
    if (bytes <= 0 || (base != NULL && table_is_noise(row->flat, chosen.value)))
        return NULL;
    return g_strdup_printf("%s most: %s %s", base != NULL ? "grew" : "held", name,
                           units_format(amount, chosen.value, bytes, base != NULL ? UNITS_SIGNED : UNITS_PLAIN));
}

char *
report_headline(const ReportInput *now, const ReportInput *base, const ReportOptions *options)
{
    g_autofree char *explained = say_explained(now->profile);
    g_autofree char *grew = base != NULL ? say_first(now, base, options, REPORT_SORT_CHANGE) : NULL;
    g_autofree char *held = grew == NULL ? say_first(now, NULL, options, REPORT_SORT_FLAT) : NULL;
    const char *most = grew != NULL ? grew : held;

    if (explained == NULL || most == NULL)
        return g_strdup(explained != NULL ? explained : most);
    return g_strdup_printf("%s, %s", explained, most);
}

gboolean
headline_write(const Report *report, Writer *writer, GError **error)
{
    const gboolean compared = view_n_sides(report->view) == 2;
    g_autofree char *line = report_headline(view_input(report->view, VIEW_NOW),
                                            compared ? view_input(report->view, VIEW_BASE) : NULL, report->options);

    writer_text(writer, line ? line : "no samples");
    writer_text(writer, "\n");
    return TRUE;
}
