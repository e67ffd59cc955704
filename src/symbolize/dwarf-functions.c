/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-functions.h"
#include "confine/keyed-hash.h"

#include "symbolize/dwarf-line.h"
#include "symbolize/dwarf-scope.h"
#include "symbolize/patience.h"

#include <dwarf.h>

/* Definition, abstract instance, declaration: real chains have three links. */
#define MAX_ORIGINS 16

/* Deeper chains of inlined calls are cut off on the inside; compilers stay below a hundred. */
#define MAX_FRAMES 4096

#define RESOLVED_BYTES 128 /* of memory, in its table */

/* A function, or an inlined call of one, that covers a requested address. */
typedef struct {
    guint64 origin; /* offset of the entry with its name: the abstract instance that many calls share, or its own */
    guint64 call_file, call_line;
    guint64 start; /* of its first range: the entry point */
    gboolean inlined;
} Function;

/* What covers one requested address. */
typedef struct {
    Function *functions; /* the last physical function and the calls inlined in it, outermost first */
    guint32 n, room;
    guint64 latest; /* the number of the last entry that covered it */
} Chain;

/* The attributes found along the origins. */
typedef struct {
    const char *linkage, *name; /* in the file's sections, or NULL */
    const DwarfUnit *unit;      /* the position of name */
    guint64 offset;
    guint64 line;
} Identity;

typedef struct {
    const DwarfQuestion *question;
    DwarfLines *lines;    /* or NULL */
    GHashTable *abbrevs;  /* DwarfUnit -> DwarfAbbrevs */
    GHashTable *scopes;   /* DwarfUnit -> DwarfScopes */
    GHashTable *resolved; /* offset -> Resolved, for entries of the question's unit */
    GHashTable *paths;    /* file number -> interned path */
    Chain *chains;        /* by question */
    guint64 n_entries;    /* with ranges, so far */
} Walk;

typedef struct {
    Name name; /* function NULL: unknown */
    guint32 line;
    gboolean has_linkage;
} Resolved;

static const DwarfAbbrevs *
abbrevs_of(Walk *walk, const DwarfUnit *unit)
{
    DwarfAbbrevs *abbrevs = g_hash_table_lookup(walk->abbrevs, unit);
    if (abbrevs == NULL) {
        abbrevs = dwarf_abbrevs_new(unit);
        g_hash_table_insert(walk->abbrevs, (gpointer)(guintptr)unit, abbrevs);
    }
    return abbrevs;
}

/* An entry while its attributes are read. */
typedef struct {
    Function function;
    DwarfPlace place;
    DwarfAttribute origin; /* abstract_origin or specification; name 0: none */
    DwarfAttribute linkage, name;
    guint64 line;
} Entry;

static void
note(Entry *entry, const DwarfAttribute *attribute)
{
    switch (attribute->name) {
    case DW_AT_low_pc:
    case DW_AT_high_pc:
    case DW_AT_ranges:
        dwarf_place_note(&entry->place, attribute);
        break;
    case DW_AT_abstract_origin:
    case DW_AT_specification:
        entry->origin = *attribute;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        entry->linkage = *attribute;
        break;
    case DW_AT_name:
        entry->name = *attribute;
        break;
    case DW_AT_decl_line:
        entry->line = attribute->number;
        break;
    case DW_AT_call_file:
        entry->function.call_file = attribute->number;
        break;
    case DW_AT_call_line:
        entry->function.call_line = attribute->number;
        break;
    default:
        break;
    }
}

/* Reads the attributes after an abbreviation code; FALSE if the entry cannot be read. */
static gboolean
read_entry(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfAbbrevs *abbrevs, const DwarfAbbrev *abbrev,
           Entry *entry)
{
    const DwarfSpec *specs = &g_array_index(abbrevs->specs, DwarfSpec, abbrev->first);
    for (guint i = 0; i < abbrev->n; i++) {
        DwarfAttribute attribute;
        if (!patience_spend(8) || !dwarf_attribute_read(cursor, unit, &specs[i], &attribute))
            return FALSE;
        note(entry, &attribute);
    }
    return !cursor->overrun;
}

