/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the bytes of one entry of .eh_frame: the encodings of numbers (DWARF 5 section 7.6) and of pointers (Linux
 * Standard Base, "DWARF extensions"). Reading beyond the entry, or an unknown encoding, sets BAD and returns 0.
 */
#ifndef JESCOPE_TARGET_CFI_CURSOR_H
#define JESCOPE_TARGET_CFI_CURSOR_H

#include <glib.h>

/* Pointer encodings: the Linux Standard Base, "DWARF extensions". */
enum {
    DW_EH_PE_absptr = 0x00,
    DW_EH_PE_udata2 = 0x02,
    DW_EH_PE_udata4 = 0x03,
    DW_EH_PE_udata8 = 0x04,
    DW_EH_PE_sdata2 = 0x0a,
    DW_EH_PE_sdata4 = 0x0b,
    DW_EH_PE_sdata8 = 0x0c,
    DW_EH_PE_pcrel = 0x10,
    DW_EH_PE_datarel = 0x30,
    DW_EH_PE_indirect = 0x80,
};

enum {
    CFI_ENTRY_MAX = 16 * 1024, /* bytes of a CIE or FDE */
    CFI_WORK_MAX = 64 * 1024,  /* instructions and operations for all frames of a stack; compilers need about 30 each */
};

/* A CIE or FDE, without its length. */
typedef struct {
    guint8 bytes[CFI_ENTRY_MAX];
    gsize length;
    guint64 address; /* of bytes[0] */
} CfiEntry;

/* The unread part of an entry. */
typedef struct {
    const CfiEntry *entry;
    guint *work; /* instructions and operations that are left for the stack */
    gsize at;
    gsize end;
    gboolean bad;
} CfiCursor;

/* Reads an unsigned number of SIZE bytes, at most 8. */
guint64 cfi_take_fixed(CfiCursor *cursor, gsize size);

/* Reads the code of an instruction or operation, each of which may read the program's memory while it is stopped. Sets
 * BAD if no work is left. */
guint8 cfi_take_opcode(CfiCursor *cursor);

/* Read a number in LEB128. */
guint64 cfi_take_unsigned(CfiCursor *cursor);
gint64 cfi_take_signed(CfiCursor *cursor);

/* Reads a pointer in one of the encodings that compilers use for code in .eh_frame. */
guint64 cfi_take_pointer(CfiCursor *cursor, guint8 encoding);

/* VALUE of SIZE bytes, sign-extended. */
gint64 cfi_sign_extend(guint64 value, gsize size);

#endif
