/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values in ClickHouse's format RowBinary, in which a row is its columns without separators. */
#ifndef JESCOPE_EXPORT_ROW_BINARY_H
#define JESCOPE_EXPORT_ROW_BINARY_H

#include <glib.h>

/* Writes a UInt8 to UInt64 of BYTES bytes. A Date is a UInt16: days since 1970. */
void row_binary_unsigned(GString *body, guint64 number, gsize bytes);

void row_binary_float64(GString *body, gdouble number);
void row_binary_float32(GString *body, gdouble number);

/* TEXT may contain any bytes except NUL. */
void row_binary_text(GString *body, const char *text);

/* Starts an array, whose N values must follow. */
void row_binary_length(GString *body, gsize n);

#endif
