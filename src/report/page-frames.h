/* SPDX-License-Identifier: Apache-2.0 */
/* The frames that the blocks of a page refer to: numbered on first use, written once at its end. */
#ifndef JESCOPE_REPORT_PAGE_FRAMES_H
#define JESCOPE_REPORT_PAGE_FRAMES_H

#include "report/view.h"
#include "report/writer.h"

/* A node of the view. Texts are offsets into PageNames.texts; 0: none. */
typedef struct {
    guint64 hash;       /* of the name; page_graph_key() */
    guint32 name, full; /* full: only if it differs from name */
    guint32 module, file;
    guint32 line, origin; /* ViewOrigin */
} PageName;

typedef struct {
    const PageName *names;
    guint32 n_names;
    const char *texts; /* each with its NUL; the first is empty */
    guint32 n_texts;   /* bytes */
} PageNames;

/* FNV-1a, 64 bits. */
guint64 page_name_hash(const char *name);

/* The nodes of VIEW. */
PageNames *page_names_new(const View *view);
void page_names_free(PageNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageNames, page_names_free)

/* Whether all texts are valid; for untrusted bytes. */
gboolean page_names_are_sound(const PageNames *names);

/* The display name of NODE. */
const char *page_names_display(const PageNames *names, guint32 node);

typedef struct PageFrames PageFrames;

PageFrames *page_frames_new(const PageNames *names); /* borrowed */
void page_frames_free(PageFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageFrames, page_frames_free)

guint32 page_frames_number(PageFrames *frames, guint32 node);

/* "frames": {...}: those that have a number. */
void page_frames_write(const PageFrames *frames, Writer *writer);

#endif
