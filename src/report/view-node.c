/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view-parts.h"

#include "report/names.h"
#include "report/wrappers.h"
#include "text/printable.h"

#include <string.h>

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static char *
name_by_function(const ViewPlace *place, ViewNameForm form)
{
    g_autofree char *shortened = NULL;

    if (!place->as_jeprof || !place->frame->known)
        return g_strdup(form == VIEW_NAME_DISPLAY ? place->function->display : place->function->name);
    shortened = name_shorten(place->frame->function);
    return g_strconcat(shortened, place->inlined ? " (inline)" : "", NULL);
}

static char *
name_by_line(const ViewPlace *place, ViewNameForm form)
{
    const SymbolFrame *frame = place->frame;
    g_autofree char *function = name_by_function(place, form);

    if (!frame->file)
        return g_steal_pointer(&function);
    return g_strdup_printf("%s %s:%u", function, frame->file, frame->line);
}

static char *
name_by_object(const ViewPlace *place, ViewNameForm form)
{
    return g_strdup(place->object ? place->object : "[unknown]");
}

static char *
name_by_file(const ViewPlace *place, ViewNameForm form)
{
    if (place->frame->file)
        return g_strdup(place->frame->file);
    return g_strdup_printf("[%s]", place->object ? base_name(place->object) : "unknown");
}

static char *
name_by_address(const ViewPlace *place, ViewNameForm form)
{
    g_autofree char *line = name_by_line(place, form);

    return g_strdup_printf("%s%016" G_GINT64_MODIFIER "x %s", place->as_jeprof ? "" : "0x", place->location->address,
                           line);
}

const ViewGranularity view_granularities[] = {
    [REPORT_BY_FUNCTION] = {.name = name_by_function, .has_function = TRUE},
    [REPORT_BY_LINE] = {.name = name_by_line, .has_function = TRUE, .has_line = TRUE},
    [REPORT_BY_FILE] = {.name = name_by_file, .collapses = TRUE},
    [REPORT_BY_OBJECT] = {.name = name_by_object, .per_location = TRUE, .collapses = TRUE},
    [REPORT_BY_ADDRESS] = {.name = name_by_address, .has_function = TRUE, .has_line = TRUE},
    [REPORT_BY_SIZE] = {.name = name_by_function, .has_function = TRUE},
    [REPORT_BY_THREAD] = {.name = name_by_function, .has_function = TRUE},
};

/* A clean string that lives as long as the view: text itself if possible, since profile and symbols outlive the
 * view. */
static const char *
keep_string(View *view, const char *text)
{
    g_autofree char *clean = NULL;

    if (!text || text_is_printable(text))
        return text;
    clean = text_printable(text);
    return string_pool_insert(view->strings, clean);
}

const char *
view_keep_made(View *view, char *text)
{
    g_autofree char *made = text;
    g_autofree char *clean = text_is_printable(made) ? NULL : text_printable(made);

    return string_pool_insert(view->strings, clean ? clean : made);
}

static ViewOrigin
origin_of(const ViewPlace *place)
{
    static const char *const system[] = {"libc.so",    "libc-",    "libstdc++", "libc++",
                                         "libpthread", "ld-linux", "libm.so",   "libgcc_s"};
    const char *base = place->object ? base_name(place->object) : "";

    if (!place->frame->known)
        return VIEW_UNRESOLVED;
    for (guint i = 0; i < G_N_ELEMENTS(system); i++)
        if (g_str_has_prefix(base, system[i]))
            return VIEW_SYSTEM;
    if (wrapper_is_language(place->function->plain) || strcmp(place->function->plain, "_start") == 0)
        return VIEW_SYSTEM;
    return strstr(base, ".so") ? VIEW_LIBRARY : VIEW_PROGRAM;
}

guint32
view_add_node(View *view, const char *key, const ViewNode *node)
{
    g_array_append_val(view->nodes, *node);
    g_hash_table_insert(view->index, (gpointer)(gintptr)key, GUINT_TO_POINTER(view->nodes->len));
    return view->nodes->len - 1;
}

/* Whether the frames already have the names of their nodes. */
static gboolean
has_own_names(const View *view, const ViewPlace *place)
{
    return view_granularities[view->options->by].name == name_by_function && !place->as_jeprof;
}

static const char *
node_name(View *view, const ViewPlace *place, ViewNameForm form)
{
    if (has_own_names(view, place))
        return form == VIEW_NAME_DISPLAY ? place->function->display : place->function->name;
    return view_keep_made(view, view_granularities[view->options->by].name(place, form));
}

static guint32
make_node(View *view, const ViewPlace *place, const char *key)
{
    ReportGranularity by = view->options->by;
    const SymbolFrame *frame = place->frame;
    ViewNode node = {
        .name = node_name(view, place, VIEW_NAME_FULL),
        .display = node_name(view, place, VIEW_NAME_DISPLAY),
        .function = view_granularities[by].has_function ? place->function->name : NULL,
        .file = by == REPORT_BY_OBJECT ? NULL : keep_string(view, frame->file),
        .object = keep_string(view, place->object),
        .line = view_granularities[by].has_line ? frame->line : 0,
        .start_line = view_granularities[by].has_function ? frame->start_line : 0,
        .known = by == REPORT_BY_OBJECT ? place->object != NULL : frame->known,
        .origin = origin_of(place),
    };

    return view_add_node(view, string_pool_insert(view->strings, key), &node);
}

/* The key of a frame's node; not its name, since two functions may have the same. */
static char *
node_key(const View *view, const ViewPlace *place)
{
    g_autofree char *name = NULL;

    if (has_own_names(view, place))
        return g_strdup_printf("%u", place->function_index);
    name = view_granularities[view->options->by].name(place, VIEW_NAME_FULL);
    if (place->as_jeprof || !view_granularities[view->options->by].has_function)
        return g_steal_pointer(&name);
    return g_strdup_printf("%u\n%s", place->function_index, name);
}

guint32
view_intern_place(View *view, const ViewPlace *place, ViewFunction *facts)
{
    gboolean by_function = has_own_names(view, place);
    g_autofree char *key = NULL;
    guint found;

    if (by_function && facts->node != PROFILE_NONE)
        return facts->node;
    key = node_key(view, place);
    found = GPOINTER_TO_UINT(g_hash_table_lookup(view->index, key));
    facts->node = found ? found - 1 : make_node(view, place, key);
    return facts->node;
}
