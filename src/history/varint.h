/* SPDX-License-Identifier: Apache-2.0 */
/* Integers encoded with seven bits per byte, the lowest first; the highest bit is set if more bytes follow. */
#ifndef JESCOPE_HISTORY_VARINT_H
#define JESCOPE_HISTORY_VARINT_H

#include <glib.h>

/* The bytes still to read. */
typedef struct {
    const guint8 *at;
    const guint8 *end;
} Varint;

static inline void
varint_append(GByteArray *out, guint64 value)
{
    guint8 bytes[10];
    guint length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (guint8)(value | 0x80);
    bytes[length++] = (guint8)value;
    g_byte_array_append(out, bytes, length);
}

/* FALSE if truncated or longer than 64 bits; *VALUE is then unchanged. */
static inline gboolean
varint_read(Varint *in, guint64 *value)
{
    guint64 read = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        guint8 byte = *in->at++;
        if (shift == 63 && byte > 1)
            return FALSE;
        read |= (guint64)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = read;
            return TRUE;
        }
    }
    return FALSE;
}

/* Maps a signed difference so that small numbers of either sign have short encodings. */
static inline guint64
varint_zigzag(guint64 difference)
{
    return difference << 1 ^ (difference >> 63 != 0 ? G_MAXUINT64 : 0);
}

static inline guint64
varint_unzigzag(guint64 value)
{
    return value >> 1 ^ (value & 1 ? G_MAXUINT64 : 0);
}

#endif
