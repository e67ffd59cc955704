/* SPDX-License-Identifier: Apache-2.0 */
#include "export/row-binary.h"

#include <string.h>

enum { VARINT_BITS = 7 };

void
row_binary_unsigned(GString *body, guint64 number, gsize bytes)
{
    guint64 little = GUINT64_TO_LE(number);
    g_string_append_len(body, (const char *)&little, (gssize)bytes);
}

void
row_binary_float64(GString *body, gdouble number)
{
    guint64 bits;
    memcpy(&bits, &number, sizeof(bits));
    row_binary_unsigned(body, bits, sizeof(bits));
}

void
row_binary_float32(GString *body, gdouble number)
{
    const float single = (float)number;
    guint32 bits;
    memcpy(&bits, &single, sizeof(bits));
    row_binary_unsigned(body, bits, sizeof(bits));
}

void
row_binary_length(GString *body, gsize n)
{
    const gsize more = (gsize)1 << VARINT_BITS;
    for (; n >= more; n >>= VARINT_BITS)
        g_string_append_c(body, (char)(n % more | more));
    g_string_append_c(body, (char)n);
}

void
row_binary_text(GString *body, const char *text)
{
    gsize length = strlen(text);
    row_binary_length(body, length);
    g_string_append_len(body, text, (gssize)length);
}
