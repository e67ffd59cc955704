/* SPDX-License-Identifier: Apache-2.0 */
/* The debug information of one file: its sections and units. Thread-safe once dwarf_file_open() has returned. */
#ifndef JESCOPE_SYMBOLIZE_DWARF_FILE_H
#define JESCOPE_SYMBOLIZE_DWARF_FILE_H

#include "symbolize/dwarf-attribute.h"

/* Reads sections and unit headers; NULL if image has no usable .debug_info. suffix: "" or ".dwo". Takes a reference. If
 * image is another user's, the thread's time counts from here on (patience_join()). */
DwarfFile *dwarf_file_open(Image *image, const char *suffix);

/* The same for given sections, such as one unit's part of a .dwp. */
DwarfFile *dwarf_file_from_sections(Image *image, const ImageSection sections[DWARF_N_SECTIONS]);

void dwarf_file_free(DwarfFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfFile, dwarf_file_free)

/* The unit that contains offset, or NULL. */
const DwarfUnit *dwarf_file_unit(const DwarfFile *file, guint64 offset);

/* The code range of the whole unit; FALSE: its root entry has none. */
gboolean dwarf_unit_place(const DwarfUnit *unit, DwarfPlace *place);

#endif
