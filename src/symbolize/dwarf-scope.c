/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-scope.h"

#include <dwarf.h>

#define NO_SCOPE  G_MAXUINT32
#define MAX_DEPTH 256 /* of names put together */

typedef struct {
    guint64 offset;
    guint32 parent; /* another Scope, or NO_SCOPE */
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

/* What the children of an entry stand in: a function's are local to it, and a block changes nothing. */
static guint32
scope_of_children(DwarfScopes *scopes, guint16 tag, guint64 offset, guint32 around)
{
    if (is_scope(tag)) {
        const Scope scope = {offset, around};
        g_array_append_val(scopes->scopes, scope);
        return scopes->scopes->len - 1;
    }
    return tag == DW_TAG_subprogram ? NO_SCOPE : around;
}

static void
walk(DwarfScopes *scopes)
{
    const DwarfUnit *unit = scopes->unit;
    const guint8 *data = unit->file->sections[DWARF_INFO].data;
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, unit->root);
    cursor.end = data + unit->end;
    g_autoptr(GArray) around = g_array_new(FALSE, FALSE, sizeof(guint32)); /* a stack of the scopes we are in */
    guint32 current = NO_SCOPE;
    while (cursor.at < cursor.end) {
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
        if (abbrev == NULL || !dwarf_entry_skip(&cursor, unit, scopes->abbrevs, abbrev)) {
            return;
        }
        if (abbrev->tag == DW_TAG_subprogram && current != NO_SCOPE) {
            const Member member = {offset, current};
            g_array_append_val(scopes->members, member);
        }
        if (abbrev->has_children) {
            g_array_append_val(around, current);
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

static const char *
name_of(const DwarfScopes *scopes, const Scope *scope)
{
    const DwarfUnit *unit = scopes->unit;
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, scope->offset);
    const DwarfAbbrev *abbrev = dwarf_abbrevs_find(scopes->abbrevs, dwarf_cursor_uleb(&cursor));
    for (guint i = 0; i < abbrev->n; i++) {
        DwarfAttribute attribute;
        const DwarfSpec *spec = &g_array_index(scopes->abbrevs->specs, DwarfSpec, abbrev->first + i);
        if (!dwarf_attribute_read(&cursor, unit, spec, &attribute)) {
            break;
        }
        if (attribute.name == DW_AT_name) {
            return dwarf_attribute_string(unit, &attribute);
        }
    }
    return abbrev->tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
}

static gint
compare_member(gconstpointer a, gconstpointer b)
{
    const Member *x = a;
    const Member *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

char *
dwarf_scopes_qualify(const DwarfScopes *scopes, guint64 offset, const char *name)
{
    const Member wanted = {.offset = offset};
    guint index;
    if (!g_array_binary_search(scopes->members, &wanted, compare_member, &index)) {
        return NULL;
    }
    GString *full = g_string_new(name);
    guint32 at = g_array_index(scopes->members, Member, index).scope;
    for (guint depth = 0; at != NO_SCOPE && depth < MAX_DEPTH; depth++) {
        const Scope *scope = &g_array_index(scopes->scopes, Scope, at);
        const char *outer = name_of(scopes, scope);
        g_string_prepend(full, "::");
        g_string_prepend(full, outer != NULL ? outer : "(anonymous class)");
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
