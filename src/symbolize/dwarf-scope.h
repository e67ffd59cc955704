/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces and classes of a unit's entries. Compilers give no linkage name to a function that is inlined
 * everywhere; its full name is then composed of its scopes.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_SCOPE_H
#define JESCOPE_SYMBOLIZE_DWARF_SCOPE_H

#include "symbolize/dwarf-file.h"

typedef struct DwarfScopes DwarfScopes;

/* Walks the unit once; both arguments must outlive the result. */
DwarfScopes *dwarf_scopes_new(const DwarfUnit *unit, const DwarfAbbrevs *abbrevs);
void dwarf_scopes_free(DwarfScopes *scopes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfScopes, dwarf_scopes_free)

/*
 * "a::B::name" for the subprogram at offset of .debug_info; NULL without a scope. Local classes are in their function
 * ("main::Local::name"), lambdas are "main::{lambda}::operator()". Newly allocated.
 */
char *dwarf_scopes_qualify(const DwarfScopes *scopes, guint64 offset, const char *name);

/* The first line of the class (or other scope) around it: lambdas have no other. 0: unknown. */
guint32 dwarf_scopes_line(const DwarfScopes *scopes, guint64 offset);

/* Whether the language composes names like this: C++ and Rust. */
gboolean dwarf_scopes_language(guint16 language);

#endif
