/* SPDX-License-Identifier: Apache-2.0 */
#include "report/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WRITER_BUFFER = 64 * 1024 };

struct Writer {
    GOutputStream *out;
    GOutputStream *compressed; /* wraps out, or NULL */
    GString *buffer;
    GError *error;
    gboolean color;
    Style style; /* the current style */
};

Writer *
writer_new(GOutputStream *out)
{
    Writer *writer = g_new0(Writer, 1);

    writer->out = out;
    writer->buffer = g_string_sized_new(WRITER_BUFFER + 1024);
    return writer;
}

void
writer_compress(Writer *writer)
{
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);

    writer->compressed = g_converter_output_stream_new(writer->out, G_CONVERTER(gzip));
    g_filter_output_stream_set_close_base_stream(G_FILTER_OUTPUT_STREAM(writer->compressed), FALSE);
}

static void
writer_flush(Writer *writer)
{
    GOutputStream *out = writer->compressed ? writer->compressed : writer->out;

    if (!writer->error)
        g_output_stream_write_all(out, writer->buffer->str, writer->buffer->len, NULL, NULL, &writer->error);
    g_string_truncate(writer->buffer, 0);
}

static void
writer_flush_if_full(Writer *writer)
{
    if (writer->buffer->len >= WRITER_BUFFER)
        writer_flush(writer);
}

void
writer_data(Writer *writer, const void *data, gsize size)
{
    GString *buffer = writer->buffer;

    /* Most writes are a few bytes long: copying them is cheaper than a call for each. */
    if (buffer->len + size < buffer->allocated_len) {
        memcpy(buffer->str + buffer->len, data, size);
        buffer->len += size;
        buffer->str[buffer->len] = '\0';
    } else {
        g_string_append_len(buffer, data, (gssize)size);
    }
    writer_flush_if_full(writer);
}

void
writer_color(Writer *writer)
{
    writer->color = TRUE;
}

void
writer_style(Writer *writer, Style style)
{
    if (writer->color && style != writer->style)
        writer_text(writer, text_style(style));
    writer->style = style;
}

void
writer_text(Writer *writer, const char *text)
{
    writer_data(writer, text, strlen(text));
}

void
writer_format(Writer *writer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_string_append_vprintf(writer->buffer, format, arguments);
    va_end(arguments);
    writer_flush_if_full(writer);
}

/* Reports of many stacks are mostly numbers, for which printf() is slow. */
void
writer_integer(Writer *writer, gint64 value)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    guint64 rest = value < 0 ? -(guint64)value : (guint64)value;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--at = '-';
    writer_data(writer, at, (gsize)(digits + sizeof(digits) - at));
}

void
writer_number(Writer *writer, gdouble value, guint decimals)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE + 320];
    char format[] = "%.0f";

    format[2] = (char)('0' + MIN(decimals, 9));
    writer_text(writer, g_ascii_formatd(text, sizeof(text), format, value));
}

void
writer_amount(Writer *writer, gdouble amount)
{
    char real[G_ASCII_DTOSTR_BUF_SIZE];

    if (fabs(amount) < 9e15)
        writer_integer(writer, llround(amount));
    else
        writer_text(writer, g_ascii_dtostr(real, sizeof(real), amount));
}

void
writer_xml(Writer *writer, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            writer_text(writer, "&amp;");
            break;
        case '<':
            writer_text(writer, "&lt;");
            break;
        case '>':
            writer_text(writer, "&gt;");
            break;
        case '"':
            writer_text(writer, "&quot;");
            break;
        default:
            g_string_append_c(writer->buffer, *text);
        }
    }
    writer_flush_if_full(writer);
}

void
writer_json(Writer *writer, const char *text)
{
    g_string_append_c(writer->buffer, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c(writer->buffer, '\\');
        if ((guchar)*text < 0x20)
            g_string_append_printf(writer->buffer, "\\u%04x", (guint)(guchar)*text);
        else
            g_string_append_c(writer->buffer, *text);
    }
    g_string_append_c(writer->buffer, '"');
    writer_flush_if_full(writer);
}

gboolean
writer_finish(Writer *writer, GError **error)
{
    gboolean ok;

    writer_flush(writer);
    if (writer->compressed)
        g_output_stream_close(writer->compressed, NULL, writer->error ? NULL : &writer->error);
    g_clear_object(&writer->compressed);
    ok = writer->error == NULL;
    if (!ok)
        g_propagate_error(error, g_steal_pointer(&writer->error));
    g_string_free(writer->buffer, TRUE);
    g_free(writer);
    return ok;
}
