/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view.h"

#include "report/names.h"

#include <string.h>

typedef enum {
    LOCATION_ALLOCATOR = 1 << 0, /* it and everything further in is the allocator's own */
    LOCATION_FOCUS = 1 << 1,
    LOCATION_IGNORE = 1 << 2,
} LocationFlags;

/* Where a location's kept frames stand in Side.nodes and Side.frames. */
typedef struct {
    guint32 first;
    guint32 n;
    LocationFlags flags;
} LocationView;

typedef struct {
    const ReportInput *input;
    LocationView *locations;
    GArray *nodes;     /* guint32: node */
    GArray *frames;    /* guint32: index into the location's Symbol, beside nodes */
    gboolean *threads; /* kept ones, or NULL for all */
    guint32 max_nodes; /* of any unfiltered stack */
    ProfileWeight total;
} Side;

/* What is asked of a function's name many times: symbols share one string among all frames of a function. */
typedef struct {
    guint32 node; /* by function; PROFILE_NONE until it is needed */
    gboolean allocator;
    gboolean dropped; /* by retain or exclude */
    gboolean focus, ignore;
} FunctionFacts;

struct View {
    const ReportOptions *options;
    guint n_sides;
    Side sides[VIEW_N_SIDES];
    GArray *nodes;     /* ViewNode */
    GHashTable *index; /* name -> node + 1 */
    GHashTable *facts; /* function (the pointer) -> FunctionFacts */
    GStringChunk *strings;
    guint32 no_stack; /* the node of stacks without any frame, or PROFILE_NONE */
};

/* Whether a node must keep a copy of its name. */
typedef enum {
    NAME_OF_SYMBOLS, /* lives as long as the view anyway */
    NAME_MADE,
} NameOrigin;

/* One frame about to become a node. */
typedef struct {
    const ProfileLocation *location;
    const SymbolFrame *frame;
    const char *object; /* path, or NULL */
    gboolean inlined;
    gboolean as_jeprof; /* name it as jeprof does */
} Place;

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static char *
name_by_function(const Place *place)
{
    g_autofree char *shortened = NULL;

    if (!place->as_jeprof || !place->frame->known)
        return g_strdup(place->frame->function);
    shortened = name_shorten(place->frame->function);
    return g_strconcat(shortened, place->inlined ? " (inline)" : "", NULL);
}

static char *
name_by_line(const Place *place)
{
    const SymbolFrame *frame = place->frame;
    g_autofree char *function = name_by_function(place);

    if (!frame->file)
        return g_steal_pointer(&function);
    return g_strdup_printf("%s %s:%u", function, frame->file, frame->line);
}

static char *
name_by_object(const Place *place)
{
    return g_strdup(place->object ? place->object : "[unknown]");
}

static char *
name_by_file(const Place *place)
{
    if (place->frame->file)
        return g_strdup(place->frame->file);
    return g_strdup_printf("[%s]", place->object ? base_name(place->object) : "unknown");
}

static char *
name_by_address(const Place *place)
{
    g_autofree char *line = name_by_line(place);

    return g_strdup_printf("%s%016" G_GINT64_MODIFIER "x %s", place->as_jeprof ? "" : "0x", place->location->address,
                           line);
}

/* How a granularity makes nodes of frames. */
static const struct {
    char *(*name)(const Place *);
    gboolean has_function;
    gboolean has_line;
    gboolean per_location; /* inlined frames are not told apart */
    gboolean collapses;    /* neighbours in a stack that are the same node count as one frame */
} granularities[] = {
    [REPORT_BY_FUNCTION] = {.name = name_by_function, .has_function = TRUE},
    [REPORT_BY_LINE] = {.name = name_by_line, .has_function = TRUE, .has_line = TRUE},
    [REPORT_BY_FILE] = {.name = name_by_file, .collapses = TRUE},
    [REPORT_BY_OBJECT] = {.name = name_by_object, .per_location = TRUE, .collapses = TRUE},
    [REPORT_BY_ADDRESS] = {.name = name_by_address, .has_function = TRUE, .has_line = TRUE},
};

static gboolean
is_clean(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((guchar)*c < 0x20 || *c == 0x7f)
            return FALSE;
    return g_utf8_validate(text, -1, NULL);
}

/* A clean string that lives as long as the view: text itself where it can be, since profile and symbols outlive the
 * view. */
static const char *
keep_string(View *view, const char *text)
{
    g_autofree char *clean = NULL;

    if (!text || is_clean(text))
        return text;
    clean = name_clean(text);
    return g_string_chunk_insert_const(view->strings, clean);
}

