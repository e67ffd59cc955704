/* SPDX-License-Identifier: Apache-2.0 */
/* Files from which pages are extracted: docs/formats.md, "Page trees". */
#include "report/page-file.h"

#include "report/page.h"

gboolean
page_file_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(PageMaterial) material = NULL;

    if (report->options->page.function) {
        g_set_error_literal(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                            "the format 'page-tree' has no callers and callees of a function; use --format=page");
        return FALSE;
    }
    material = page_material_new(report, PAGE_MATERIAL_ALL);
    page_material_write(material, writer);
    return TRUE;
}

gboolean
page_file_is_in(int fd)
{
    return page_material_is_in(fd);
}

gboolean
page_file_cut(int fd, const char *name, const ReportOptions *options, GOutputStream *out, GError **error)
{
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, error);
    g_autoptr(GBytes) bytes = mapped ? g_mapped_file_get_bytes(mapped) : NULL;
    g_autoptr(PageMaterial) material = bytes ? page_material_open(bytes, name, error) : NULL;
    const PageCut cut = {&options->page, options->limit, PAGE_ROWS_MAX};
    Writer *writer;

    if (!material)
        return FALSE;
    if (options->page.function) {
        g_set_error(error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
                    "%s: a page tree has no callers and callees of a function; use the dump", name);
        return FALSE;
    }
    writer = writer_new(out);
    page_write_cut(material, &cut, writer);
    return writer_finish(writer, error);
}
