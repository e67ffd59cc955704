/* SPDX-License-Identifier: Apache-2.0 */
/* A page tree, and pages derived from it. */
#include "report/page.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
cut(const PageMaterial *material, const ReportPage *asked)
{
    const PageCut page = {asked, 0, 64};
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    Writer *writer = writer_new(out);

    page_write_cut(material, &page, writer);
    g_assert_true(writer_finish(writer, NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ReportPage pages[] = {
        {.width = 100, .depth = 10, .part = REPORT_PART_WHOLE},
        {.width = 8192, .depth = 4096, .zoom = 1, .part = REPORT_PART_GRAPH},
    };
    g_autoptr(GBytes) bytes = g_bytes_new(data, size);
    g_autoptr(PageMaterial) material = page_material_open(bytes, "a page tree", NULL);

    for (gsize i = 0; material && i < G_N_ELEMENTS(pages); i++)
        cut(material, &pages[i]);
    return 0;
}
