/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `jescope serve` for one profile, as one file: it contains script, style and data, and loads nothing. Its
 * Content-Security-Policy lists the digests of the script and the style, so that nothing else can run.
 */
#include "report/format.h"
#include "report/page.h"

#include "page/page.h"

#include <string.h>

enum {
    HTML_ROWS_MAX = 20000, /* of the graph: the file has at most about a megabyte */
    DIGEST_SIZE = 32,
};

#define SCRIPT_TAG "<script src=\"" PAGE_SCRIPT_NAME "\" defer></script>"
#define STYLE_TAG  "<link rel=\"stylesheet\" href=\"" PAGE_STYLE_NAME "\">"
#define BODY_END   "</body>"

static char *
text_of_part(PagePart part)
{
    g_autoptr(GBytes) bytes = page_part(part);
    gsize size;
    const char *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;

    return data ? g_strndup(data, size) : NULL;
}

/* The source expression of CSP for TEXT. */
static char *
digest_of(const char *text)
{
    guint8 digest[DIGEST_SIZE];
    gsize size = sizeof(digest);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *base64 = NULL;

    g_checksum_update(sum, (const guchar *)text, -1);
    g_checksum_get_digest(sum, digest, &size);
    base64 = g_base64_encode(digest, size);
    return g_strdup_printf("'sha256-%s'", base64);
}

static GBytes *
make_data(const Report *report, GError **error)
{
    GBytes *data = NULL;
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    ReportOptions options = *report->options;
    const Report whole = {.view = report->view, .options = &options};
    Writer *writer = writer_new(out);

    options.page.width = REPORT_WIDTH_MAX;
    options.page.part = REPORT_PART_WHOLE;
    page_write_rows(&whole, HTML_ROWS_MAX, writer);
    if (writer_finish(writer, error) && g_output_stream_close(out, NULL, error))
        data = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
    return data;
}

/* JSON, in which '<' is escaped so that no name ends the element. */
static void
write_data(Writer *writer, GBytes *json)
{
    gsize size;
    const char *at = g_bytes_get_data(json, &size), *const end = at + size, *mark;

    for (; (mark = memchr(at, '<', (gsize)(end - at))) != NULL; at = mark + 1) {
        writer_data(writer, at, (gsize)(mark - at));
        writer_text(writer, "\\u003c");
    }
    writer_data(writer, at, (gsize)(end - at));
}

static void
write_head(Writer *writer, const char *script, const char *style)
{
    g_autofree char *of_script = digest_of(script);
    g_autofree char *of_style = digest_of(style);

    writer_format(writer,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; style-src "
                  "%s; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'\">\n<style>",
                  of_script, of_style);
    writer_text(writer, style);
    writer_text(writer, "</style>");
}

/* DOCUMENT with the tags of script and style replaced, and the data appended. */
static gboolean
write_document(const char *document, const char *parts[PAGE_N_PARTS], GBytes *data, Writer *writer)
{
    const char *style_tag = strstr(document, STYLE_TAG);
    const char *script_tag = style_tag ? strstr(style_tag, SCRIPT_TAG) : NULL;
    const char *body_end = script_tag ? strstr(script_tag, BODY_END) : NULL;
    const char *between = style_tag ? style_tag + strlen(STYLE_TAG) : NULL;
    const char *body = script_tag ? script_tag + strlen(SCRIPT_TAG) : NULL;

    if (!body_end)
        return FALSE;
    writer_data(writer, document, (gsize)(style_tag - document));
    write_head(writer, parts[PAGE_SCRIPT], parts[PAGE_STYLE]);
    writer_data(writer, between, (gsize)(script_tag - between));
    writer_data(writer, body, (gsize)(body_end - body));
    writer_text(writer, "<script type=\"application/json\" id=\"data\">");
    write_data(writer, data);
    writer_text(writer, "</script>\n<script>");
    writer_text(writer, parts[PAGE_SCRIPT]);
    writer_text(writer, "</script>\n");
    writer_text(writer, body_end);
    return TRUE;
}

gboolean
html_write(const Report *report, Writer *writer, GError **error)
{
    g_autofree char *document = text_of_part(PAGE_DOCUMENT);
    g_autofree char *script = text_of_part(PAGE_SCRIPT);
    g_autofree char *style = text_of_part(PAGE_STYLE);
    const char *parts[PAGE_N_PARTS] = {[PAGE_SCRIPT] = script, [PAGE_STYLE] = style};
    g_autoptr(GBytes) data = NULL;

    if (!document) {
        g_set_error_literal(
            error, REPORT_ERROR, REPORT_ERROR_UNSUPPORTED,
            "jescope was built without esbuild and so without its page; write a flame graph, FILE.svg, instead");
        return FALSE;
    }
    data = make_data(report, error);
    if (!data)
        return FALSE;
    g_assert(!strstr(script, "</script") && !strstr(style, "</style"));
    if (!write_document(document, parts, data, writer))
        g_assert_not_reached();
    return TRUE;
}
