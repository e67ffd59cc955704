/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view: the input of all formats. Locations are named, filtered and folded to the requested granularity once each;
 * stacks are walked on demand, so the memory of a view grows with distinct locations and not with stacks.
 */
#ifndef JESCOPE_REPORT_VIEW_H
#define JESCOPE_REPORT_VIEW_H

#include "profile/holes.h"
#include "report/report.h"

/* A difference has two sides, everything else only the first. */
typedef enum { VIEW_NOW, VIEW_BASE, VIEW_N_SIDES } ViewSide;

/* The origin of the code. */
typedef enum {
    VIEW_PROGRAM, /* the program's own */
    VIEW_LIBRARY,
    VIEW_SYSTEM, /* C and C++ runtime, and the language's library wherever it was compiled */
    VIEW_UNRESOLVED,
} ViewOrigin;

/* One distinct function, line, file, object, address, size class or thread. Strings are clean (text_printable()) and
 * live as long as the view.
 */
typedef struct {
    const char *name;     /* complete, as exported; two nodes may share it */
    const char *display;  /* for display: short and unique */
    const char *function; /* NULL for files and objects */
    const char *file;     /* or NULL */
    const char *object;   /* path, or NULL */
    guint32 line;         /* 0 unless by line or by address */
    guint32 start_line;   /* of the function, 0: unknown */
    gboolean known;       /* FALSE: name is a placeholder */
    ViewOrigin origin;
} ViewNode;

/* One stack after trimming and filtering; or the holes that belong to no stack, with the number after the last stack
 * and no locations. The arrays are valid during the visit only. */
typedef struct {
    ViewSide side;
    guint32 stack;
    const guint32 *locations; /* of the side's profile, innermost first; n_locations may be 0 */
    guint32 n_locations;
    const guint32 *nodes; /* innermost first, inlined frames included, wrappers folded; at least one */
    guint32 n_nodes;
    guint32 folded; /* the node of the innermost wrapper folded into nodes[0], or PROFILE_NONE */
    guint32 n_folded;
    guint32 group; /* by size or thread: the last of nodes, which is the row of the stack; else PROFILE_NONE */
    const ProfileWeight *weight;
} ViewPath;

typedef struct View View;

/* Borrows everything. base may be NULL. Fails with REPORT_ERROR_NO_THREAD only. */
View *view_new(const ReportInput *now, const ReportInput *base, const ReportOptions *options, GError **error);
void view_free(View *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(View, view_free)

guint view_n_sides(const View *view);
const ReportInput *view_input(const View *view, ViewSide side);
guint32 view_n_nodes(const View *view);
const ViewNode *view_node(const View *view, guint32 node);

typedef void (*ViewVisit)(const ViewPath *path, gpointer user);

/* Calls visit for every stack that passes the filters, base after now. */
void view_foreach(const View *view, ViewVisit visit, gpointer user);

/* The frames of one location that pass the filters: indexes into its Symbol's frames, innermost first. */
guint32 view_location_frames(const View *view, ViewSide side, guint32 location, const guint32 **frames);

/* The holes of a side if they are requested and known; else NULL. */
const HolesSum *view_holes(const View *view, ViewSide side);

/* Whether every profile with stacks carries VALUE; without stacks, only pprof's four values. */
gboolean view_carries(const View *view, ProfileValue value);

/* Whether the weights of this view contain it as well: holes only if requested. */
gboolean view_has_value(const View *view, ProfileValue value);

/* Whether an export with several values includes VALUE: the known ones of pprof's four, and the chosen one. */
gboolean view_exports(const View *view, ProfileValue value);

/* The sum of all stacks that pass the filters. */
const ProfileWeight *view_total(const View *view, ViewSide side);

/* The sum without filters. */
const ProfileWeight *view_whole(const View *view, ViewSide side);

#endif
