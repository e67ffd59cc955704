/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds the memory of one target: a report of a dump, as the API's format "page" (docs/formats.md, "Page JSON")
 * has it, in rows. Read from documents that another machine may have sent: every number is checked.
 */
#ifndef JESCOPE_TUI_SITES_H
#define JESCOPE_TUI_SITES_H

#include "profile/profile.h"

typedef struct json_t json_t; /* of Jansson */

enum {
    SITE_ROWS_MAX = 65536,
    SITE_NAMES_BYTES = 64 << 20, /* of all rows; further ones are "..." */
};

/* A function, line or stack. */
typedef struct {
    char *name;            /* a stack: its functions, innermost first, with " < " between them */
    double own, own_error; /* of a mean (value_is_mean()) NAN where there is nothing to take it of; its error is NAN */
    double total;
    double objects;      /* beside bytes; NAN: unknown */
    double gain;         /* of OWN, against the mark */
    double significance; /* of it, in standard errors */
} SiteRow;

typedef struct {
    ProfileValue value;
    gboolean known[PROFILE_N_VALUES]; /* that the dump has */
    gboolean difference;              /* rows have gains */
    GArray *rows;                     /* of SiteRow, as the report has sorted them */
    double total;                     /* of all that the filters leave */
    double error;
    double noise;     /* standard errors up to which a change is within the sampling error */
    guint hidden;     /* rows that are not there */
    GPtrArray *notes; /* of char * */
} Sites;

/* NULL with ERROR: DOCUMENT is not a table of functions of format=page. */
Sites *sites_read(const json_t *document, GError **error);
void sites_free(Sites *sites);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sites, sites_free)

/* A frame of a flame graph. */
typedef struct {
    guint parent; /* of an earlier row; the first has none: G_MAXUINT */
    guint level;  /* 0 for the first */
    char *name;
    double total;  /* of a mean, the sum that can be added: byte-seconds */
    double shown;  /* the total, or the mean */
    double extent; /* its width */
    double begin;  /* where it is, from 0 to the extent of the first row */
    double change; /* against the mark */
    double significance;
    guint origin; /* 0 program, 1 library, 2 system, 3 unresolved */
    guint64 key;  /* by which the report begins at it */
} FlameRow;

typedef struct {
    ProfileValue value;
    GArray *rows; /* of FlameRow, parents before children */
    guint levels;
    gboolean difference;
    double noise;
    guint path; /* rows above the frame that it begins at */
} Flame;

Flame *flame_read(const json_t *document, GError **error);
void flame_free(Flame *flame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Flame, flame_free)

#endif
