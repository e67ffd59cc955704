/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "report/format.h"

#include <string.h>

GQuark
report_error_quark(void)
{
    return g_quark_from_static_string("jescope-report-error");
}

enum { MAX_SUFFIXES = 4 };

struct ReportFormat {
    const char *name;
    const char *description;
    const char *suffixes[MAX_SUFFIXES];
    ReportFormatFlags flags;
    ReportWrite *write;
};

static const ReportFormat formats[] = {
    {"text", "readable table: flat and cumulative", {".txt", ".text"}, REPORT_FORMAT_TEXT, text_write},
    {"tree",
     "call tree, from the outermost caller down (--callers: from the allocation up)",
     {".tree"},
     REPORT_FORMAT_TEXT,
     tree_write},
    {"folded",
     "one line per stack, for flame graph tools",
     {".folded", ".collapsed", ".collapsedstack.txt"},
     REPORT_FORMAT_TEXT,
     folded_write},
    {"flamegraph", "interactive flame graph, one SVG file", {".svg"}, REPORT_FORMAT_TEXT, flamegraph_write},
    {"callgraph", "who calls whom, in DOT; with -o FILE.svg drawn", {".dot", ".gv"}, REPORT_FORMAT_TEXT, dot_write},
    {"callgraph-svg", "who calls whom, drawn as SVG", {NULL}, REPORT_FORMAT_TEXT, callgraph_svg_write},
    {"speedscope",
     "JSON for speedscope.app, with all values",
     {".speedscope.json", ".speedscope"},
     REPORT_FORMAT_TEXT,
     speedscope_write},
    {"pprof",
     "gzip profile.proto, for go tool pprof, Pyroscope and Parca",
     {".pb.gz", ".pprof"},
     REPORT_FORMAT_BINARY,
     pprof_write},
    {"symbolized",
     "the dump with its names, as jeprof reads it",
     {".symbolized", ".heap"},
     REPORT_FORMAT_NO_BASE | REPORT_FORMAT_COPIES,
     symbolized_write},
    {"source", "annotated source lines of what --focus matches", {NULL}, REPORT_FORMAT_TEXT, source_write},
    {"json", "everything, for programs", {".json"}, REPORT_FORMAT_TEXT, json_write},
};

static const char *const value_names[PROFILE_N_VALUES] = {
    [PROFILE_ALLOC_OBJECTS] = "alloc_objects",
    [PROFILE_ALLOC_SPACE] = "alloc_space",
    [PROFILE_INUSE_OBJECTS] = "inuse_objects",
    [PROFILE_INUSE_SPACE] = "inuse_space",
};

static const char *const granularity_names[] = {
    [REPORT_BY_FUNCTION] = "function", [REPORT_BY_LINE] = "line",       [REPORT_BY_FILE] = "file",
    [REPORT_BY_OBJECT] = "object",     [REPORT_BY_ADDRESS] = "address",
};

static const char *const sort_names[] = {
    [REPORT_SORT_FLAT] = "flat",
    [REPORT_SORT_CUMULATIVE] = "cum",
    [REPORT_SORT_CHANGE] = "change",
    [REPORT_SORT_NAME] = "name",
};

void
report_options_init(ReportOptions *options)
{
    *options = (ReportOptions){.value = PROFILE_INUSE_SPACE, .min_fraction = -1, .edge_fraction = -1};
}

const ReportFormat *
report_formats(guint *n)
{
    *n = G_N_ELEMENTS(formats);
    return formats;
}

const ReportFormat *
report_format_at(guint index)
{
    return index < G_N_ELEMENTS(formats) ? &formats[index] : NULL;
}

const ReportFormat *
report_format_by_name(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
        if (g_str_equal(formats[i].name, name))
            return &formats[i];
    return NULL;
}

/* The length of the suffix of format's that path ends in; 0: none. */
static gsize
suffix_length(const ReportFormat *format, const char *path)
{
    gsize longest = 0;

    for (guint i = 0; i < MAX_SUFFIXES && format->suffixes[i]; i++)
        if (g_str_has_suffix(path, format->suffixes[i]))
            longest = MAX(longest, strlen(format->suffixes[i]));
    return longest;
}

const ReportFormat *
report_format_by_path(const char *path, const ReportFormat *wanted)
{
    const ReportFormat *best = NULL;
    gsize longest = 0;

    for (guint i = 0; i < G_N_ELEMENTS(formats) && !wanted; i++) {
        gsize length = suffix_length(&formats[i], path);
        if (length > longest) {
            longest = length;
            best = &formats[i];
        }
    }
    if (wanted && wanted->write == dot_write && g_str_has_suffix(path, ".svg"))
        return report_format_by_name("callgraph-svg");
    return wanted ? wanted : best;
}

const char *
report_format_name(const ReportFormat *format)
{
    return format->name;
}

const char *
report_format_description(const ReportFormat *format)
{
    return format->description;
}

ReportFormatFlags
report_format_flags(const ReportFormat *format)
{
    return format->flags;
}

gboolean
report_write(const ReportFormat *format, const ReportInput *now, const ReportInput *base, const ReportOptions *options,
             GOutputStream *out, GError **error)
{
    g_autoptr(View) view = NULL;
    ReportOptions adjusted = *options;
    Report report = {.options = &adjusted};
    g_autoptr(GError) write_error = NULL;
    Writer *writer;
    gboolean ok;

    if (base && format->flags & REPORT_FORMAT_NO_BASE) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "the format '%s' cannot hold a difference; leave --base out", format->name);
        return FALSE;
    }
    if (format->write == source_write)
        adjusted.by = REPORT_BY_LINE;
    view = view_new(now, base, &adjusted, error);
    if (!view)
        return FALSE;
    report.view = view;
    writer = writer_new(out);
    ok = format->write(&report, writer, error);
    if (!writer_finish(writer, &write_error) && ok) {
        g_propagate_error(error, g_steal_pointer(&write_error));
        return FALSE;
    }
    return ok;
}

static gboolean
find_name(const char *const *names, guint n, const char *name, guint *index)
{
    for (guint i = 0; i < n; i++) {
        if (g_str_equal(names[i], name)) {
            *index = i;
            return TRUE;
        }
    }
    return FALSE;
}

const char *
report_value_name(ProfileValue value)
{
    return value_names[value];
}

gboolean
report_value_by_name(const char *name, ProfileValue *value)
{
    guint index;

    if (!find_name(value_names, G_N_ELEMENTS(value_names), name, &index))
        return FALSE;
    *value = index;
    return TRUE;
}

const char *
report_granularity_name(ReportGranularity by)
{
    return granularity_names[by];
}

gboolean
report_granularity_by_name(const char *name, ReportGranularity *by)
{
    guint index;

    if (!find_name(granularity_names, G_N_ELEMENTS(granularity_names), name, &index))
        return FALSE;
    *by = index;
    return TRUE;
}

gboolean
report_sort_by_name(const char *name, ReportSort *sort)
{
    guint index;

    if (!find_name(sort_names, G_N_ELEMENTS(sort_names), name, &index))
        return FALSE;
    *sort = index;
    return TRUE;
}
