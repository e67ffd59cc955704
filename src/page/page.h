/* SPDX-License-Identifier: Apache-2.0 */
/* The page for browsers, as web/ is built: what `jescope serve` serves and what `report -o FILE.html` writes. */
#ifndef JESCOPE_PAGE_PAGE_H
#define JESCOPE_PAGE_PAGE_H

#include <glib.h>

typedef enum {
    PAGE_DOCUMENT, /* HTML that names the other two as PAGE_SCRIPT_NAME and PAGE_STYLE_NAME */
    PAGE_SCRIPT,
    PAGE_STYLE,
    PAGE_N_PARTS,
} PagePart;

#define PAGE_SCRIPT_NAME "/assets/page.js"
#define PAGE_STYLE_NAME  "/assets/page.css"

/* The bytes of PART, to be released; NULL: jescope was built without the page. Thread-safe. */
GBytes *page_part(PagePart part);

#endif
