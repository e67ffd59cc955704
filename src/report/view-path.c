/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view-parts.h"

#include "report/groups.h"

#include <string.h>

static gboolean
is_thread(const ProfileThread *thread, const char *wanted)
{
    char uid[32];

    g_snprintf(uid, sizeof(uid), "t%" G_GUINT64_FORMAT, thread->uid);
    return g_str_equal(thread->name, wanted) || g_str_equal(uid, wanted) || g_str_equal(uid + 1, wanted);
}

gboolean
view_select_threads(ViewSideState *side, const char *wanted)
{
    const Profile *profile = side->input.profile;
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
is_kept_thread(const ViewSideState *side, const ProfileStack *stack)
{
    return !side->threads || (stack->thread != PROFILE_NONE && side->threads[stack->thread]);
}

guint64
view_count_nodes(const ViewSideState *side, const ProfileStack *stack)
{
    const guint32 *frames = profile_frames(side->input.profile) + stack->first;
    guint64 n = 0;

    for (guint32 i = 0; i < stack->depth; i++)
        n += side->locations[frames[i]].n;
    return n;
}

/* Removes the allocator's frames at the inner end; a stack of only such frames keeps its outermost one. */
static void
trim_allocator(const ViewSideState *side, ViewPath *path)
{
    guint32 begin = path->n_locations;

    while (begin > 0 && !(side->locations[path->locations[begin - 1]].flags & VIEW_LOCATION_ALLOCATOR))
        begin--;
    if (begin == path->n_locations && begin > 0)
        begin--;
    path->locations += begin;
    path->n_locations -= begin;
}

/* The number of innermost frames that are wrappers; a stack of only wrappers keeps its outermost frame. */
static guint32
count_wrappers(const ViewSideState *side, const ViewPath *path)
{
    guint32 n = 0, wrappers = 0;

    for (guint32 i = 0; i < path->n_locations; i++) {
        const ViewLocation *location = &side->locations[path->locations[i]];
        for (guint32 j = 0; j < location->n; j++, n++)
            if (wrappers == n && g_array_index(side->wrappers, guint8, location->first + j))
                wrappers++;
        if (wrappers < n)
            return wrappers;
    }
    return n > 0 ? n - 1 : 0;
}

/* Removes the locations above the outermost one with a frame that matches show_from. FALSE: no frame matches. */
static gboolean
cut_top(const ViewSideState *side, ViewPath *path)
{
    for (; path->n_locations > 0; path->n_locations--) {
        const ViewLocation *location = &side->locations[path->locations[path->n_locations - 1]];
        for (guint32 i = 0; i < location->n; i++)
            if (g_array_index(side->tops, guint8, location->first + i))
                return TRUE;
    }
    return FALSE;
}

/* The number of visible frames of LOCATION, the outermost one. */
static guint32
count_shown(const View *view, const ViewSideState *side, const ViewLocation *location)
{
    guint32 n = location->n;

    while (view->options->show_from && n > 0 && !g_array_index(side->tops, guint8, location->first + n - 1))
        n--;
    return n;
}

static void
expand_nodes(const View *view, const ViewSideState *side, ViewPath *path, guint32 *nodes)
{
    gboolean collapses = view_granularities[view->options->by].collapses;
    const guint32 *all = (const guint32 *)(const void *)side->nodes->data;
    guint32 n = 0, folded = 0;

    path->n_folded = count_wrappers(side, path);
    for (guint32 i = 0; i < path->n_locations; i++) {
        const ViewLocation *location = &side->locations[path->locations[i]];
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
    /* If show_from matches a wrapper, that is what allocated. */
    if (n == 0 && path->folded != PROFILE_NONE) {
        nodes[n++] = path->folded;
        path->folded = PROFILE_NONE;
    }
    if (n > 0 && path->group != PROFILE_NONE)
        nodes[n++] = path->group;
    path->nodes = nodes;
    path->n_nodes = n;
}

/* SEEN: the flags of its group. */
static gboolean
passes_focus(const View *view, const ViewSideState *side, const ViewPath *path, ViewLocationFlags seen)
{
    const ReportOptions *options = view->options;

    if (!options->focus && !options->ignore)
        return TRUE;
    for (guint32 i = 0; i < path->n_locations; i++)
        seen |= side->locations[path->locations[i]].flags;
    return !(seen & VIEW_LOCATION_IGNORE) && (!options->focus || (seen & VIEW_LOCATION_FOCUS));
}

/* FALSE: filtered out. */
static gboolean
make_path(const View *view, const ViewSideState *side, ViewPath *path, guint32 *nodes)
{
    const ProfileStack *stack = &profile_stacks(side->input.profile)[path->stack];
    ViewGroup group = {PROFILE_NONE, 0};

    if (!is_kept_thread(side, stack))
        return FALSE;
    if (side->groups)
        group = side->groups[groups_of(side->input.profile, path->stack, view->options->by)];
    path->group = group.node;
    path->locations = profile_frames(side->input.profile) + stack->first;
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
    path->weight = &(side->weights ? side->weights : profile_weights(side->input.profile))[path->stack];
    return path->n_nodes > 0;
}

/* Visits the holes that belong to no stack, so that the sum is that of all holes. */
static void
visit_unattributed(const View *view, ViewSide which, ViewVisit visit, gpointer user)
{
    const ViewSideState *side = &view->sides[which];
    const ReportOptions *options = view->options;
    ViewPath path = {.side = which,
                     .stack = profile_n_stacks(side->input.profile),
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
    const ViewSideState *side = &view->sides[which];
    g_autofree guint32 *nodes = g_new(guint32, (gsize)side->max_nodes + 2); /* + 2: "no stack", the group */
    guint32 n = profile_n_stacks(side->input.profile);

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
