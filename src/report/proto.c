/* SPDX-License-Identifier: Apache-2.0 */
#include "report/proto.h"

#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_64_BITS = 1,
    WIRE_LENGTH_DELIMITED = 2,
    VARINT_MAX = 10,
};

static guint
encode_varint(guint8 bytes[VARINT_MAX], guint64 value)
{
    guint n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (guint8)(value | 0x80);
    bytes[n++] = (guint8)value;
    return n;
}

static void
append_varint(GByteArray *message, guint64 value)
{
    guint8 bytes[VARINT_MAX];

    g_byte_array_append(message, bytes, encode_varint(bytes, value));
}

static void
append_tag(GByteArray *message, guint field, guint type)
{
    append_varint(message, (guint64)field << 3 | type);
}

void
proto_uint(GByteArray *message, guint field, guint64 value)
{
    if (value == 0)
        return;
    append_tag(message, field, WIRE_VARINT);
    append_varint(message, value);
}

void
proto_int(GByteArray *message, guint field, gint64 value)
{
    proto_uint(message, field, (guint64)value);
}

void
proto_fixed(GByteArray *message, guint field, guint64 bits)
{
    bits = GUINT64_TO_LE(bits);
    append_tag(message, field, WIRE_64_BITS);
    g_byte_array_append(message, (const guint8 *)&bits, sizeof(bits));
}

void
proto_double(GByteArray *message, guint field, gdouble value)
{
    guint64 bits;

    memcpy(&bits, &value, sizeof(bits));
    if (bits != 0)
        proto_fixed(message, field, bits);
}

void
proto_bytes(GByteArray *message, guint field, const void *data, gsize size)
{
    append_tag(message, field, WIRE_LENGTH_DELIMITED);
    append_varint(message, size);
    g_byte_array_append(message, data, (guint)size);
}

void
proto_string(GByteArray *message, guint field, const char *text)
{
    proto_bytes(message, field, text, strlen(text));
}

void
proto_message(GByteArray *message, guint field, const GByteArray *part)
{
    proto_bytes(message, field, part->data, part->len);
}

void
proto_packed(GByteArray *message, guint field, const guint64 *values, gsize n)
{
    guint8 bytes[VARINT_MAX];
    guint64 size = 0;

    if (n == 0)
        return;
    for (gsize i = 0; i < n; i++)
        size += encode_varint(bytes, values[i]);
    append_tag(message, field, WIRE_LENGTH_DELIMITED);
    append_varint(message, size);
    for (gsize i = 0; i < n; i++)
        append_varint(message, values[i]);
}
