/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-scope.h"

#include "symbolize/demangle.h"
#include "symbolize/patience.h"

#include <dwarf.h>
#include <string.h>

#define NO_SCOPE    G_MAXUINT32
#define MAX_DEPTH   256 /* of composed names */
#define MAX_ORIGINS 16

typedef struct {
    guint64 offset;
    guint32 parent; /* another Scope, or NO_SCOPE */
    guint16 tag;
} Scope;

typedef struct {
    guint64 offset;
    guint32 scope;
} Member;

struct DwarfScopes {
    const DwarfUnit *unit;
    const DwarfAbbrevs *abbrevs;
    GArray *scopes;  /* Scope */
    GArray *members; /* Member, by offset: each subprogram */
};

static gboolean
is_scope(guint16 tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: /* Rust */
        return TRUE;
    default:
        return FALSE;
    }
}

/* The scope of an entry's children; a block does not change it. */
static guint32
scope_of_children(DwarfScopes *scopes, guint16 tag, guint64 offset, guint32 around)
{
    const Scope scope = {offset, around, tag};

    if (!is_scope(tag) && tag != DW_TAG_subprogram)
        return around;
    return patience_append(scopes->scopes, &scope) ? scopes->scopes->len - 1 : around;
}

/* A function declared inside another one is not part of it; the classes there are. */
static gboolean
is_member(const DwarfScopes *scopes, guint16 tag, guint32 scope)
{
    return tag == DW_TAG_subprogram && scope != NO_SCOPE &&
           g_array_index(scopes->scopes, Scope, scope).tag != DW_TAG_subprogram;
}

static void
walk(DwarfScopes *scopes)
{
    const DwarfUnit *unit = scopes->unit;
    const guint8 *data = unit->file->sections[DWARF_INFO].data;
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, unit->root);
    cursor.end = data + unit->end;
    g_autoptr(GArray) around = g_array_new(FALSE, FALSE, sizeof(guint32)); /* a stack of the enclosing scopes */
    guint32 current = NO_SCOPE;
    while (cursor.at < cursor.end && patience_spend(8)) {
        guint64 offset = (guint64)(cursor.at - data);
        guint64 code = dwarf_cursor_uleb(&cursor);
        if (code == 0) {
            if (around->len > 0) {
                current = g_array_index(around, guint32, around->len - 1);
                g_array_set_size(around, around->len - 1);
            }
            continue;
        }
        const DwarfAbbrev *abbrev = dwarf_abbrevs_find(scopes->abbrevs, code);
        if (abbrev == NULL || !dwarf_entry_skip(&cursor, unit, scopes->abbrevs, abbrev))
            return;
        if (is_member(scopes, abbrev->tag, current)) {
            const Member member = {offset, current};
            if (!patience_append(scopes->members, &member))
                return;
        }
        if (abbrev->has_children) {
            if (!patience_append(around, &current))
                return;
            current = scope_of_children(scopes, abbrev->tag, offset, current);
        }
    }
}

DwarfScopes *
dwarf_scopes_new(const DwarfUnit *unit, const DwarfAbbrevs *abbrevs)
{
    DwarfScopes *scopes = g_new0(DwarfScopes, 1);
    scopes->unit = unit;
    scopes->abbrevs = abbrevs;
    scopes->scopes = g_array_new(FALSE, FALSE, sizeof(Scope));
    scopes->members = g_array_new(FALSE, FALSE, sizeof(Member));
    walk(scopes);
    return scopes;
}

void
dwarf_scopes_free(DwarfScopes *scopes)
{
    g_array_unref(scopes->scopes);
    g_array_unref(scopes->members);
    g_free(scopes);
}

/* The names of a scope; at least one is NULL. */
typedef struct {
    const char *name, *linkage;
    DwarfAttribute origin; /* of a function that is declared elsewhere; name 0: none */
    guint32 line;
} ScopeName;