/* name lives as long as the view. */
static guint32
add_node(View *view, const char *name, const ViewNode *node)
{
    ViewNode added = *node;

    added.name = keep_string(view, name);
    g_array_append_val(view->nodes, added);
    g_hash_table_insert(view->index, (gpointer)(gintptr)name, GUINT_TO_POINTER(view->nodes->len));
    return view->nodes->len - 1;
}

/* The node of this name. */
static guint32
intern_name(View *view, const Place *place, const char *name, NameOrigin origin)
{
    ReportGranularity by = view->options->by;
    const SymbolFrame *frame = place->frame;
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(view->index, name));

    if (found)
        return found - 1;
    ViewNode node = {
        .function = granularities[by].has_function ? keep_string(view, frame->function) : NULL,
        .file = by == REPORT_BY_OBJECT ? NULL : keep_string(view, frame->file),
        .object = keep_string(view, place->object),
        .line = granularities[by].has_line ? frame->line : 0,
        .known = by == REPORT_BY_OBJECT ? place->object != NULL : frame->known,
    };
    return add_node(view, origin == NAME_MADE ? g_string_chunk_insert(view->strings, name) : name, &node);
}

/* Patterns see names as jeprof shows them and in full. */
static gboolean
matches_name(const GRegex *regex, const char *function)
{
    g_autofree char *shortened = NULL;

    if (!regex)
        return FALSE;
    if (g_regex_match(regex, function, 0, NULL))
        return TRUE;
    if (!strpbrk(function, "(<"))
        return FALSE;
    shortened = name_shorten(function);
    return g_regex_match(regex, shortened, 0, NULL);
}

static FunctionFacts *
get_facts(View *view, const char *function)
{
    const ReportOptions *options = view->options;
    FunctionFacts *facts = g_hash_table_lookup(view->facts, function);

    if (facts)
        return facts;
    facts = g_new(FunctionFacts, 1);
    *facts = (FunctionFacts){
        .node = PROFILE_NONE,
        .allocator = !(options->flags & REPORT_KEEP_ALLOCATOR) && name_is_allocator(function),
        .dropped =
            (options->retain && !matches_name(options->retain, function)) || matches_name(options->exclude, function),
        .focus = matches_name(options->focus, function),
        .ignore = matches_name(options->ignore, function),
    };
    g_hash_table_insert(view->facts, (gpointer)(gintptr)function, facts);
    return facts;
}

/* jeprof names an inlined call apart from the function, so there the function alone does not tell. */
static guint32
intern_place(View *view, const Place *place, FunctionFacts *facts)
{
    g_autofree char *name = NULL;

    if (view->options->by != REPORT_BY_FUNCTION || place->as_jeprof) {
        name = granularities[view->options->by].name(place);
        return intern_name(view, place, name, NAME_MADE);
    }
    if (facts->node == PROFILE_NONE)
        facts->node = intern_name(view, place, place->frame->function, NAME_OF_SYMBOLS);
    return facts->node;
}

static gboolean
matches_place(const GRegex *regex, const Place *place)
{
    g_autofree char *at = NULL;
    char address[17];

    if (!regex)
        return FALSE;
    g_snprintf(address, sizeof address, "%016" G_GINT64_MODIFIER "x", place->location->address);
    if (g_regex_match(regex, address, 0, NULL))
        return TRUE;
    at = place->frame->file ? g_strdup_printf("%s:%u", place->frame->file, place->frame->line) : NULL;
    return at && g_regex_match(regex, at, 0, NULL);
}

static LocationFlags
match_location(const View *view, const Place *place, const FunctionFacts *facts)
{
    LocationFlags flags = 0;

    if (facts->focus || matches_place(view->options->focus, place))
        flags |= LOCATION_FOCUS;
    if (facts->ignore || matches_place(view->options->ignore, place))
        flags |= LOCATION_IGNORE;
    return flags;
}

static gboolean
is_allocator(View *view, const char *object, const Symbol *symbol)
{
    if (view->options->flags & REPORT_KEEP_ALLOCATOR)
        return FALSE;
    return (object && name_is_allocator_object(object)) ||
           get_facts(view, symbol->frames[symbol->n_frames - 1].function)->allocator;
}

