/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounds-checked reader of debug information in the host's byte order. A read past the end returns 0, stays at the
 * end and is remembered, so that a decoder checks once where it matters rather than after each read.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_CURSOR_H
#define JESCOPE_SYMBOLIZE_DWARF_CURSOR_H

#include "symbolize/patience.h"

#include <string.h>

/*
 * Bytes of a number in LEB128 [7.6]; a longer one counts as an overrun. 64 bits need 10. Assemblers and linkers pad a
 * number that they fill in later (LLVM that of DW_OP_convert to 4 bytes, linkers for RISC-V to its size before
 * relaxation), which never makes it longer than that.
 */
#define DWARF_LONGEST_NUMBER 16

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
dwarf_cursor_overrun(DwarfCursor *cursor)
{
    cursor->overrun = TRUE;
    cursor->at = cursor->end;
}

static inline void
dwarf_cursor_skip(DwarfCursor *cursor, guint64 n)
{
    if (n > dwarf_cursor_left(cursor))
        dwarf_cursor_overrun(cursor);
    else
        cursor->at += n;
}

/* An unsigned number of size bytes, 1 to 8 (3: DW_FORM_strx3, addrx3). */
static inline guint64
dwarf_cursor_fixed(DwarfCursor *cursor, guint size)
{
    guint64 value = 0;
    if (size > dwarf_cursor_left(cursor)) {
        dwarf_cursor_overrun(cursor);
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
    for (guint shift = 0; cursor->at < cursor->end && shift < 7 * DWARF_LONGEST_NUMBER; shift += 7) {
        guint8 byte = *cursor->at++;
        if (shift < 64)
            value |= (guint64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    dwarf_cursor_overrun(cursor);
    return 0;
}

static inline gint64
dwarf_cursor_sleb(DwarfCursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; cursor->at < cursor->end && shift < 7 * DWARF_LONGEST_NUMBER;) {
        guint8 byte = *cursor->at++;
        if (shift < 64)
            value |= (guint64)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return (gint64)((byte & 0x40) != 0 && shift < 64 ? value | G_MAXUINT64 << shift : value);
    }
    dwarf_cursor_overrun(cursor);
    return 0;
}

/* A terminated string; NULL if the terminator is missing. Its bytes count as work, as a string may be as long as its
 * section. */
static inline const char *
dwarf_cursor_string(DwarfCursor *cursor)
{
    const guint8 *start = cursor->at;
    const guint8 *nul = start != cursor->end ? memchr(start, '\0', dwarf_cursor_left(cursor)) : NULL;
    patience_spend((guint64)((nul != NULL ? nul : cursor->end) - start) >> 4);
    if (nul == NULL) {
        dwarf_cursor_overrun(cursor);
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
