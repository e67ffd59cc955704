/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Protocol Buffers messages: https://protobuf.dev/programming-guides/encoding/. Each function appends one field;
 * zero values are omitted, as in proto3.
 */
#ifndef JESCOPE_REPORT_PROTO_H
#define JESCOPE_REPORT_PROTO_H

#include <glib.h>

void proto_uint(GByteArray *message, guint field, guint64 value);
void proto_int(GByteArray *message, guint field, gint64 value);
void proto_double(GByteArray *message, guint field, gdouble value);
void proto_fixed(GByteArray *message, guint field,
                 guint64 bits); /* 64 bits, even if zero: fixed64, or the bits of a double */
void proto_string(GByteArray *message, guint field, const char *text);
void proto_bytes(GByteArray *message, guint field, const void *data, gsize size); /* even if empty */
void proto_message(GByteArray *message, guint field, const GByteArray *part);
void proto_packed(GByteArray *message, guint field, const guint64 *values, gsize n); /* nothing when n is 0 */

#endif
