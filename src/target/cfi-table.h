/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind table of a function in the memory of a program: its FDE in .eh_frame, found through .eh_frame_hdr, and the
 * FDE's CIE (Linux Standard Base, DWARF 5 section 6.4.1).
 */
#ifndef JESCOPE_TARGET_CFI_TABLE_H
#define JESCOPE_TARGET_CFI_TABLE_H

#include "target/address-space.h"
#include "target/cfi-cursor.h"

/* Reads all of N bytes at ADDRESS or returns FALSE. */
typedef gboolean (*CfiRead)(gpointer data, guint64 address, void *bytes, gsize n);

typedef struct {
    const AddressSpace *space;
    CfiRead read;
    gpointer data;
} CfiMemory;

/* A CIE and its FDE. */
typedef struct {
    CfiEntry cie;
    CfiEntry fde;
    guint64 code_factor;
    gint64 data_factor;
    guint64 return_register; /* below REGISTERS_DWARF */
    guint8 encoding;         /* of pointers */
    gboolean augmented;
    gboolean signal_frame;
    guint64 start;     /* of the function */
    gsize cie_program; /* offset of the first instruction */
    gsize fde_program;
} CfiTable;

/* Reads the table of the function that contains PC. FALSE if it has none, or one that is not supported. */
gboolean cfi_table_find(const CfiMemory *memory, guint64 pc, CfiTable *table);

#endif