static void
add_location(View *view, Side *side, guint32 index)
{
    const ReportOptions *options = view->options;
    const ProfileLocation *location = &profile_locations(side->input->profile)[index];
    const Symbol *symbol = symbols_location(side->input->symbols, index);
    LocationView *added = &side->locations[index];
    Place place = {.location = location, .as_jeprof = (options->flags & REPORT_JEPROF_LAYOUT) != 0};
    guint32 first_frame = granularities[options->by].per_location ? symbol->n_frames - 1 : 0;

    if (location->object != PROFILE_NONE)
        place.object = profile_objects(side->input->profile)[location->object].path;
    added->first = side->nodes->len;
    if (is_allocator(view, place.object, symbol))
        added->flags |= LOCATION_ALLOCATOR;
    for (guint32 i = first_frame; i < symbol->n_frames; i++) {
        place.frame = &symbol->frames[i];
        place.inlined = i + 1 < symbol->n_frames;
        FunctionFacts *facts = get_facts(view, place.frame->function);
        if (facts->dropped)
            continue;
        guint32 node = intern_place(view, &place, facts);
        g_array_append_val(side->nodes, node);
        g_array_append_val(side->frames, i);
        added->flags |= match_location(view, &place, facts);
    }
    added->n = side->nodes->len - added->first;
}

static gboolean
is_thread(const ProfileThread *thread, const char *wanted)
{
    char uid[32];

    g_snprintf(uid, sizeof uid, "t%" G_GUINT64_FORMAT, thread->uid);
    return g_str_equal(thread->name, wanted) || g_str_equal(uid, wanted) || g_str_equal(uid + 1, wanted);
}

/* FALSE: none matches. */
static gboolean
select_threads(Side *side, const char *wanted)
{
    const Profile *profile = side->input->profile;
    guint32 n = profile_n_threads(profile);
    gboolean any = FALSE;

    side->threads = g_new0(gboolean, n + 1);
    for (guint32 i = 0; i < n; i++) {
        side->threads[i] = is_thread(&profile_threads(profile)[i], wanted);
        any = any || side->threads[i];
    }
    return any;
}

static gboolean
is_kept_thread(const Side *side, const ProfileStack *stack)
{
    return !side->threads || (stack->thread != PROFILE_NONE && side->threads[stack->thread]);
}

static guint32
count_nodes(const Side *side, const ProfileStack *stack)
{
    const guint32 *frames = profile_frames(side->input->profile) + stack->first;
    guint32 n = 0;

    for (guint32 i = 0; i < stack->depth; i++)
        n += side->locations[frames[i]].n;
    return n;
}

/* Cuts the allocator's frames off the inner end; a stack that is nothing else keeps its outermost frame. */
static void
trim_allocator(const Side *side, ViewPath *path)
{
    guint32 begin = path->n_locations;

    while (begin > 0 && !(side->locations[path->locations[begin - 1]].flags & LOCATION_ALLOCATOR))
        begin--;
    if (begin == path->n_locations && begin > 0)
        begin--;
    path->locations += begin;
    path->n_locations -= begin;
}

static guint32
expand_nodes(const View *view, const Side *side, const ViewPath *path, guint32 *nodes)
{
    gboolean collapses = granularities[view->options->by].collapses;
    const guint32 *all = (const guint32 *)(const void *)side->nodes->data;
    guint32 n = 0;

    for (guint32 i = 0; i < path->n_locations; i++) {
        const LocationView *location = &side->locations[path->locations[i]];
        for (guint32 j = 0; j < location->n; j++) {
            guint32 node = all[location->first + j];
            if (!collapses || n == 0 || nodes[n - 1] != node)
                nodes[n++] = node;
        }
    }
    return n;
}

static gboolean
passes_focus(const View *view, const Side *side, const ViewPath *path)
{
    const ReportOptions *options = view->options;
    LocationFlags seen = 0;

    if (!options->focus && !options->ignore)
        return TRUE;
    for (guint32 i = 0; i < path->n_locations; i++)
        seen |= side->locations[path->locations[i]].flags;
    return !(seen & LOCATION_IGNORE) && (!options->focus || (seen & LOCATION_FOCUS));
}

/* FALSE: filtered away. */
static gboolean
make_path(const View *view, const Side *side, ViewPath *path, guint32 *nodes)
{
    const ProfileStack *stack = &profile_stacks(side->input->profile)[path->stack];

    if (!is_kept_thread(side, stack))
        return FALSE;
    path->locations = profile_frames(side->input->profile) + stack->first;
    path->n_locations = stack->depth;
    trim_allocator(side, path);
    if (!passes_focus(view, side, path))
        return FALSE;
    path->nodes = nodes;
    path->n_nodes = expand_nodes(view, side, path, nodes);
    if (path->n_nodes == 0 && stack->depth == 0 && !view->options->retain && !view->options->focus) {
        nodes[0] = view->no_stack;
        path->n_nodes = 1;
    }
    path->weight = &profile_weights(side->input->profile)[path->stack];
    return path->n_nodes > 0;
}

