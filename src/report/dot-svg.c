/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph, drawn as SVG. */
#include "report/format.h"
#include "report/layout.h"
#include "report/resources.h"

#include <string.h>

/* The style, after the opening tag of svg, overrides the colours that Graphviz writes as attributes. The script is
 * last: a viewer without scripts shows the same. */
static void
write_styled(Writer *writer, GBytes *svg)
{
    gsize size;
    const char *text = g_bytes_get_data(svg, &size);
    const char *tag = g_strstr_len(text, (gssize)size, "<svg");
    const char *begin = tag ? memchr(tag, '>', size - (gsize)(tag - text)) : NULL;
    const char *end = begin ? g_strrstr_len(text, (gssize)size, "</svg>") : NULL;

    if (!end) {
        writer_data(writer, text, size);
        return;
    }
    begin++;
    writer_data(writer, text, (gsize)(begin - text));
    writer_text(writer, "\n<style><![CDATA[\n");
    report_resource_write(writer, "callgraph.css");
    writer_text(writer, "]]></style>");
    writer_data(writer, begin, (gsize)(end - begin));
    writer_text(writer, "<script><![CDATA[\n");
    report_resource_write(writer, "callgraph.js");
    writer_text(writer, "]]></script>\n");
    writer_data(writer, end, size - (gsize)(end - text));
}

gboolean
dot_svg_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    Writer *dot = writer_new(memory);
    g_autoptr(GBytes) source = NULL;
    g_autoptr(GBytes) svg = NULL;

    dot_write(report, dot, NULL);
    writer_data(dot, "", 1);
    if (!writer_finish(dot, error) || !g_output_stream_close(memory, NULL, error))
        return FALSE;
    source = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
    svg = layout_svg(g_bytes_get_data(source, NULL), error);
    if (!svg)
        return FALSE;
    write_styled(writer, svg);
    return TRUE;
}
