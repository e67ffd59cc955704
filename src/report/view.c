/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view.h"

#include "confine/keyed-hash.h"
#include "profile/holes.h"
#include "profile/weight.h"
#include "report/functions.h"
#include "report/groups.h"
#include "report/names.h"
#include "report/units.h"
#include "report/wrappers.h"
#include "text/printable.h"

#include <string.h>

typedef enum {
    LOCATION_ALLOCATOR = 1 << 0, /* it and everything further in is the allocator's own */
    LOCATION_FOCUS = 1 << 1,
    LOCATION_IGNORE = 1 << 2,
} LocationFlags;

/* By size or thread. */
typedef struct {
    guint32 node; /* PROFILE_NONE: no stack is of it */
    LocationFlags flags;
} Group;

/* The position of a location's kept frames in Side.nodes and Side.frames. */
typedef struct {
    guint32 first;
    guint32 n;
    LocationFlags flags;
} LocationView;

typedef struct {
    const ReportInput *input;
    LocationView *locations;
    GArray *nodes;          /* guint32: node */
    GArray *frames;         /* guint32: index into the location's Symbol, beside nodes */
    GArray *wrappers;       /* guint8: is the frame one that is charged to its caller? beside nodes */
    GArray *tops;           /* guint8: may a stack be shown from the frame? beside nodes */
    GArray *noted;          /* guint32: what functions_note() returned, per frame of every location's Symbol in turn */
    gboolean *threads;      /* kept ones, or NULL for all */
    Group *groups;          /* by number (report/groups.h), or NULL */
    guint32 max_nodes;      /* of any unfiltered stack */
    ProfileWeight *weights; /* with the holes in slabs, if these are asked for; NULL: those of the profile */
    HolesSum holes;
    ProfileWeight unattributed; /* the holes that are of no stack */
    ProfileWeight total, whole;
} Side;

/* Cached properties of a function. */
typedef struct {
    guint32 node; /* by function; PROFILE_NONE until it is needed */
    gboolean asked;
    gboolean allocator, wrapper;
    gboolean dropped; /* by retain or exclude */
    gboolean focus, ignore;
    gboolean top; /* stacks are shown from it */
} FunctionFacts;

struct View {
    const ReportOptions *options;
    guint n_sides;
    Side sides[VIEW_N_SIDES];
    GArray *nodes;     /* ViewNode */
    GHashTable *index; /* key of a node -> node + 1 */
    Functions *functions;
    FunctionFacts *facts; /* one per function */
    StringPool *strings;
    guint32 no_stack;     /* the node of stacks without any frame, or PROFILE_NONE */
    guint32 unattributed; /* the node of holes that are of no stack, or PROFILE_NONE */
};

/* One frame about to become a node. */
typedef struct {
    const ProfileLocation *location;
    const SymbolFrame *frame;
    const Function *function;
    guint32 function_index;
    const char *object; /* path, or NULL */
    gboolean inlined;
    gboolean as_jeprof; /* name it as jeprof does */
} Place;

/* A function's name in full, as people read it, or a key. */
typedef enum { NAME_FULL, NAME_DISPLAY } NameForm;

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static char *
name_by_function(const Place *place, NameForm form)
{
    g_autofree char *shortened = NULL;

    if (!place->as_jeprof || !place->frame->known)
        return g_strdup(form == NAME_DISPLAY ? place->function->display : place->function->name);
    shortened = name_shorten(place->frame->function);
    return g_strconcat(shortened, place->inlined ? " (inline)" : "", NULL);
}

static char *
name_by_line(const Place *place, NameForm form)
{
    const SymbolFrame *frame = place->frame;
    g_autofree char *function = name_by_function(place, form);

    if (!frame->file)
        return g_steal_pointer(&function);
    return g_strdup_printf("%s %s:%u", function, frame->file, frame->line);
}

static char *
name_by_object(const Place *place, NameForm form)
{
    return g_strdup(place->object ? place->object : "[unknown]");
}

static char *
name_by_file(const Place *place, NameForm form)
{
    if (place->frame->file)
        return g_strdup(place->frame->file);
    return g_strdup_printf("[%s]", place->object ? base_name(place->object) : "unknown");
}

