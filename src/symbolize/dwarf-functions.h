/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers all addresses in one unit with one pass over its entries and one run of its line program.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_FUNCTIONS_H
#define JESCOPE_SYMBOLIZE_DWARF_FUNCTIONS_H

#include "symbolize/dwarf-file.h"
#include "symbolize/object.h"

typedef struct {
    const DwarfUnit *unit;  /* with the entries: for split debug information, the split unit */
    const DwarfUnit *lines; /* with the line program: for split debug information its skeleton, else the same unit */
    ObjectAsked **asked;    /* ascending by address */
    guint n_asked;
    guint64 lowest; /* the lowest address of code: lower ones were discarded by the linker */
    Names *names;
} DwarfQuestion;

/* Fills symbol, file, line and unnamed_start of each address that the unit covers; leaves the others unchanged. */
void dwarf_functions_answer(const DwarfQuestion *question);

#endif
