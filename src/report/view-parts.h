/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a view is made of, for its three parts: view.c makes it, view-node.c names its nodes, and view-path.c walks its
 * stacks.
 */
#ifndef JESCOPE_REPORT_VIEW_PARTS_H
#define JESCOPE_REPORT_VIEW_PARTS_H

#include "confine/keyed-hash.h"
#include "report/functions.h"
#include "report/view.h"

typedef enum {
    VIEW_LOCATION_ALLOCATOR = 1 << 0, /* it and everything further in is the allocator's own */
    VIEW_LOCATION_FOCUS = 1 << 1,
    VIEW_LOCATION_IGNORE = 1 << 2,
} ViewLocationFlags;

/* By size or thread. */
typedef struct {
    guint32 node; /* PROFILE_NONE: no stack is of it */
    ViewLocationFlags flags;
} ViewGroup;

/* The position of a location's kept frames in the nodes and frames of its side. */
typedef struct {
    guint32 first;
    guint32 n;
    ViewLocationFlags flags;
} ViewLocation;

typedef struct {
    const ReportInput *input;
    ViewLocation *locations;
    GArray *nodes;          /* guint32: node */
    GArray *frames;         /* guint32: index into the location's Symbol, beside nodes */
    GArray *wrappers;       /* guint8: is the frame one that is charged to its caller? beside nodes */
    GArray *tops;           /* guint8: may a stack be shown from the frame? beside nodes */
    GArray *noted;          /* guint32: what functions_note() returned, per frame of every location's Symbol in turn */
    gboolean *threads;      /* kept ones, or NULL for all */
    ViewGroup *groups;      /* by number (report/groups.h), or NULL */
    guint32 max_nodes;      /* of any unfiltered stack */
    ProfileWeight *weights; /* with the holes in slabs, if these are asked for; NULL: those of the profile */
    HolesSum holes;
    ProfileWeight unattributed; /* the holes that are of no stack */
    ProfileWeight total, whole;
} ViewSideState;

/* Cached properties of a function. */
typedef struct {
    guint32 node; /* by function; PROFILE_NONE until it is needed */
    gboolean asked;
    gboolean allocator, wrapper;
    gboolean dropped; /* by retain or exclude */
    gboolean focus, ignore;
    gboolean top; /* stacks are shown from it */
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
} ViewPlace;

/* view-node.c: */

/* A name in full, or as people read it. */
typedef enum { VIEW_NAME_FULL, VIEW_NAME_DISPLAY } ViewNameForm;

/* How a granularity makes nodes of frames. */
typedef struct {
    char *(*name)(const ViewPlace *, ViewNameForm);
    gboolean has_function;
    gboolean has_line;
    gboolean per_location; /* inlined frames are not distinguished */
    gboolean collapses;    /* neighbours in a stack that are the same node count as one frame */
} ViewGranularity;

/* By ReportGranularity. */
extern const ViewGranularity view_granularities[];

/* KEY must live as long as the view. Returns the number of the new node. */
guint32 view_add_node(View *view, const char *key, const ViewNode *node);

/* A clean copy of TEXT, which is freed, that lives as long as the view. */
const char *view_keep_made(View *view, char *text);

/* The number of the node of a frame; FACTS are those of its function. */
guint32 view_intern_place(View *view, const ViewPlace *place, ViewFunction *facts);

/* view-path.c: */

/* Keeps the threads with this number or name. FALSE: the side has none. */
gboolean view_select_threads(ViewSideState *side, const char *wanted);

/* How many nodes STACK has before anything is filtered or folded. */
guint32 view_count_nodes(const ViewSideState *side, const ProfileStack *stack);

#endif
