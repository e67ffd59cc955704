/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All data for the pages of one report: for one value, granularity and set of filters, and any width, depth and zoom.
 * It can be stored in a file (the format page-tree), from which a page is extracted in a fraction of the time that
 * reading the dump takes.
 */
#ifndef JESCOPE_REPORT_PAGE_MATERIAL_H
#define JESCOPE_REPORT_PAGE_MATERIAL_H

#include "report/format.h"
#include "report/page-frames.h"
#include "report/page-tree.h"

enum {
    PAGE_TABLE_ROWS_MAX = 65536,
    PAGE_STACKS_MAX = 10000,
};

/* A row of the table. */
typedef struct {
    guint64 node;
    PageWeight flat[VIEW_N_SIDES], cumulative[VIEW_N_SIDES];
    gdouble flat_other, cumulative_other; /* of value_other(), now */
} PageRow;

/* Count and sum of the rows in neither list. */
typedef struct {
    guint64 count;
    gdouble total;
} PageRest;

typedef struct {
    guint32 value; /* ProfileValue */
    guint32 n_sides;
    guint32 n_head, n_rows, n_heaviest;
    PageRest table_rest, stacks_rest;
    const char *head; /* the members of Page JSON that are the same for every page, with a comma at the end */
    PageNames *names;
    const PageRow *rows; /* in table order */
    PageTree *tree;
    const guint32 *heaviest; /* the runs at which the heaviest stacks end */
    GBytes *file;            /* the other members point into it; or NULL */
} PageMaterial;

typedef enum {
    PAGE_MATERIAL_TREE = 1 << 0, /* and the heaviest stacks */
    PAGE_MATERIAL_TABLE = 1 << 1,
    PAGE_MATERIAL_ALL = PAGE_MATERIAL_TREE | PAGE_MATERIAL_TABLE,
} PageMaterialParts;

PageMaterial *page_material_new(const Report *report, PageMaterialParts parts);
void page_material_free(PageMaterial *material);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageMaterial, page_material_free)

void page_material_write(const PageMaterial *material, Writer *writer);

/* Whether the file FD begins like one written by page_material_write(). */
gboolean page_material_is_in(int fd);

/* Opens such a file; NAME is for messages. Fails with REPORT_ERROR_UNSUPPORTED if it is damaged or of another
 * version. */
PageMaterial *page_material_open(GBytes *file, const char *name, GError **error);

#endif
