/* SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#ifdef PAGE_IS_BUILT
#include "page-gresource.h"

GBytes *
page_part(PagePart part)
{
    static const char *const paths[PAGE_N_PARTS] = {
        [PAGE_DOCUMENT] = "/jescope/page/index.html",
        [PAGE_SCRIPT] = "/jescope/page/page.js",
        [PAGE_STYLE] = "/jescope/page/page.css",
    };
    return g_resource_lookup_data(page_gresource_get_resource(), paths[part], G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
}
#else
GBytes *
page_part(PagePart part)
{
    return NULL;
}
#endif
