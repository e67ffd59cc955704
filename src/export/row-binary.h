/* SPDX-License-Identifier: Apache-2.0 */
/* Values of ClickHouse's format RowBinary: rows are their columns one after the other, without anything in between. */
#ifndef JESCOPE_EXPORT_ROW_BINARY_H
#define JESCOPE_EXPORT_ROW_BINARY_H

#include <glib.h>

/* UInt8 to UInt64, of BYTES bytes; a Date is a UInt16 of days since 1970. */
void row_binary_unsigned(GString *body, guint64 number, gsize bytes);

void row_binary_float64(GString *body, gdouble number);
void row_binary_float32(GString *body, gdouble number);

/* Any bytes. */
void row_binary_text(GString *body, const char *text);

/* N values of an array follow. */
void row_binary_length(GString *body, gsize n);

#endif