/* Reads the entry at offset, in any unit. */
static gboolean
read_entry_at(Walk *walk, const DwarfUnit *unit, guint64 offset, Entry *entry)
{
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, offset);
    const DwarfAbbrevs *abbrevs = abbrevs_of(walk, unit);
    const DwarfAbbrev *abbrev = dwarf_abbrevs_find(abbrevs, dwarf_cursor_uleb(&cursor));
    *entry = (Entry){0};
    return abbrev != NULL && read_entry(&cursor, unit, abbrevs, abbrev, entry);
}

static void
merge_identity(Identity *identity, const DwarfUnit *unit, guint64 offset, const Entry *entry)
{
    if (identity->linkage == NULL)
        identity->linkage = dwarf_attribute_string(unit, &entry->linkage);
    if (identity->name == NULL) {
        identity->name = dwarf_attribute_string(unit, &entry->name);
        identity->unit = unit;
        identity->offset = offset;
    }
    if (identity->line == 0)
        identity->line = entry->line;
}

/* Collects name and line along abstract_origin and specification, which may refer to other units and files. */
static Identity
identify(Walk *walk, guint64 offset)
{
    Identity identity = {0};
    const DwarfUnit *unit = walk->question->unit;
    Entry entry;
    for (guint i = 0; i < MAX_ORIGINS && unit != NULL && read_entry_at(walk, unit, offset, &entry); i++) {
        merge_identity(&identity, unit, offset, &entry);
        const DwarfFile *file;
        if (identity.linkage != NULL || entry.origin.name == 0 ||
            !dwarf_attribute_reference(unit, &entry.origin, &file, &offset))
            break;
        gboolean here = file == unit->file && offset >= unit->offset && offset < unit->end;
        unit = here ? unit : dwarf_file_unit(file, offset);
    }
    return identity;
}

static const DwarfScopes *
scopes_of(Walk *walk, const Identity *identity)
{
    DwarfScopes *scopes = g_hash_table_lookup(walk->scopes, identity->unit);
    if (scopes == NULL) {
        scopes = dwarf_scopes_new(identity->unit, abbrevs_of(walk, identity->unit));
        g_hash_table_insert(walk->scopes, (gpointer)(guintptr)identity->unit, scopes);
    }
    return scopes;
}

/* A lambda's function is declared where its class is, but has no line of its own. */
static guint64
line_of(Walk *walk, const Identity *identity)
{
    gboolean lambda = identity->line == 0 && identity->name != NULL && strcmp(identity->name, "operator()") == 0;

    return lambda ? dwarf_scopes_line(scopes_of(walk, identity), identity->offset) : identity->line;
}

static Name
name_identity(Walk *walk, const Identity *identity)
{
    Names *names = walk->question->names;
    if (identity->linkage != NULL && identity->linkage[0] != '\0')
        return names_function(names, identity->linkage, strlen(identity->linkage));
    if (identity->name == NULL || identity->name[0] == '\0')
        return (Name){0};
    g_autofree char *full = dwarf_scopes_language(walk->question->unit->language)
                                ? dwarf_scopes_qualify(scopes_of(walk, identity), identity->offset, identity->name)
                                : NULL;
    const char *name = full != NULL ? full : identity->name;
    const char *kept = names_string(names, name, strlen(name));
    return (Name){kept, kept};
}

static const Resolved *
resolve(Walk *walk, guint64 offset)
{
    Resolved *resolved = g_hash_table_lookup(walk->resolved, GSIZE_TO_POINTER(offset));
    if (resolved != NULL)
        return resolved;
    Identity identity = identify(walk, offset);
    resolved = g_new0(Resolved, 1);
    resolved->line = (guint32)line_of(walk, &identity);
    resolved->has_linkage = identity.linkage != NULL;
    resolved->name = name_identity(walk, &identity);
    patience_hold(RESOLVED_BYTES);
    patience_keep(name_size(&resolved->name));
    g_hash_table_insert(walk->resolved, GSIZE_TO_POINTER(offset), resolved);
    return resolved;
}

