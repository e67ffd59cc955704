/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line programs of DWARF 2 to 5 [chapter 6.2]. A program is run once for all addresses of a unit: each row that covers
 * an address answers it, and no table is kept.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_LINE_H
#define JESCOPE_SYMBOLIZE_DWARF_LINE_H

#include "symbolize/dwarf-file.h"

typedef struct DwarfLines DwarfLines;

/* Reads the header and file table of unit's program; NULL if there is none or it is damaged. */
DwarfLines *dwarf_lines_new(const DwarfUnit *unit);
void dwarf_lines_free(DwarfLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfLines, dwarf_lines_free)

typedef struct {
    guint32 file; /* for dwarf_lines_path() */
    guint32 line;
    gboolean found;
} DwarfRow;

/*
 * Runs the program and fills rows[i] for addresses[i], which are ascending. Sequences that begin below lowest are
 * remains of functions that the linker discarded: skipped.
 */
void dwarf_lines_run(const DwarfLines *lines, const guint64 *addresses, gsize n, guint64 lowest, DwarfRow *rows);

/* The path of a file by its number in the unit (absolute if the unit's directory is known), newly allocated, or
 * NULL. */
char *dwarf_lines_path(const DwarfLines *lines, guint64 file);

#endif
