/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of heap dumps as rows, parsed from the API's format "page" (docs/formats.md, "Page JSON"). Another machine
 * may have sent the documents: every number is checked.
 */
#ifndef JESCOPE_TUI_SITES_H
#define JESCOPE_TUI_SITES_H

#include "profile/profile.h"

typedef struct json_t json_t; /* from Jansson */

enum {
    SITE_ROWS_MAX = 65536,
    SITE_NAMES_BYTES = 64 << 20, /* total of all rows; further names become "..." */
};

/* A function, line or stack. */
typedef struct {
    char *name;            /* for a stack: its functions, innermost first, separated by " < " */
    double own, own_error; /* for a mean (value_is_mean()): NAN if undefined; own_error is NAN */
    double total;
    double objects;      /* objects that belong to the bytes; NAN: unknown */
    double gain;         /* change of OWN since the mark */
    double significance; /* the gain in standard errors */
} SiteRow;

typedef struct {
    ProfileValue value;
    gboolean known[PROFILE_N_VALUES]; /* whether the dump has the value */
    gboolean difference;              /* rows have gains */
    GArray *rows;                     /* of SiteRow, in the report's order */
    double total;                     /* of all samples that pass the filters */
    double error;
    double noise;     /* standard errors up to which a change counts as sampling error */
    guint hidden;     /* number of rows left out */
    GPtrArray *notes; /* of char * */
} Sites;

/* NULL with ERROR if DOCUMENT is not a table of functions in format=page. */
Sites *sites_read(const json_t *document, GError **error);
void sites_free(Sites *sites);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sites, sites_free)

/* A frame of a flame graph. */
typedef struct {
    guint parent; /* index of an earlier row; G_MAXUINT for the first */
    guint level;  /* 0 for the first */
    char *name;
    double total;  /* for a mean, the additive sum: byte-seconds */
    double shown;  /* the total, or the mean */
    double extent; /* its width */
    double begin;  /* its left edge, from 0 to the extent of the first row */
    double change; /* since the mark */
    double significance;
    guint origin; /* 0 program, 1 library, 2 system, 3 unresolved */
    guint64 key;  /* identifies it in the request for a zoomed report */
} FlameRow;

typedef struct {
    ProfileValue value;
    GArray *rows; /* of FlameRow, parents before children */
    guint levels;
    gboolean difference;
    double noise;
    guint path; /* rows above the frame that is zoomed into */
} Flame;

Flame *flame_read(const json_t *document, GError **error);
void flame_free(Flame *flame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Flame, flame_free)

#endif