static guint
first_at_or_after(const DwarfQuestion *question, guint64 address)
{
    guint low = 0;
    for (guint high = question->n_asked; low < high;) {
        guint middle = low + (high - low) / 2;
        if (question->asked[middle]->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static gboolean
make_room(Chain *chain)
{
    const guint32 more = chain->room > 0 ? chain->room : 2;
    if (!patience_hold(more * sizeof(Function)))
        return FALSE;
    chain->room += more;
    chain->functions = g_renew(Function, chain->functions, chain->room);
    return TRUE;
}

/* Calls outside of all physical functions have no name. */
static gboolean
add_function(Chain *chain, const Function *function)
{
    if (!function->inlined)
        chain->n = 0;
    else if (chain->n == 0 || chain->n == MAX_FRAMES)
        return TRUE;
    if (chain->n == chain->room && !make_room(chain))
        return FALSE;
    chain->functions[chain->n++] = *function;
    return TRUE;
}

typedef struct {
    Walk *walk;
    Function *function;
} Visit;

static void
visit_range(guint64 start, guint64 limit, gpointer data)
{
    Visit *visit = data;
    Walk *walk = visit->walk;
    const DwarfQuestion *question = walk->question;
    if (start < question->lowest)
        return;
    if (visit->function->start == G_MAXUINT64)
        visit->function->start = start;
    for (guint i = first_at_or_after(question, start); i < question->n_asked; i++) {
        Chain *chain = &walk->chains[i];
        if (question->asked[i]->address >= limit || !patience_spend(16))
            return;
        if (chain->latest == walk->n_entries) /* overlapping ranges cover it once */
            continue;
        chain->latest = walk->n_entries;
        if (!add_function(chain, visit->function))
            return;
    }
}

/* The entry to search for the name: the origin if this entry adds nothing to it and it is in this unit. */
static guint64
name_offset(const DwarfUnit *unit, const Entry *entry, guint64 own)
{
    const DwarfFile *file;
    guint64 origin;
    if (entry->linkage.name != 0 || entry->name.name != 0 || entry->line != 0 || entry->origin.name == 0 ||
        !dwarf_attribute_reference(unit, &entry->origin, &file, &origin))
        return own;
    return file == unit->file && origin >= unit->offset && origin < unit->end ? origin : own;
}

static void
note_function(Walk *walk, Entry *entry, guint64 offset)
{
    entry->function.origin = name_offset(walk->question->unit, entry, offset);
    entry->function.start = G_MAXUINT64;
    Visit visit = {walk, &entry->function};
    walk->n_entries++;
    dwarf_place_each(&entry->place, walk->question->unit, visit_range, &visit);
}

/* Walks every entry of the unit once. Functions may be nested anywhere, so nothing is skipped. */
static void
walk_entries(Walk *walk)
{
    const DwarfUnit *unit = walk->question->unit;
    const DwarfAbbrevs *abbrevs = abbrevs_of(walk, unit);
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_INFO, unit->root);
    const guint8 *data = unit->file->sections[DWARF_INFO].data;
    cursor.end = data + unit->end;
    gboolean readable = TRUE;
    while (readable && cursor.at < cursor.end && patience_spend(8)) {
        guint64 offset = (guint64)(cursor.at - data);
        guint64 code = dwarf_cursor_uleb(&cursor);
        if (code == 0)
            continue;
        const DwarfAbbrev *abbrev = dwarf_abbrevs_find(abbrevs, code);
        if (abbrev == NULL)
            return;
        if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine) {
            Entry entry = {.function.inlined = abbrev->tag == DW_TAG_inlined_subroutine};
            readable = read_entry(&cursor, unit, abbrevs, abbrev, &entry);
            if (readable)
                note_function(walk, &entry, offset);
        } else {
            readable = dwarf_entry_skip(&cursor, unit, abbrevs, abbrev);
        }
    }
}

static const char *
path_of(Walk *walk, guint64 file)
{
    const char *path = g_hash_table_lookup(walk->paths, GSIZE_TO_POINTER(file));
    if (path == NULL && walk->lines != NULL) {
        g_autofree char *text = dwarf_lines_path(walk->lines, file);
        path = text != NULL && patience_keep(strlen(text)) ? names_string(walk->question->names, text, strlen(text))
                                                           : NULL;
        g_hash_table_insert(walk->paths, GSIZE_TO_POINTER(file), (gpointer)(guintptr)path);
    }
    return path;
}

/* Fills one frame per function, innermost first; a nameless inlined call only contributes its place in its caller. */
static guint32
fill_frames(Walk *walk, const Chain *chain, const ObjectAsked *asked, SymbolFrame *frames)
{
    guint32 filled = 0;
    const char *file = asked->file;
    guint32 line = asked->line;
    for (guint32 i = chain->n; i-- > 0;) {
        const Function *function = &chain->functions[i];
        const Resolved *resolved = resolve(walk, function->origin);
        if (resolved->name.function != NULL || !function->inlined) {
            frames[filled++] = (SymbolFrame){
                .function = resolved->name.function,
                .system_name = resolved->name.system_name,
                .file = file,
                .line = line,
                .start_line = resolved->line,
                .known = resolved->name.function != NULL,
            };
        }
        file = function->inlined ? path_of(walk, function->call_file) : NULL;
        line = (guint32)function->call_line;
    }
    return filled;
}

/* C has no mangled names that could be missing. */
static gboolean
mangles(guint16 language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case 0x2c: /* C17 */
    case DW_LANG_Mips_Assembler:
        return FALSE;
    default:
        return TRUE;
    }
}