static ScopeName
read_name(const DwarfScopes *scopes, guint64 offset)
{
    const DwarfUnit *unit = scopes->unit;
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, offset);
    const DwarfAbbrev *abbrev = dwarf_abbrevs_find(scopes->abbrevs, dwarf_cursor_uleb(&cursor));
    ScopeName found = {0};

    for (guint i = 0; abbrev != NULL && i < abbrev->n && patience_spend(8); i++) {
        DwarfAttribute attribute;
        const DwarfSpec *spec = &g_array_index(scopes->abbrevs->specs, DwarfSpec, abbrev->first + i);
        if (!dwarf_attribute_read(&cursor, unit, spec, &attribute))
            break;
        if (attribute.name == DW_AT_name)
            found.name = dwarf_attribute_string(unit, &attribute);
        else if (attribute.name == DW_AT_linkage_name || attribute.name == DW_AT_MIPS_linkage_name)
            found.linkage = dwarf_attribute_string(unit, &attribute);
        else if (attribute.name == DW_AT_specification || attribute.name == DW_AT_abstract_origin)
            found.origin = attribute;
        else if (attribute.name == DW_AT_decl_line)
            found.line = (guint32)attribute.number;
    }
    return found;
}

/* The declaration of the definition at offset, if it is in this unit. */
static gboolean
follow_origin(const DwarfScopes *scopes, const ScopeName *name, guint64 *offset)
{
    const DwarfUnit *unit = scopes->unit;
    const DwarfFile *file;
    guint64 origin;

    if (name->origin.name == 0 || !dwarf_attribute_reference(unit, &name->origin, &file, &origin) ||
        file != unit->file || origin < unit->offset || origin >= unit->end)
        return FALSE;
    *offset = origin;
    return TRUE;
}

static const char *
stand_in(guint16 tag, const char *member)
{
    if (tag == DW_TAG_namespace)
        return "(anonymous namespace)";
    return strcmp(member, "operator()") == 0 ? "{lambda}" : "(anonymous class)";
}

static gint
compare_member(gconstpointer a, gconstpointer b)
{
    const Member *x = a;
    const Member *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static guint32
scope_of_member(const DwarfScopes *scopes, guint64 offset)
{
    const Member wanted = {.offset = offset};
    guint index;

    return g_array_binary_search(scopes->members, &wanted, compare_member, &index)
               ? g_array_index(scopes->members, Member, index).scope
               : NO_SCOPE;
}

static void
prepend(GString *full, const char *outer)
{
    g_string_prepend(full, "::");
    g_string_prepend(full, outer);
}

/* Prepends a function around a local class; returns the scope to continue with, NO_SCOPE if its name was complete. */
static guint32
prepend_function(const DwarfScopes *scopes, const Scope *scope, GString *full)
{
    guint64 offset = scope->offset;
    guint32 around = scope->parent;
    ScopeName name = read_name(scopes, offset);

    for (guint i = 0; i < MAX_ORIGINS && !name.linkage && follow_origin(scopes, &name, &offset); i++) {
        name = read_name(scopes, offset);
        around = scope_of_member(scopes, offset);
    }
    if (name.linkage != NULL) {
        g_autofree char *demangled = demangle(name.linkage);
        prepend(full, demangled != NULL ? demangled : name.linkage);
        return NO_SCOPE;
    }
    if (name.name != NULL)
        prepend(full, name.name);
    return around;
}

guint32
dwarf_scopes_line(const DwarfScopes *scopes, guint64 offset)
{
    guint32 at = scope_of_member(scopes, offset);

    return at != NO_SCOPE ? read_name(scopes, g_array_index(scopes->scopes, Scope, at).offset).line : 0;
}

char *
dwarf_scopes_qualify(const DwarfScopes *scopes, guint64 offset, const char *name)
{
    guint32 at = scope_of_member(scopes, offset);
    if (at == NO_SCOPE)
        return NULL;
    GString *full = g_string_new(name);
    for (guint depth = 0; at != NO_SCOPE && depth < MAX_DEPTH && full->len < DWARF_LONGEST_TEXT; depth++) {
        const Scope *scope = &g_array_index(scopes->scopes, Scope, at);
        if (scope->tag == DW_TAG_subprogram) {
            at = prepend_function(scopes, scope, full);
            continue;
        }
        const char *outer = read_name(scopes, scope->offset).name;
        prepend(full, outer != NULL && outer[0] != '\0' ? outer : stand_in(scope->tag, name));
        at = scope->parent;
    }
    return g_string_free(full, FALSE);
}

gboolean
dwarf_scopes_language(guint16 language)
{
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2a: /* C++17 */
    case 0x2b: /* C++20 */
    case DW_LANG_Rust:
        return TRUE;
    default:
        return FALSE;
    }
}
