/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cfi-cursor.h"

#include <string.h>

guint64
cfi_take_fixed(CfiCursor *cursor, gsize size)
{
    guint64 value = 0;
    if (cursor->bad || size > cursor->end - cursor->at) {
        cursor->bad = TRUE;
        return 0;
    }
    memcpy(&value, cursor->entry->bytes + cursor->at, size);
    cursor->at += size;
    return value;
}

guint8
cfi_take_opcode(CfiCursor *cursor)
{
    if (*cursor->work == 0) {
        cursor->bad = TRUE;
        return 0;
    }
    --*cursor->work;
    return (guint8)cfi_take_fixed(cursor, 1);
}

guint64
cfi_take_unsigned(CfiCursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; shift < 64 && !cursor->bad; shift += 7) {
        guint64 byte = cfi_take_fixed(cursor, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    cursor->bad = TRUE;
    return 0;
}

gint64
cfi_take_signed(CfiCursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; shift < 64 && !cursor->bad; shift += 7) {
        guint64 byte = cfi_take_fixed(cursor, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) != 0)
            continue;
        if ((byte & 0x40) != 0 && shift + 7 < 64)
            value |= ~G_GUINT64_CONSTANT(0) << (shift + 7);
        return (gint64)value;
    }
    cursor->bad = TRUE;
    return 0;
}

gint64
cfi_sign_extend(guint64 value, gsize size)
{
    guint shift = 64 - 8 * (guint)size;
    return (gint64)(value << shift) >> shift;
}

guint64
cfi_take_pointer(CfiCursor *cursor, guint8 encoding)
{
    static const struct {
        guint8 size;
        gboolean is_signed;
    } formats[] = {
        [DW_EH_PE_absptr] = {8, FALSE}, [DW_EH_PE_udata2] = {2, FALSE}, [DW_EH_PE_udata4] = {4, FALSE},
        [DW_EH_PE_udata8] = {8, FALSE}, [DW_EH_PE_sdata2] = {2, TRUE},  [DW_EH_PE_sdata4] = {4, TRUE},
        [DW_EH_PE_sdata8] = {8, TRUE},
    };
    guint8 format = encoding & 0x0f;
    guint64 here = cursor->entry->address + cursor->at;
    if (format >= G_N_ELEMENTS(formats) || formats[format].size == 0) {
        cursor->bad = TRUE;
        return 0;
    }
    guint64 value = cfi_take_fixed(cursor, formats[format].size);
    if (formats[format].is_signed)
        value = (guint64)cfi_sign_extend(value, formats[format].size);
    switch (encoding & 0x70) {
    case 0:
        return value;
    case DW_EH_PE_pcrel:
        return value + here;
    default:
        cursor->bad = TRUE;
        return 0;
    }
}