static char *
name_by_address(const Place *place, NameForm form)
{
    g_autofree char *line = name_by_line(place, form);

    return g_strdup_printf("%s%016" G_GINT64_MODIFIER "x %s", place->as_jeprof ? "" : "0x", place->location->address,
                           line);
}

/* How a granularity makes nodes of frames. */
static const struct {
    char *(*name)(const Place *, NameForm);
    gboolean has_function;
    gboolean has_line;
    gboolean per_location; /* inlined frames are not distinguished */
    gboolean collapses;    /* neighbours in a stack that are the same node count as one frame */
} granularities[] = {
    [REPORT_BY_FUNCTION] = {.name = name_by_function, .has_function = TRUE},
    [REPORT_BY_LINE] = {.name = name_by_line, .has_function = TRUE, .has_line = TRUE},
    [REPORT_BY_FILE] = {.name = name_by_file, .collapses = TRUE},
    [REPORT_BY_OBJECT] = {.name = name_by_object, .per_location = TRUE, .collapses = TRUE},
    [REPORT_BY_ADDRESS] = {.name = name_by_address, .has_function = TRUE, .has_line = TRUE},
    [REPORT_BY_SIZE] = {.name = name_by_function, .has_function = TRUE},
    [REPORT_BY_THREAD] = {.name = name_by_function, .has_function = TRUE},
};

/* A clean string that lives as long as the view: text itself where it can be, since profile and symbols outlive the
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

static const char *
keep_made(View *view, char *text)
{
    g_autofree char *made = text;
    g_autofree char *clean = text_is_printable(made) ? NULL : text_printable(made);

    return string_pool_insert(view->strings, clean ? clean : made);
}

static ViewOrigin
origin_of(const Place *place)
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

static guint32
add_node(View *view, const char *key, const ViewNode *node)
{
    g_array_append_val(view->nodes, *node);
    g_hash_table_insert(view->index, (gpointer)(gintptr)key, GUINT_TO_POINTER(view->nodes->len));
    return view->nodes->len - 1;
}

/* Then the names of frames already exist. */
static gboolean
has_own_names(const View *view, const Place *place)
{
    return granularities[view->options->by].name == name_by_function && !place->as_jeprof;
}

static const char *
node_name(View *view, const Place *place, NameForm form)
{
    if (has_own_names(view, place))
        return form == NAME_DISPLAY ? place->function->display : place->function->name;
    return keep_made(view, granularities[view->options->by].name(place, form));
}

static guint32
make_node(View *view, const Place *place, const char *key)
{
    ReportGranularity by = view->options->by;
    const SymbolFrame *frame = place->frame;
    ViewNode node = {
        .name = node_name(view, place, NAME_FULL),
        .display = node_name(view, place, NAME_DISPLAY),
        .function = granularities[by].has_function ? place->function->name : NULL,
        .file = by == REPORT_BY_OBJECT ? NULL : keep_string(view, frame->file),
        .object = keep_string(view, place->object),
        .line = granularities[by].has_line ? frame->line : 0,
        .start_line = granularities[by].has_function ? frame->start_line : 0,
        .known = by == REPORT_BY_OBJECT ? place->object != NULL : frame->known,
        .origin = origin_of(place),
    };

    return add_node(view, string_pool_insert(view->strings, key), &node);
}

