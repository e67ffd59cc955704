/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view-parts.h"

#include "profile/weight.h"
#include "report/groups.h"
#include "report/names.h"
#include "report/units.h"
#include "report/wrappers.h"

#include <string.h>

/* Patterns are matched against names in jeprof's form and complete ones. */
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

static ViewFunction *
get_facts(View *view, guint32 index)
{
    const ReportOptions *options = view->options;
    const Function *function = functions_get(view->functions, index);
    ViewFunction *facts = &view->facts[index];

    if (facts->asked)
        return facts;
    *facts = (ViewFunction){
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

static gboolean
matches_place(const GRegex *regex, const ViewPlace *place)
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

static ViewLocationFlags
match_location(const View *view, const ViewPlace *place, const ViewFunction *facts)
{
    ViewLocationFlags flags = 0;

    if (facts->focus || matches_place(view->options->focus, place))
        flags |= VIEW_LOCATION_FOCUS;
    if (facts->ignore || matches_place(view->options->ignore, place))
        flags |= VIEW_LOCATION_IGNORE;
    return flags;
}

static const char *
object_of(const ViewSideState *side, const ProfileLocation *location)
{
    return location->object == PROFILE_NONE ? NULL : profile_objects(side->input.profile)[location->object].path;
}

/* Adds the functions of all frames, in the order of add_location(). */
static void
note_functions(View *view, ViewSide which, const ReportInput *input)
{
    ViewSideState *side = &view->sides[which];

    side->input = *input;
    side->input.name = view_keep_made(view, g_strdup(input->name));
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
add_frame(View *view, ViewSideState *side, ViewLocation *added, const ViewPlace *place, guint32 frame)
{
    ViewFunction *facts = get_facts(view, place->function_index);
    guint8 wrapper = facts->wrapper;
    guint8 top = facts->top;
    guint32 node;

    if (facts->dropped)
        return;
    node = view_intern_place(view, place, facts);
    g_array_append_val(side->nodes, node);
    g_array_append_val(side->frames, frame);
    g_array_append_val(side->wrappers, wrapper);
    g_array_append_val(side->tops, top);
    added->flags |= match_location(view, place, facts);
}

static gboolean
is_allocator(View *view, const ViewPlace *physical)
{
    if (view->options->flags & REPORT_KEEP_ALLOCATOR)
        return FALSE;
    return (physical->object && name_is_allocator_object(physical->object)) ||
           get_facts(view, physical->function_index)->allocator;
}

/* first: the position of this location's frames in side->noted. */
static void
add_location(View *view, ViewSideState *side, guint32 index, guint first)
{
    const ReportOptions *options = view->options;
    const ProfileLocation *location = &profile_locations(side->input.profile)[index];
    const Symbol *symbol = symbols_location(side->input.symbols, index);
    ViewLocation *added = &side->locations[index];
    ViewPlace place = {.location = location,
                       .object = object_of(side, location),
                       .as_jeprof = (options->flags & REPORT_JEPROF_LAYOUT) != 0};

    added->first = side->nodes->len;
    for (guint32 i = 0; i < symbol->n_frames; i++) {
        place.frame = &symbol->frames[i];
        place.inlined = i + 1 < symbol->n_frames;
        place.function_index = functions_of(view->functions, g_array_index(side->noted, guint32, first + i));
        place.function = functions_get(view->functions, place.function_index);
        if (!view_granularities[options->by].per_location || !place.inlined)
            add_frame(view, side, added, &place, i);
    }
    if (is_allocator(view, &place))
        added->flags |= VIEW_LOCATION_ALLOCATOR;
    added->n = side->nodes->len - added->first;
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

/* The memory that would be returned is computed for each function (line, file...) that allocates, or for each group of
 * stacks. */
static void
compute_holes(View *view)
{
    guint32 *owners[VIEW_N_SIDES] = {NULL};

    if (!value_is_of_holes(view->options->value))
        return;
    for (guint i = 0; i < view->n_sides; i++) {
        guint32 n = profile_n_stacks(view->sides[i].input.profile);
        owners[i] = g_new(guint32, (gsize)n + 1);
        memset(owners[i], 0xff, n * sizeof(guint32)); /* PROFILE_NONE */
    }
    view_foreach(view, note_owner, owners);
    for (guint i = 0; i < view->n_sides; i++) {
        ViewSideState *side = &view->sides[i];
        const Profile *profile = side->input.profile;
        guint32 n = profile_n_stacks(profile);
        if (profile_has_value(profile, view->options->value)) {
            side->weights = g_memdup2(profile_weights(profile), n * sizeof(ProfileWeight));
            holes_compute(profile, owners[i], view->options->value, side->weights, &side->holes);
            if (view->options->value == PROFILE_PINNED) {
                side->unattributed.estimate[PROFILE_PINNED] = side->holes.unused - side->holes.attributed;
                side->unattributed.variance[PROFILE_PINNED] = side->holes.variance;
            }
        }
        g_free(owners[i]);
    }
    view->unattributed =
        view_add_node(view, "[unattributed]",
                      &(ViewNode){.name = "[unattributed]", .display = "[unattributed]", .origin = VIEW_UNRESOLVED});
}

const HolesSum *
view_holes(const View *view, ViewSide side)
{
    return view->sides[side].weights ? &view->sides[side].holes : NULL;
}

static void
add_group(View *view, const Profile *profile, guint32 number, ViewGroup *group)
{
    const ReportOptions *options = view->options;
    const char *name = view_keep_made(view, groups_name(profile, number, options->by));
    g_autofree char *key = g_strconcat("group\n", name, NULL); /* not the key of any frame */
    guint32 found = GPOINTER_TO_UINT(g_hash_table_lookup(view->index, key));

    group->node = found ? found - 1
                        : view_add_node(view, string_pool_insert(view->strings, key),
                                        &(ViewNode){.name = name,
                                                    .display = name,
                                                    .known = groups_is_known(profile, number, options->by),
                                                    .origin = VIEW_UNRESOLVED});
    group->flags = (matches_name(options->focus, name) ? VIEW_LOCATION_FOCUS : 0) |
                   (matches_name(options->ignore, name) ? VIEW_LOCATION_IGNORE : 0);
}

/* The groups that stacks belong to. */
static void
build_groups(View *view, ViewSideState *side)
{
    const Profile *profile = side->input.profile;
    ReportGranularity by = view->options->by;

    if (!groups_are(by))
        return;
    guint32 n = groups_limit(profile, by);
    side->groups = g_new(ViewGroup, n);
    for (guint32 i = 0; i < n; i++)
        side->groups[i] = (ViewGroup){PROFILE_NONE, 0};
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        guint32 number = groups_of(profile, i, by);
        if (side->groups[number].node == PROFILE_NONE)
            add_group(view, profile, number, &side->groups[number]);
    }
}

/* A frame of a dump stands for any number of inlined ones. */
static gboolean
count_nodes(ViewSideState *side, GError **error)
{
    const Profile *profile = side->input.profile;
    guint64 all = 0, most = 0;

    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        guint64 n = view_count_nodes(side, &profile_stacks(profile)[i]);
        all += n;
        most = MAX(most, n);
    }
    if (all > PROFILE_MAX_FRAMES) {
        g_set_error(
            error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
            "%s: with what is inlined, its stacks have more than %d frames in all; report --no-inlines omits that",
            side->input.name, PROFILE_MAX_FRAMES);
        return FALSE;
    }
    side->max_nodes = (guint32)most;
    return TRUE;
}

static gboolean
build_side(View *view, ViewSideState *side, GError **error)
{
    const Profile *profile = side->input.profile;
    guint32 n = profile_n_locations(profile);
    guint first = 0;

    side->locations = g_new0(ViewLocation, (gsize)n + 1);
    side->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
    side->frames = g_array_new(FALSE, FALSE, sizeof(guint32));
    side->wrappers = g_array_new(FALSE, FALSE, sizeof(guint8));
    side->tops = g_array_new(FALSE, FALSE, sizeof(guint8));
    for (guint32 i = 0; i < n; i++) {
        add_location(view, side, i, first);
        first += symbols_location(side->input.symbols, i)->n_frames;
    }
    for (guint32 i = 0; i < profile_n_stacks(profile); i++)
        if (profile_stacks(profile)[i].depth == 0 && view->no_stack == PROFILE_NONE)
            view->no_stack =
                view_add_node(view, "[no stack]",
                              &(ViewNode){.name = "[no stack]", .display = "[no stack]", .origin = VIEW_UNRESOLVED});
    return count_nodes(side, error);
}

static gboolean
select_all_threads(View *view, GError **error)
{
    const char *wanted = view->options->thread;
    gboolean any = FALSE;

    if (!wanted)
        return TRUE;
    for (guint i = 0; i < view->n_sides; i++)
        any = view_select_threads(&view->sides[i], wanted) || any;
    if (!any)
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_NO_THREAD,
                    "%s has no thread '%s' (give the number after the t, or the thread's name)",
                    view->sides[0].input.name, wanted);
    return any;
}

static void
set_totals(ViewSideState *side, const ProfileWeight *total)
{
    side->total = *total;
    side->whole = *profile_total(side->input.profile);
    side->whole.estimate[PROFILE_PINNED] = side->holes.unused;
    side->whole.estimate[PROFILE_WHATIF] = total->estimate[PROFILE_WHATIF];
    side->whole.variance[PROFILE_WHATIF] = total->variance[PROFILE_WHATIF];
}

static gboolean
build_sides(View *view, const ReportInput *now, const ReportInput *base, GError **error)
{
    note_functions(view, VIEW_NOW, now);
    if (base)
        note_functions(view, VIEW_BASE, base);
    functions_seal(view->functions);
    view->facts = g_new0(ViewFunction, (gsize)functions_n(view->functions) + 1);
    for (guint i = 0; i < view->n_sides; i++) {
        if (!build_side(view, &view->sides[i], error))
            return FALSE;
        build_groups(view, &view->sides[i]);
    }
    return TRUE;
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
    if (!build_sides(view, now, base, error) || !select_all_threads(view, error))
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
        ViewSideState *side = &view->sides[i];
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
    return &view->sides[side].input;
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
    const ViewLocation *found = &view->sides[side].locations[location];

    *frames = (const guint32 *)(const void *)view->sides[side].frames->data + found->first;
    return found->n;
}

gboolean
view_carries(const View *view, ProfileValue value)
{
    gboolean any = FALSE;

    for (guint i = 0; i < view->n_sides; i++) {
        const Profile *profile = view->sides[i].input.profile;
        if (profile_n_stacks(profile) > 0 && !profile_has_value(profile, value))
            return FALSE;
        any = any || profile_n_stacks(profile) > 0;
    }
    return any || value < PROFILE_N_PPROF_VALUES;
}

gboolean
view_has_value(const View *view, ProfileValue value)
{
    return (!value_is_of_holes(value) || value == view->options->value) && view_carries(view, value);
}

gboolean
view_exports(const View *view, ProfileValue value)
{
    return (value < PROFILE_N_PPROF_VALUES || value == view->options->value) && view_has_value(view, value);
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