static void
foreach_on_side(const View *view, ViewSide which, ViewVisit visit, gpointer user)
{
    const Side *side = &view->sides[which];
    g_autofree guint32 *nodes = g_new(guint32, (gsize)side->max_nodes + 1);
    guint32 n = profile_n_stacks(side->input->profile);

    for (guint32 i = 0; i < n; i++) {
        ViewPath path = {.side = which, .stack = i};
        if (make_path(view, side, &path, nodes))
            visit(&path, user);
    }
}

void
view_foreach(const View *view, ViewVisit visit, gpointer user)
{
    for (guint side = 0; side < view->n_sides; side++)
        foreach_on_side(view, side, visit, user);
}

static void
add_total(const ViewPath *path, gpointer user)
{
    ProfileWeight *totals = user;

    for (guint i = 0; i < PROFILE_N_VALUES; i++) {
        totals[path->side].estimate[i] += path->weight->estimate[i];
        totals[path->side].variance[i] += path->weight->variance[i];
    }
}

static void
build_side(View *view, Side *side, const ReportInput *input)
{
    const Profile *profile = input->profile;
    guint32 n = profile_n_locations(profile);

    side->input = input;
    side->locations = g_new0(LocationView, (gsize)n + 1);
    side->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
    side->frames = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 i = 0; i < n; i++)
        add_location(view, side, i);
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileStack *stack = &profile_stacks(profile)[i];
        side->max_nodes = MAX(side->max_nodes, count_nodes(side, stack));
        if (stack->depth == 0 && view->no_stack == PROFILE_NONE)
            view->no_stack = add_node(view, "[no stack]", &(ViewNode){.known = FALSE});
    }
}

static gboolean
select_all_threads(View *view, GError **error)
{
    const char *wanted = view->options->thread;
    gboolean any = FALSE;

    if (!wanted)
        return TRUE;
    for (guint i = 0; i < view->n_sides; i++)
        any = select_threads(&view->sides[i], wanted) || any;
    if (!any)
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_NO_THREAD,
                    "%s names no thread '%s' (give the number behind the t, or the thread's name)",
                    view->sides[0].input->name, wanted);
    return any;
}

View *
view_new(const ReportInput *now, const ReportInput *base, const ReportOptions *options, GError **error)
{
    g_autoptr(View) view = g_new0(View, 1);
    ProfileWeight totals[VIEW_N_SIDES] = {0};

    view->options = options;
    view->nodes = g_array_new(FALSE, FALSE, sizeof(ViewNode));
    view->index = g_hash_table_new(g_str_hash, g_str_equal);
    view->facts = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    view->strings = g_string_chunk_new(64 * 1024);
    view->no_stack = PROFILE_NONE;
    view->n_sides = base ? 2 : 1;
    build_side(view, &view->sides[VIEW_NOW], now);
    if (base)
        build_side(view, &view->sides[VIEW_BASE], base);
    if (!select_all_threads(view, error))
        return NULL;
    view_foreach(view, add_total, totals);
    for (guint i = 0; i < view->n_sides; i++)
        view->sides[i].total = totals[i];
    return g_steal_pointer(&view);
}

void
view_free(View *view)
{
    for (guint i = 0; i < view->n_sides; i++) {
        Side *side = &view->sides[i];
        g_free(side->locations);
        g_clear_pointer(&side->nodes, g_array_unref);
        g_clear_pointer(&side->frames, g_array_unref);
        g_free(side->threads);
    }
    g_array_unref(view->nodes);
    g_hash_table_unref(view->index);
    g_hash_table_unref(view->facts);
    g_string_chunk_free(view->strings);
    g_free(view);
}

guint
view_n_sides(const View *view)
{
    return view->n_sides;
}

const ReportInput *
view_input(const View *view, ViewSide side)
{
    return view->sides[side].input;
}

guint32
view_n_nodes(const View *view)
{
    return view->nodes->len;
}

const ViewNode *
view_node(const View *view, guint32 node)
{
    return &g_array_index(view->nodes, ViewNode, node);
}

guint32
view_location_frames(const View *view, ViewSide side, guint32 location, const guint32 **frames)
{
    const LocationView *found = &view->sides[side].locations[location];

    *frames = (const guint32 *)(const void *)view->sides[side].frames->data + found->first;
    return found->n;
}

const ProfileWeight *
view_total(const View *view, ViewSide side)
{
    return &view->sides[side].total;
}
