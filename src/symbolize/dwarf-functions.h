/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers all addresses in one unit with one walk over its entries and one run of its line program.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_FUNCTIONS_H
#define JESCOPE_SYMBOLIZE_DWARF_FUNCTIONS_H

#include "symbolize/dwarf-file.h"
#include "symbolize/object.h"

typedef struct {
    const DwarfUnit *unit;  /* with the entries: of split debug information, the split unit */
    const DwarfUnit *lines; /* with the line program: then its skeleton, else the same */
    ObjectAsked **asked;    /* ascending by address */
    guint n_asked;
    guint64 lowest; /* the lowest address of code: lower ones were discarded by the linker */
    Names *names;
} DwarfQuestion;

/* Fills symbol, file, line and unnamed_start of each that the unit knows; leaves the others alone. */
void dwarf_functions_answer(const DwarfQuestion *question);

#endif
