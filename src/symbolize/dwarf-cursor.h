/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounds-checked reader of debug information in the host's byte order. A read past the end returns 0, stays at the
 * end and is remembered, so that a decoder checks once where it matters rather than after each read.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_CURSOR_H
#define JESCOPE_SYMBOLIZE_DWARF_CURSOR_H

#include <glib.h>
#include <string.h>

typedef struct {
    const guint8 *at;
    const guint8 *end;
    gboolean overrun;
} DwarfCursor;

static inline guint64
dwarf_cursor_left(const DwarfCursor *cursor)
{
    return (guint64)(cursor->end - cursor->at);
}

static inline void
dwarf_cursor_skip(DwarfCursor *cursor, guint64 n)
{
    if (n > dwarf_cursor_left(cursor)) {
        cursor->overrun = TRUE;
        cursor->at = cursor->end;
    } else {
        cursor->at += n;
    }
}

/* An unsigned number of size bytes, 1 to 8 (3: DW_FORM_strx3, addrx3). */
static inline guint64
dwarf_cursor_fixed(DwarfCursor *cursor, guint size)
{
    guint64 value = 0;
    if (size > dwarf_cursor_left(cursor)) {
        cursor->overrun = TRUE;
        cursor->at = cursor->end;
        return 0;
    }
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
    memcpy(&value, cursor->at, size);
#else
    memcpy((guint8 *)&value + (sizeof(value) - size), cursor->at, size);
#endif
    cursor->at += size;
    return value;
}

static inline guint64
dwarf_cursor_uleb(DwarfCursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; cursor->at < cursor->end; shift += 7) {
        guint8 byte = *cursor->at++;
        if (shift < 64)
            value |= (guint64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->overrun = TRUE;
    return 0;
}

static inline gint64
dwarf_cursor_sleb(DwarfCursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; cursor->at < cursor->end;) {
        guint8 byte = *cursor->at++;
        if (shift < 64)
            value |= (guint64)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return (gint64)((byte & 0x40) != 0 && shift < 64 ? value | G_MAXUINT64 << shift : value);
    }
    cursor->overrun = TRUE;
    return 0;
}

/* A terminated string; NULL if the terminator is missing. */
static inline const char *
dwarf_cursor_string(DwarfCursor *cursor)
{
    const guint8 *start = cursor->at;
    const guint8 *nul = start != cursor->end ? memchr(start, '\0', dwarf_cursor_left(cursor)) : NULL;
    if (nul == NULL) {
        cursor->overrun = TRUE;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at = nul + 1;
    return (const char *)start;
}

/* The length that begins a unit; sets *offset_size to 4 or 8 according to its format (DWARF 5, 7.4). */
static inline guint64
dwarf_cursor_unit_length(DwarfCursor *cursor, guint8 *offset_size)
{
    guint64 length = dwarf_cursor_fixed(cursor, 4);
    *offset_size = length == 0xffffffff ? 8 : 4;
    return *offset_size == 8 ? dwarf_cursor_fixed(cursor, 8) : length;
}

#endif