/* The key of a frame's node; not its name, since two functions may have the same. */
static char *
node_key(const View *view, const Place *place)
{
    g_autofree char *name = NULL;

    if (has_own_names(view, place))
        return g_strdup_printf("%u", place->function_index);
    name = granularities[view->options->by].name(place, NAME_FULL);
    if (place->as_jeprof || !granularities[view->options->by].has_function)
        return g_steal_pointer(&name);
    return g_strdup_printf("%u\n%s", place->function_index, name);
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

/* Unresolved frames are not folded. */
static gboolean
is_wrapper(const View *view, const Function *function)
{
    const ReportOptions *options = view->options;

    if (options->flags & (REPORT_WRAPPERS | REPORT_KEEP_ALLOCATOR | REPORT_JEPROF_LAYOUT))
        return FALSE;
    return wrapper_is_known(function->plain) || matches_name(options->fold, function->name);
}

static FunctionFacts *
get_facts(View *view, guint32 index)
{
    const ReportOptions *options = view->options;
    const Function *function = functions_get(view->functions, index);
    FunctionFacts *facts = &view->facts[index];

    if (facts->asked)
        return facts;
    *facts = (FunctionFacts){
        .node = PROFILE_NONE,
        .asked = TRUE,
        .allocator = !(options->flags & REPORT_KEEP_ALLOCATOR) && name_is_allocator(function->plain),
        .wrapper = is_wrapper(view, function),
        .dropped = (options->retain && !matches_name(options->retain, function->name)) ||
                   matches_name(options->exclude, function->name),
        .focus = matches_name(options->focus, function->name),
        .ignore = matches_name(options->ignore, function->name),
        .top = matches_name(options->show_from, function->name),
    };
    return facts;
}

/* jeprof names an inlined call apart from the function, so there the function alone does not tell. */
static guint32
intern_place(View *view, const Place *place, FunctionFacts *facts)
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

static gboolean
matches_place(const GRegex *regex, const Place *place)
{
    g_autofree char *at = NULL;
    char address[17];

    if (!regex)
        return FALSE;
    g_snprintf(address, sizeof(address), "%016" G_GINT64_MODIFIER "x", place->location->address);
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

static const char *
object_of(const Side *side, const ProfileLocation *location)
{
    return location->object == PROFILE_NONE ? NULL : profile_objects(side->input->profile)[location->object].path;
}

/* Notes the functions of all frames; the order is that of add_location(). */
static void
note_functions(View *view, ViewSide which, const ReportInput *input)
{
    Side *side = &view->sides[which];

    side->input = input;
    side->noted = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 i = 0; i < profile_n_locations(input->profile); i++) {
        const Symbol *symbol = symbols_location(input->symbols, i);
        const char *object = object_of(side, &profile_locations(input->profile)[i]);
        for (guint32 j = 0; j < symbol->n_frames; j++) {
            guint32 noted = functions_note(view->functions, which, &symbol->frames[j], object);
            g_array_append_val(side->noted, noted);
        }
    }
}

static void
add_frame(View *view, Side *side, LocationView *added, const Place *place, guint32 frame)
{
    FunctionFacts *facts = get_facts(view, place->function_index);
    guint8 wrapper = facts->wrapper;
    guint8 top = facts->top;
    guint32 node;

    if (facts->dropped)
        return;
    node = intern_place(view, place, facts);
    g_array_append_val(side->nodes, node);
    g_array_append_val(side->frames, frame);
    g_array_append_val(side->wrappers, wrapper);
    g_array_append_val(side->tops, top);
    added->flags |= match_location(view, place, facts);
}

static gboolean
is_allocator(View *view, const Place *physical)
{
    if (view->options->flags & REPORT_KEEP_ALLOCATOR)
        return FALSE;
    return (physical->object && name_is_allocator_object(physical->object)) ||
           get_facts(view, physical->function_index)->allocator;
}

/* first: the position of this location's frames in side->noted. */
static void
add_location(View *view, Side *side, guint32 index, guint first)
{
    const ReportOptions *options = view->options;
    const ProfileLocation *location = &profile_locations(side->input->profile)[index];
    const Symbol *symbol = symbols_location(side->input->symbols, index);
    LocationView *added = &side->locations[index];
    Place place = {.location = location,
                   .object = object_of(side, location),
                   .as_jeprof = (options->flags & REPORT_JEPROF_LAYOUT) != 0};

    added->first = side->nodes->len;
    for (guint32 i = 0; i < symbol->n_frames; i++) {
        place.frame = &symbol->frames[i];
        place.inlined = i + 1 < symbol->n_frames;
        place.function_index = functions_of(view->functions, g_array_index(side->noted, guint32, first + i));
        place.function = functions_get(view->functions, place.function_index);
        if (!granularities[options->by].per_location || !place.inlined)
            add_frame(view, side, added, &place, i);
    }
    if (is_allocator(view, &place))
        added->flags |= LOCATION_ALLOCATOR;
    added->n = side->nodes->len - added->first;
}

static gboolean
is_thread(const ProfileThread *thread, const char *wanted)
{
    char uid[32];

    g_snprintf(uid, sizeof(uid), "t%" G_GUINT64_FORMAT, thread->uid);
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

/* How many of the innermost frames are wrappers; a stack that is nothing else keeps its outermost frame. */
static guint32
count_wrappers(const Side *side, const ViewPath *path)
{
    guint32 n = 0, wrappers = 0;

    for (guint32 i = 0; i < path->n_locations; i++) {
        const LocationView *location = &side->locations[path->locations[i]];
        for (guint32 j = 0; j < location->n; j++, n++)
            if (wrappers == n && g_array_index(side->wrappers, guint8, location->first + j))
                wrappers++;
        if (wrappers < n)
            return wrappers;
    }
    return n > 0 ? n - 1 : 0;
}

/* Drops the locations above the outermost one with a frame that stacks are shown from. FALSE: no frame matches. */
static gboolean
cut_top(const Side *side, ViewPath *path)
{
    for (; path->n_locations > 0; path->n_locations--) {
        const LocationView *location = &side->locations[path->locations[path->n_locations - 1]];
        for (guint32 i = 0; i < location->n; i++)
            if (g_array_index(side->tops, guint8, location->first + i))
                return TRUE;
    }
    return FALSE;
}

/* How many frames of LOCATION, the outermost one, are shown. */
static guint32
count_shown(const View *view, const Side *side, const LocationView *location)
{
    guint32 n = location->n;

    while (view->options->show_from && n > 0 && !g_array_index(side->tops, guint8, location->first + n - 1))
        n--;
    return n;
}

static void
expand_nodes(const View *view, const Side *side, ViewPath *path, guint32 *nodes)
{
    gboolean collapses = granularities[view->options->by].collapses;
    const guint32 *all = (const guint32 *)(const void *)side->nodes->data;
    guint32 n = 0, folded = 0;

    path->n_folded = count_wrappers(side, path);
    for (guint32 i = 0; i < path->n_locations; i++) {
        const LocationView *location = &side->locations[path->locations[i]];
        guint32 n_shown = i + 1 < path->n_locations ? location->n : count_shown(view, side, location);
        for (guint32 j = 0; j < n_shown; j++) {
            guint32 node = all[location->first + j];
            if (folded < path->n_folded) {
                path->folded = folded++ == 0 ? node : path->folded;
                continue;
            }
            if (!collapses || n == 0 || nodes[n - 1] != node)
                nodes[n++] = node;
        }
    }
    /* Shown from a wrapper on, it is what allocated. */
    if (n == 0 && path->folded != PROFILE_NONE) {
        nodes[n++] = path->folded;
        path->folded = PROFILE_NONE;
    }
    if (n > 0 && path->group != PROFILE_NONE)
        nodes[n++] = path->group;
    path->nodes = nodes;
    path->n_nodes = n;
}

/* SEEN: of what it is grouped by. */
static gboolean
passes_focus(const View *view, const Side *side, const ViewPath *path, LocationFlags seen)
{
    const ReportOptions *options = view->options;

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
    Group group = {PROFILE_NONE, 0};

    if (!is_kept_thread(side, stack))
        return FALSE;
    if (side->groups)
        group = side->groups[groups_of(side->input->profile, path->stack, view->options->by)];
    path->group = group.node;
    path->locations = profile_frames(side->input->profile) + stack->first;
    path->n_locations = stack->depth;
    trim_allocator(side, path);
    if (!passes_focus(view, side, path, group.flags) || (view->options->show_from && !cut_top(side, path)))
        return FALSE;
    expand_nodes(view, side, path, nodes);
    if (path->n_nodes == 0 && stack->depth == 0 && !view->options->retain && !view->options->focus) {
        nodes[path->n_nodes++] = view->no_stack;
        if (path->group != PROFILE_NONE)
            nodes[path->n_nodes++] = path->group;
    }
    path->weight = &(side->weights ? side->weights : profile_weights(side->input->profile))[path->stack];
    return path->n_nodes > 0;
}

/* So that the sum is that of all holes. */
static void
visit_unattributed(const View *view, ViewSide which, ViewVisit visit, gpointer user)
{
    const Side *side = &view->sides[which];
    const ReportOptions *options = view->options;
    ViewPath path = {.side = which,
                     .stack = profile_n_stacks(side->input->profile),
                     .nodes = &view->unattributed,
                     .n_nodes = 1,
                     .folded = PROFILE_NONE,
                     .group = PROFILE_NONE,
                     .weight = &side->unattributed};

    if (side->unattributed.estimate[PROFILE_PINNED] >= 1 && !options->focus && !options->retain && !options->thread)
        visit(&path, user);
}

static void
foreach_on_side(const View *view, ViewSide which, ViewVisit visit, gpointer user)
{
    const Side *side = &view->sides[which];
    g_autofree guint32 *nodes = g_new(guint32, (gsize)side->max_nodes + 2); /* no stack; what it is grouped by */
    guint32 n = profile_n_stacks(side->input->profile);

    for (guint32 i = 0; i < n; i++) {
        ViewPath path = {.side = which, .stack = i, .folded = PROFILE_NONE};
        if (make_path(view, side, &path, nodes))
            visit(&path, user);
    }
    visit_unattributed(view, which, visit, user);
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

    weight_add(&totals[path->side], path->weight);
}

static void
note_owner(const ViewPath *path, gpointer user)
{
    guint32 *const *owners = user;

    owners[path->side][path->stack] = path->group != PROFILE_NONE ? path->group : path->nodes[0];
}

/* What goes back is asked of each function (line, file...) that allocates, or of what stacks are grouped by. */
static void
compute_holes(View *view)
{
    guint32 *owners[VIEW_N_SIDES] = {NULL};

    if (!value_is_of_holes(view->options->value))
        return;
    for (guint i = 0; i < view->n_sides; i++) {
        guint32 n = profile_n_stacks(view->sides[i].input->profile);
        owners[i] = g_new(guint32, (gsize)n + 1);
        memset(owners[i], 0xff, n * sizeof(guint32)); /* PROFILE_NONE */
    }
    view_foreach(view, note_owner, owners);
    for (guint i = 0; i < view->n_sides; i++) {
        Side *side = &view->sides[i];
        const Profile *profile = side->input->profile;
        guint32 n = profile_n_stacks(profile);
        if (profile_knows(profile, view->options->value)) {
            side->weights = g_memdup2(profile_weights(profile), n * sizeof(ProfileWeight));
            holes_compute(profile, owners[i], side->weights, &side->holes);
            if (view->options->value == PROFILE_PINNED) {
                side->unattributed.estimate[PROFILE_PINNED] = side->holes.unused - side->holes.attributed;
                side->unattributed.variance[PROFILE_PINNED] = side->holes.variance;
            }
        }
        g_free(owners[i]);
    }
    view->unattributed =
        add_node(view, "[unattributed]",
                 &(ViewNode){.name = "[unattributed]", .display = "[unattributed]", .origin = VIEW_UNRESOLVED});
}

const HolesSum *
view_holes(const View *view, ViewSide side)
{
    return view->sides[side].weights ? &view->sides[side].holes : NULL;
}

static void
add_group(View *view, const Profile *profile, guint32 number, Group *group)
{
    const ReportOptions *options = view->options;
    const char *name = keep_made(view, groups_name(profile, number, options->by));
    g_autofree char *key = g_strconcat("group\n", name, NULL); /* no frame's */
    guint32 found = GPOINTER_TO_UINT(g_hash_table_lookup(view->index, key));

    group->node = found ? found - 1
                        : add_node(view, string_pool_insert(view->strings, key),
                                   &(ViewNode){.name = name,
                                               .display = name,
                                               .known = groups_is_known(profile, number, options->by),
                                               .origin = VIEW_UNRESOLVED});
    group->flags = (matches_name(options->focus, name) ? LOCATION_FOCUS : 0) |
                   (matches_name(options->ignore, name) ? LOCATION_IGNORE : 0);
}

/* Those that stacks are of. */
static void
build_groups(View *view, Side *side)
{
    const Profile *profile = side->input->profile;
    ReportGranularity by = view->options->by;

    if (!groups_are(by))
        return;
    guint32 n = groups_limit(profile, by);
    side->groups = g_new(Group, n);
    for (guint32 i = 0; i < n; i++)
        side->groups[i] = (Group){PROFILE_NONE, 0};
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        guint32 number = groups_of(profile, i, by);
        if (side->groups[number].node == PROFILE_NONE)
            add_group(view, profile, number, &side->groups[number]);
    }
}

static void
build_side(View *view, Side *side)
{
    const Profile *profile = side->input->profile;
    guint32 n = profile_n_locations(profile);
    guint first = 0;

    side->locations = g_new0(LocationView, (gsize)n + 1);
    side->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
    side->frames = g_array_new(FALSE, FALSE, sizeof(guint32));
    side->wrappers = g_array_new(FALSE, FALSE, sizeof(guint8));
    side->tops = g_array_new(FALSE, FALSE, sizeof(guint8));
    for (guint32 i = 0; i < n; i++) {
        add_location(view, side, i, first);
        first += symbols_location(side->input->symbols, i)->n_frames;
    }
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileStack *stack = &profile_stacks(profile)[i];
        side->max_nodes = MAX(side->max_nodes, count_nodes(side, stack));
        if (stack->depth == 0 && view->no_stack == PROFILE_NONE)
            view->no_stack =
                add_node(view, "[no stack]",
                         &(ViewNode){.name = "[no stack]", .display = "[no stack]", .origin = VIEW_UNRESOLVED});
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
                    "%s has no thread '%s' (give the number after the t, or the thread's name)",
                    view->sides[0].input->name, wanted);
    return any;
}