static void
answer(Walk *walk, ObjectAsked *asked, const Chain *chain)
{
    const Function *physical = &chain->functions[0];
    if (!patience_spend(64 * (guint64)chain->n) || !patience_keep(chain->n * sizeof(SymbolFrame)))
        return;
    SymbolFrame *frames = names_frames(walk->question->names, chain->n);
    guint32 filled = fill_frames(walk, chain, asked, frames);
    asked->symbol = (Symbol){frames, filled};
    if (!resolve(walk, physical->origin)->has_linkage && mangles(walk->question->lines->language))
        asked->unnamed_start = physical->start;
}

static void
answer_all(Walk *walk)
{
    for (guint i = 0; i < walk->question->n_asked; i++)
        if (walk->chains[i].n > 0)
            answer(walk, walk->question->asked[i], &walk->chains[i]);
}

static void
answer_lines(Walk *walk)
{
    const DwarfQuestion *question = walk->question;
    g_autofree guint64 *addresses = g_new(guint64, question->n_asked);
    g_autofree DwarfRow *rows = g_new0(DwarfRow, question->n_asked);
    for (guint i = 0; i < question->n_asked; i++)
        addresses[i] = question->asked[i]->address;
    dwarf_lines_run(walk->lines, addresses, question->n_asked, question->lowest, rows);
    for (guint i = 0; i < question->n_asked; i++) {
        if (rows[i].found) {
            question->asked[i]->file = path_of(walk, rows[i].file);
            question->asked[i]->line = rows[i].line;
        }
    }
}

static void
free_abbrevs(gpointer abbrevs)
{
    dwarf_abbrevs_free(abbrevs);
}

static void
free_scopes(gpointer scopes)
{
    dwarf_scopes_free(scopes);
}

void
dwarf_functions_answer(const DwarfQuestion *question)
{
    Walk walk = {
        .question = question,
        .lines = dwarf_lines_new(question->lines),
        .abbrevs = g_hash_table_new_full(NULL, NULL, NULL, free_abbrevs),
        .scopes = g_hash_table_new_full(NULL, NULL, NULL, free_scopes),
        .resolved = g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, g_free),
        .paths = g_hash_table_new(keyed_hash_pointer, NULL),
        .chains = g_new0(Chain, question->n_asked),
    };
    if (walk.lines != NULL)
        answer_lines(&walk);
    walk_entries(&walk);
    answer_all(&walk);
    g_clear_pointer(&walk.lines, dwarf_lines_free);
    g_hash_table_unref(walk.scopes);
    g_hash_table_unref(walk.abbrevs);
    g_hash_table_unref(walk.resolved);
    g_hash_table_unref(walk.paths);
    for (guint i = 0; i < question->n_asked; i++)
        g_free(walk.chains[i].functions);
    g_free(walk.chains);
}
