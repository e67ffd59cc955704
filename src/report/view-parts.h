/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internals of a view, for its three parts: view.c creates it, view-node.c names its nodes, and view-path.c walks
 * its stacks.
 */
#ifndef JESCOPE_REPORT_VIEW_PARTS_H
#define JESCOPE_REPORT_VIEW_PARTS_H

#include "confine/keyed-hash.h"
#include "report/functions.h"
#include "report/view.h"

typedef enum {
    VIEW_LOCATION_ALLOCATOR = 1 << 0, /* it and all frames further in belong to the allocator */
    VIEW_LOCATION_FOCUS = 1 << 1,
    VIEW_LOCATION_IGNORE = 1 << 2,
} ViewLocationFlags;

/* A group of stacks, by size or thread. */
typedef struct {
    guint32 node; /* PROFILE_NONE: no stack belongs to it */
    ViewLocationFlags flags;
} ViewGroup;

/* The position of a location's kept frames in the nodes and frames of its side. */
typedef struct {
    guint32 first;
    guint32 n;
    ViewLocationFlags flags;
} ViewLocation;

typedef struct {
    ReportInput input; /* with a printable name: a file may be called anything */
    ViewLocation *locations;
    GArray *nodes;     /* guint32: node */
    GArray *frames;    /* guint32: index into the location's Symbol, beside nodes */
    GArray *wrappers;  /* guint8: whether the frame is charged to its caller; parallel to nodes */
    GArray *tops;      /* guint8: whether the frame matches show_from; parallel to nodes */
    GArray *noted;     /* guint32: results of functions_note(), for each frame of every location's Symbol in order */
    gboolean *threads; /* the selected ones, or NULL for all */
    ViewGroup *groups; /* by number (report/groups.h), or NULL */
    guint32 max_nodes; /* of any unfiltered stack */
    ProfileWeight *weights; /* with the holes in slabs, if requested; NULL: those of the profile */
    HolesSum holes;
    ProfileWeight unattributed; /* the holes that belong to no stack */
    ProfileWeight total, whole;
} ViewSideState;

/* Cached properties of a function. */
typedef struct {
    guint32 node; /* by function; PROFILE_NONE until first used */
    gboolean asked;
    gboolean allocator, wrapper;
    gboolean dropped; /* removed by retain or exclude */
    gboolean focus, ignore;
    gboolean top; /* matches show_from */
} ViewFunction;

struct View {
    const ReportOptions *options;
    guint n_sides;
    ViewSideState sides[VIEW_N_SIDES];
    GArray *nodes;     /* ViewNode */
    GHashTable *index; /* key of a node -> node + 1 */
    Functions *functions;
    ViewFunction *facts; /* one per function */
    StringPool *strings;
    guint32 no_stack;     /* the node of stacks without any frame, or PROFILE_NONE */
    guint32 unattributed; /* the node of holes that belong to no stack, or PROFILE_NONE */
};

/* A frame that is being converted to a node. */
typedef struct {
    const ProfileLocation *location;
    const SymbolFrame *frame;
    const Function *function;
    guint32 function_index;
    const char *object; /* path, or NULL */
    gboolean inlined;
    gboolean as_jeprof; /* name it as jeprof does */
} ViewPlace;

/* view-node.c: */

/* A complete name, or a display name. */
typedef enum { VIEW_NAME_FULL, VIEW_NAME_DISPLAY } ViewNameForm;

/* How a granularity converts frames to nodes. */
typedef struct {
    char *(*name)(const ViewPlace *, ViewNameForm);
    gboolean has_function;
    gboolean has_line;
    gboolean per_location; /* inlined frames are not distinguished */
    gboolean collapses;    /* adjacent frames with the same node count as one */
} ViewGranularity;

/* Indexed by ReportGranularity. */
extern const ViewGranularity view_granularities[];

/* KEY must live as long as the view. Returns the number of the new node. */
guint32 view_add_node(View *view, const char *key, const ViewNode *node);

/* A clean copy of TEXT, which is freed; it lives as long as the view. */
const char *view_keep_made(View *view, char *text);

/* The node of a frame; FACTS are those of its function. */
guint32 view_intern_place(View *view, const ViewPlace *place, ViewFunction *facts);

/* view-path.c: */

/* Selects the threads with this number or name. FALSE: the side has none. */
gboolean view_select_threads(ViewSideState *side, const char *wanted);

/* The number of nodes of STACK before filtering and folding. */
guint64 view_count_nodes(const ViewSideState *side, const ProfileStack *stack);

#endif
