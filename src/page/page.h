/* SPDX-License-Identifier: Apache-2.0 */
/* The web page built from web/, which `jescope serve` serves and `report -o FILE.html` writes. */
#ifndef JESCOPE_PAGE_PAGE_H
#define JESCOPE_PAGE_PAGE_H

#include <glib.h>

typedef enum {
    PAGE_DOCUMENT, /* HTML that refers to the other parts as PAGE_SCRIPT_NAME and PAGE_STYLE_NAME */
    PAGE_SCRIPT,
    PAGE_STYLE,
    PAGE_N_PARTS,
} PagePart;

#define PAGE_SCRIPT_NAME "/assets/page.js"
#define PAGE_STYLE_NAME  "/assets/page.css"

/* The bytes of PART, to be unreferenced; NULL if jescope was built without the page. Thread-safe. */
GBytes *page_part(PagePart part);

#endif
