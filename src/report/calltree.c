/* SPDX-License-Identifier: Apache-2.0 */
#include "report/calltree.h"

#include "report/table.h"

#include <string.h>

/* Finds children by (parent, node): open addressing, since one lookup per frame of every stack goes through it. */
typedef struct {
    guint64 key;   /* parent << 32 | node */
    guint32 child; /* 0: free slot (the root is nobody's child) */
} Slot;

typedef struct {
    CallTree *tree;
    CallTreeOrder order;
    Slot *slots;
    gsize mask;
    gsize used;
    gsize capacity; /* of self */
} Build;

static Slot *
find_slot(Slot *slots, gsize mask, guint64 key)
{
    guint64 hash = (key ^ (key >> 29)) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    gsize at = (gsize)(hash >> 20) & mask;

    while (slots[at].child && slots[at].key != key)
        at = (at + 1) & mask;
    return &slots[at];
}

static void
grow_slots(Build *build)
{
    gsize mask = build->mask * 2 + 1;
    Slot *slots = g_new0(Slot, mask + 1);

    for (gsize i = 0; i <= build->mask; i++)
        if (build->slots[i].child)
            *find_slot(slots, mask, build->slots[i].key) = build->slots[i];
    g_free(build->slots);
    build->slots = slots;
    build->mask = mask;
}

static void
grow_weights(Build *build)
{
    CallTree *tree = build->tree;
    gsize capacity = build->capacity * 2;

    for (guint side = 0; side < view_n_sides(tree->view); side++) {
        tree->self[side] = g_renew(ProfileWeight, tree->self[side], capacity);
        memset(tree->self[side] + build->capacity, 0, (capacity - build->capacity) * sizeof(ProfileWeight));
    }
    build->capacity = capacity;
}

static guint32
add_child(Build *build, guint32 parent, guint32 node)
{
    GArray *nodes = build->tree->nodes;
    CallNode *above = &g_array_index(nodes, CallNode, parent);
    CallNode child = {node, parent, PROFILE_NONE, above->first_child, above->depth + 1};

    above->first_child = nodes->len;
    g_array_append_val(nodes, child);
    if (nodes->len > build->capacity)
        grow_weights(build);
    return nodes->len - 1;
}

static guint32
get_child(Build *build, guint32 parent, guint32 node)
{
    guint64 key = (guint64)parent << 32 | node;
    Slot *slot = find_slot(build->slots, build->mask, key);

    if (slot->child)
        return slot->child;
    if (build->used * 3 > build->mask * 2) {
        grow_slots(build);
        slot = find_slot(build->slots, build->mask, key);
    }
    build->used++;
    slot->key = key;
    slot->child = add_child(build, parent, node);
    return slot->child;
}

static void
add_path(const ViewPath *path, gpointer user)
{
    Build *build = user;
    guint32 at = 0;

    for (guint32 i = 0; i < path->n_nodes; i++)
        at = get_child(build, at, path->nodes[build->order == CALLTREE_TOP_DOWN ? path->n_nodes - 1 - i : i]);
    weight_add(&build->tree->self[path->side][at], path->weight);
}

static void
sum_totals(CallTree *tree)
{
    guint32 n = tree->nodes->len;

    for (guint side = 0; side < view_n_sides(tree->view); side++) {
        tree->total[side] = g_memdup2(tree->self[side], n * sizeof(ProfileWeight));
        for (guint32 i = n; i-- > 1;)
            weight_add(&tree->total[side][calltree_node(tree, i)->parent], &tree->total[side][i]);
    }
}

typedef struct {
    const CallTree *tree;
    ProfileValue value;
} ChildOrder;

static gint
compare_children(gconstpointer a, gconstpointer b, gpointer user)
{
    const ChildOrder *order = user;
    guint32 left = *(const guint32 *)a;
    guint32 right = *(const guint32 *)b;
    gdouble left_extent = calltree_extent(order->tree, left, order->value);
    gdouble right_extent = calltree_extent(order->tree, right, order->value);

    if (left_extent != right_extent)
        return left_extent > right_extent ? -1 : 1;
    return strcmp(view_node(order->tree->view, calltree_node(order->tree, left)->node)->name,
                  view_node(order->tree->view, calltree_node(order->tree, right)->node)->name);
}

static void
sort_children(CallTree *tree, guint32 parent, GArray *scratch, ProfileValue value)
{
    CallNode *nodes = (CallNode *)(void *)tree->nodes->data;
    guint32 *link = &nodes[parent].first_child;
    ChildOrder order = {tree, value};

    g_array_set_size(scratch, 0);
    for (guint32 child = *link; child != PROFILE_NONE; child = nodes[child].next_sibling)
        g_array_append_val(scratch, child);
    if (scratch->len < 2)
        return;
    g_array_sort_with_data(scratch, compare_children, &order);
    for (guint i = 0; i < scratch->len; i++) {
        *link = g_array_index(scratch, guint32, i);
        link = &nodes[*link].next_sibling;
    }
    *link = PROFILE_NONE;
}

CallTree *
calltree_new(const View *view, CallTreeOrder order, ProfileValue value)
{
    CallTree *tree = g_new0(CallTree, 1);
    Build build = {.tree = tree, .order = order, .mask = 4095, .capacity = 1024};
    CallNode root = {PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, 0};
    g_autoptr(GArray) scratch = g_array_new(FALSE, FALSE, sizeof(guint32));

    tree->view = view;
    tree->nodes = g_array_new(FALSE, FALSE, sizeof(CallNode));
    g_array_append_val(tree->nodes, root);
    for (guint side = 0; side < view_n_sides(view); side++)
        tree->self[side] = g_new0(ProfileWeight, build.capacity);
    build.slots = g_new0(Slot, build.mask + 1);
    view_foreach(view, add_path, &build);
    g_free(build.slots);
    sum_totals(tree);
    for (guint32 i = 0; i < tree->nodes->len; i++)
        sort_children(tree, i, scratch, value);
    return tree;
}

void
calltree_free(CallTree *tree)
{
    g_array_unref(tree->nodes);
    for (guint side = 0; side < VIEW_N_SIDES; side++) {
        g_free(tree->self[side]);
        g_free(tree->total[side]);
    }
    g_free(tree);
}

const CallNode *
calltree_node(const CallTree *tree, guint32 index)
{
    return &g_array_index(tree->nodes, CallNode, index);
}

guint32
calltree_next(const CallTree *tree, guint32 index)
{
    const CallNode *node = calltree_node(tree, index);

    if (node->first_child != PROFILE_NONE)
        return node->first_child;
    while (index != 0 && node->next_sibling == PROFILE_NONE) {
        index = node->parent;
        node = calltree_node(tree, index);
    }
    return index == 0 ? PROFILE_NONE : node->next_sibling;
}

gdouble
calltree_total(const CallTree *tree, guint32 index, ViewSide side, ProfileValue value)
{
    return tree->total[side] ? tree->total[side][index].estimate[value] : 0;
}

gdouble
calltree_extent(const CallTree *tree, guint32 index, ProfileValue value)
{
    return MAX(calltree_total(tree, index, VIEW_NOW, value), calltree_total(tree, index, VIEW_BASE, value));
}
