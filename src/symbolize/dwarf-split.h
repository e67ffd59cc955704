/* SPDX-License-Identifier: Apache-2.0 */
/* Split debug information: the entries of a unit in a .dwo file of its own, or in a .dwp package of many. */
#ifndef JESCOPE_SYMBOLIZE_DWARF_SPLIT_H
#define JESCOPE_SYMBOLIZE_DWARF_SPLIT_H

#include "symbolize/dwarf-file.h"
#include "symbolize/symbolize.h"

typedef struct DwarfPackage DwarfPackage;

/* Opens a .dwp; NULL if path is not a valid one. Look-ups are thread-safe. */
DwarfPackage *dwarf_package_open(TargetFiles *files, const char *path);
void dwarf_package_free(DwarfPackage *package);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfPackage, dwarf_package_free)

/*
 * The file whose relevant unit, *unit, completes skeleton; checked by its id. NULL if it is not found. Searches package
 * (may be NULL), the name in the skeleton, the program's directory and each --debug-path.
 */
DwarfFile *dwarf_split_open(const DwarfUnit *skeleton, const DwarfPackage *package, const SymbolizeOptions *options,
                            const DwarfUnit **unit);

#endif
