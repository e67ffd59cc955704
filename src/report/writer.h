/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered output for report formats. The first error sticks: later writes do nothing and writer_finish() reports it,
 * so a format need not check each write. Ignores the locale.
 */
#ifndef JESCOPE_REPORT_WRITER_H
#define JESCOPE_REPORT_WRITER_H

#include "text/style.h"

#include <gio/gio.h>

typedef struct Writer Writer;

Writer *writer_new(GOutputStream *out); /* borrows out */
void writer_compress(Writer *writer);   /* compresses with gzip from here on; only before the first write */
void writer_color(Writer *writer);      /* enables writer_style() */
void writer_style(Writer *writer,
                  Style style); /* sets the style of the following text; STYLE_PLAIN is needed between two others */
void writer_data(Writer *writer, const void *data, gsize size);
void writer_text(Writer *writer, const char *text);
void writer_format(Writer *writer, const char *format, ...) G_GNUC_PRINTF(2, 3); /* no %f: see writer_number() */
void writer_integer(Writer *writer, gint64 value);
void writer_number(Writer *writer, gdouble value, guint decimals); /* "12.50"; decimals at most 9 */
void writer_amount(Writer *writer, gdouble amount);     /* an estimate, as an integer up to 2^53 for readability */
void writer_xml(Writer *writer, const char *text);      /* escaped for element content and attributes */
void writer_json(Writer *writer, const char *text);     /* a quoted JSON string; text must be UTF-8 */
gboolean writer_finish(Writer *writer, GError **error); /* writes the buffered data and frees writer */

#endif
