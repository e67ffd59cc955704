/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "report/coverage.h"
#include "report/format.h"
#include "report/layout.h"
#include "report/view-notes.h"

#include <string.h>

G_DEFINE_QUARK(jescope_report_error, report_error)

/* The writers in the order of report_formats. */
static ReportWrite *const writers[] = {
#define FORMAT(writer, name, suffixes, type, suffix, flags, about) writer##_write,
#include "routes/formats.def"
#undef FORMAT
};

/* The length of the suffix of path if it is one of format's; 0: it is not. */
static gsize
suffix_length(const ReportFormat *format, const char *path)
{
    g_auto(GStrv) suffixes = g_strsplit(format->suffixes, " ", -1);
    gsize longest = 0;

    for (char **suffix = suffixes; *suffix; suffix++)
        if (g_str_has_suffix(path, *suffix))
            longest = MAX(longest, strlen(*suffix));
    return longest;
}

const ReportFormat *
report_format_by_path(const char *path, const ReportFormat *wanted)
{
    const ReportFormat *best = NULL;
    gsize longest = 0;

    for (gsize i = 0; i < report_n_formats && !wanted; i++) {
        gsize length = suffix_length(&report_formats[i], path);
        if (length > longest) {
            longest = length;
            best = &report_formats[i];
        }
    }
    if (wanted && g_str_equal(wanted->name, "callgraph") && g_str_has_suffix(path, ".svg"))
        return report_format_find("callgraph-svg");
    return wanted ? wanted : best;
}

char *
report_format_suffixes(void)
{
    g_autoptr(GString) list = g_string_new(NULL);

    for (gsize i = 0; i < report_n_formats; i++)
        if (report_formats[i].suffixes[0] != '\0')
            g_string_append_printf(list, "%s%s", list->len ? " " : "", report_formats[i].suffixes);
    g_string_replace(list, " ", ", ", 0);
    return g_string_free(g_steal_pointer(&list), FALSE);
}

/* TRUE with error if there is nothing to show. */
static gboolean
refuse_empty(const ReportInput *now, const ReportInput *base, const Report *report, GError **error)
{
    g_autofree char *why = coverage_why_empty(now, base, report->options, report->view);

    if (why)
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_EMPTY, "%s", why);
    else if (coverage_same(report->view, report->options))
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_SAME, "no difference in %s",
                    report_value_name(report->options->value));
    else
        return FALSE;
    return TRUE;
}

/* One side of a difference has the value, but not the other one. */
static gboolean
check_sides(const ReportInput *now, const ReportInput *base, ProfileValue value, GError **error)
{
    g_autofree char *here = coverage_why_unknown(now->profile, value);
    g_autofree char *there = base ? coverage_why_unknown(base->profile, value) : NULL;

    if (!base || (here == NULL) == (there == NULL))
        return TRUE;
    g_set_error(error, REPORT_ERROR, REPORT_ERROR_NO_VALUE, "%s: %s", here ? now->name : base->name,
                here ? here : there);
    return FALSE;
}

gboolean
report_prepare_format(const ReportFormat *format, int descriptors[static 2], GError **error)
{
    if ((format->flags & REPORT_FORMAT_DRAWN) != 0 && !layout_start(error))
        return FALSE;
    layout_descriptors(descriptors);
    return TRUE;
}

void
report_unprepare_format(void)
{
    layout_stop();
}

gboolean
report_write(const ReportFormat *format, const ReportInput *now, const ReportInput *base, const ReportOptions *options,
             GOutputStream *out, GError **error)
{
    g_autoptr(View) view = NULL;
    ReportOptions adjusted = *options;
    Report report = {.options = &adjusted};
    g_autoptr(GError) write_error = NULL;
    g_auto(GStrv) notes = NULL;
    Writer *writer;
    gboolean ok;

    if (base && format->flags & REPORT_FORMAT_NO_BASE) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "the format '%s' cannot represent a difference; omit --base", format->name);
        return FALSE;
    }
    if (!check_sides(now, base, options->value, error))
        return FALSE;
    if (format->flags & REPORT_FORMAT_BY_LINE)
        adjusted.by = REPORT_BY_LINE;
    if (format->flags & REPORT_FORMAT_WHOLE)
        adjusted.flags |= REPORT_WRAPPERS;
    view = view_new(now, base, &adjusted, error);
    if (!view)
        return FALSE;
    notes = view_notes(view, &adjusted);
    adjusted.notes = (const char *const *)notes;
    report.view = view;
    if (options->flags & REPORT_REFUSE_EMPTY && refuse_empty(now, base, &report, error))
        return FALSE;
    writer = writer_new(out);
    if (adjusted.flags & REPORT_COLOR)
        writer_color(writer);
    ok = writers[format - report_formats](&report, writer, error);
    if (!writer_finish(writer, &write_error) && ok) {
        g_propagate_error(error, g_steal_pointer(&write_error));
        return FALSE;
    }
    return ok;
}
