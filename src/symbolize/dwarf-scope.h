/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which namespace or class the entries of a unit stand. Compilers give a function no linkage name where nobody links
 * to it (one that is inlined everywhere); then its full name has to be put together.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_SCOPE_H
#define JESCOPE_SYMBOLIZE_DWARF_SCOPE_H

#include "symbolize/dwarf-file.h"

typedef struct DwarfScopes DwarfScopes;

/* Walks the unit once; both arguments outlive the result. */
DwarfScopes *dwarf_scopes_new(const DwarfUnit *unit, const DwarfAbbrevs *abbrevs);
void dwarf_scopes_free(DwarfScopes *scopes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfScopes, dwarf_scopes_free)

/* "a::B::name" for the subprogram at offset of .debug_info; NULL where it stands in no scope. Newly allocated. */
char *dwarf_scopes_qualify(const DwarfScopes *scopes, guint64 offset, const char *name);

/* TRUE for the languages that write names so: C++ and Rust. */
gboolean dwarf_scopes_language(guint16 language);

#endif