static void
set_totals(Side *side, const ProfileWeight *total)
{
    side->total = *total;
    side->whole = *profile_total(side->input->profile);
    side->whole.estimate[PROFILE_PINNED] = side->holes.unused;
    side->whole.estimate[PROFILE_WHATIF] = total->estimate[PROFILE_WHATIF];
    side->whole.variance[PROFILE_WHATIF] = total->variance[PROFILE_WHATIF];
}

static void
build_sides(View *view, const ReportInput *now, const ReportInput *base)
{
    note_functions(view, VIEW_NOW, now);
    if (base)
        note_functions(view, VIEW_BASE, base);
    functions_seal(view->functions);
    view->facts = g_new0(FunctionFacts, (gsize)functions_n(view->functions) + 1);
    for (guint i = 0; i < view->n_sides; i++) {
        build_side(view, &view->sides[i]);
        build_groups(view, &view->sides[i]);
    }
}

View *
view_new(const ReportInput *now, const ReportInput *base, const ReportOptions *options, GError **error)
{
    g_autoptr(View) view = g_new0(View, 1);
    ProfileWeight totals[VIEW_N_SIDES] = {0};

    view->options = options;
    view->nodes = g_array_new(FALSE, FALSE, sizeof(ViewNode));
    view->index = g_hash_table_new(keyed_hash_string, g_str_equal);
    view->functions = functions_new();
    view->strings = string_pool_new();
    view->no_stack = view->unattributed = PROFILE_NONE;
    view->n_sides = base ? 2 : 1;
    build_sides(view, now, base);
    if (!select_all_threads(view, error))
        return NULL;
    compute_holes(view);
    view_foreach(view, add_total, totals);
    for (guint i = 0; i < view->n_sides; i++)
        set_totals(&view->sides[i], &totals[i]);
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
        g_clear_pointer(&side->wrappers, g_array_unref);
        g_clear_pointer(&side->tops, g_array_unref);
        g_clear_pointer(&side->noted, g_array_unref);
        g_free(side->threads);
        g_free(side->groups);
        g_free(side->weights);
    }
    g_array_unref(view->nodes);
    g_hash_table_unref(view->index);
    functions_free(view->functions);
    g_free(view->facts);
    string_pool_free(view->strings);
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

gboolean
view_carries(const View *view, ProfileValue value)
{
    gboolean any = FALSE;

    for (guint i = 0; i < view->n_sides; i++) {
        const Profile *profile = view->sides[i].input->profile;
        if (profile_n_stacks(profile) > 0 && !profile_knows(profile, value))
            return FALSE;
        any = any || profile_n_stacks(profile) > 0;
    }
    return any || value < PROFILE_N_PPROF_VALUES;
}

gboolean
view_knows(const View *view, ProfileValue value)
{
    return (!value_is_of_holes(value) || value == view->options->value) && view_carries(view, value);
}

gboolean
view_exports(const View *view, ProfileValue value)
{
    return (value < PROFILE_N_PPROF_VALUES || value == view->options->value) && view_knows(view, value);
}

const ProfileWeight *
view_total(const View *view, ViewSide side)
{
    return &view->sides[side].total;
}

const ProfileWeight *
view_whole(const View *view, ViewSide side)
{
    return &view->sides[side].whole;
}
