/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol-table.h"

#include "symbolize/patience.h"

#include <string.h>

typedef struct {
    guint64 start, limit; /* start == limit: no size of its own */
    guint64 reach;        /* once sealed: the highest limit of all symbols up to this one; ends a backward search */
    const char *name;
    guint32 length; /* of name, without its version */
    guint32 rank;   /* lower is better */
} Entry;

enum {
    LONGEST_NAME = 64 * 1024,
    LONGEST_COMPARED = 256,
    MOST_STEPS = 1024, /* back to a symbol around others */
};

typedef struct {
    guint64 start, limit;
    gboolean code;
} Section;

struct SymbolTable {
    GArray *entries;
};

SymbolTable *
symbol_table_new(void)
{
    SymbolTable *table = g_new0(SymbolTable, 1);
    table->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    return table;
}

void
symbol_table_free(SymbolTable *table)
{
    if (table != NULL) {
        g_array_unref(table->entries);
        g_free(table);
    }
}

static gsize
name_length(const char *name)
{
    const char *version = name[0] != '\0' ? strchr(name + 1, '@') : NULL;
    return version != NULL ? (gsize)(version - name) : strlen(name);
}

static guint32
rank(const GElf_Sym *symbol, const char *name, gsize length)
{
    static const guint8 by_binding[] = {[STB_GLOBAL] = 0, [STB_WEAK] = 1, [STB_LOCAL] = 2};
    guint binding = GELF_ST_BIND(symbol->st_info);
    guint32 class = binding < G_N_ELEMENTS(by_binding) ? by_binding[binding] : 0; /* STB_GNU_UNIQUE is global */
    guint32 untyped = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE;
    guint32 underscores = 0;
    while (underscores < 15 && name[underscores] == '_')
        underscores++;
    return class << 24 | untyped << 20 | underscores << 16 | (guint32)MIN(length, G_MAXUINT16);
}

static GArray *
read_sections(Elf *elf)
{
    GArray *sections = g_array_new(FALSE, TRUE, sizeof(Section));
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
        GElf_Shdr header;
        gsize index = elf_ndxscn(scn);
        if (gelf_getshdr(scn, &header) == NULL)
            continue;
        if (!patience_hold(2 * sizeof(Section)))
            break;
        if (sections->len <= index)
            g_array_set_size(sections, (guint)index + 1);
        g_array_index(sections, Section, index) = (Section){
            .start = header.sh_addr,
            .limit = header.sh_addr + header.sh_size,
            .code = (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_addr + header.sh_size >= header.sh_addr,
        };
    }
    return sections;
}

/* Labels of the assembler and of the ARM ELF ABI ($a, $t, $d, $x mark code and data) name no function. */
static gboolean
is_label(const char *name)
{
    return name[0] == '\0' || name[0] == '$' || g_str_has_prefix(name, ".L");
}

static gboolean
is_function(const GElf_Sym *symbol, const char *name)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return name[0] != '\0';
    case STT_NOTYPE:
        return !is_label(name);
    default:
        return FALSE;
    }
}

typedef struct {
    SymbolTable *table;
    const GArray *sections;
    SymbolTableKind kind;
    gboolean thumb; /* ARM: the lowest bit of a function's address selects the instruction set */
} Reader;

static void
add(const Reader *reader, const GElf_Sym *symbol, guint32 index, const char *name)
{
    if (index >= reader->sections->len || name == NULL || !is_function(symbol, name))
        return;
    const Section *section = &g_array_index(reader->sections, Section, index);
    guint64 start = reader->thumb ? symbol->st_value & ~(guint64)1 : symbol->st_value;
    if (!section->code || start < section->start || start >= section->limit ||
        (symbol->st_size == 0 && reader->kind == SYMBOL_TABLE_EXPORTED))
        return;
    gsize length = name_length(name);
    patience_spend(length >> 4);
    Entry entry = {
        .start = start,
        .limit = start + MIN(symbol->st_size, section->limit - start),
        .reach = section->limit,
        .name = name,
        .length = (guint32)length,
        .rank = rank(symbol, name, length),
    };
    patience_append(reader->table->entries, &entry);
}

static Elf_Scn *
find_table(Elf *elf, guint32 type, GElf_Shdr *header)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;)
        if (gelf_getshdr(scn, header) != NULL && header->sh_type == type)
            return scn;
    return NULL;
}

/* SHT_SYMTAB_SHNDX: the section numbers of files with more than 65 279 sections. */
static Elf_Data *
find_extended_indexes(Elf *elf, gsize table)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != NULL && header.sh_type == SHT_SYMTAB_SHNDX && header.sh_link == table)
            return elf_getdata(scn, NULL);
    }
    return NULL;
}

gboolean
symbol_table_add(SymbolTable *table, const Image *image, SymbolTableKind kind)
{
    Elf *elf = image_elf(image);
    GElf_Shdr header;
    GElf_Ehdr file;
    Elf_Scn *scn = find_table(elf, kind == SYMBOL_TABLE_ALL ? SHT_SYMTAB : SHT_DYNSYM, &header);
    Elf_Data *data = scn != NULL && header.sh_type != SHT_NOBITS ? elf_getdata(scn, NULL) : NULL;
    ImageSection texts;
    if (data == NULL || data->d_buf == NULL || gelf_getehdr(elf, &file) == NULL ||
        !image_texts(image, header.sh_link, &texts))
        return FALSE;
    g_autoptr(GArray) sections = read_sections(elf);
    const Reader reader = {table, sections, kind, file.e_machine == EM_ARM};
    Elf_Data *extended = find_extended_indexes(elf, elf_ndxscn(scn));
    gsize n = data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    guint before = table->entries->len;
    for (gsize i = 1; i < MIN(n, G_MAXINT) && patience_spend(16); i++) {
        GElf_Sym symbol;
        Elf32_Word wide = 0;
        if (gelf_getsymshndx(data, extended, (int)i, &symbol, &wide) == NULL)
            break;
        guint32 index = symbol.st_shndx == SHN_XINDEX ? wide : symbol.st_shndx;
        gboolean defined = index != SHN_UNDEF && (index < SHN_LORESERVE || symbol.st_shndx == SHN_XINDEX);
        if (defined)
            add(&reader, &symbol, index, image_text_at(&texts, symbol.st_name, LONGEST_NAME));
    }
    return table->entries->len > before;
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    const Entry *x = a;
    const Entry *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1; /* the best name last: searches run backwards */
    int order = strncmp(y->name, x->name, LONGEST_COMPARED);
    return order != 0 ? order : y->name < x->name ? -1 : y->name > x->name;
}

/*
 * Sets the end of the symbols without size in [first, last), which start at the same place: the next start or the end
 * of their section, which reach contains until now. A label inside a function with a size is a place in it, not a
 * function: left empty.
 */
static void
bound_sizeless(GArray *entries, guint first, guint last, guint64 covered)
{
    guint64 next = last < entries->len ? g_array_index(entries, Entry, last).start : G_MAXUINT64;
    for (guint i = first; i < last; i++) {
        Entry *entry = &g_array_index(entries, Entry, i);
        if (entry->start >= covered)
            entry->limit = MIN(next, entry->reach);
    }
}

static void
bound_all(GArray *entries)
{
    guint64 covered = 0;
    for (guint first = 0, last; first < entries->len; first = last) {
        guint64 start = g_array_index(entries, Entry, first).start;
        for (last = first; last < entries->len && g_array_index(entries, Entry, last).start == start; last++)
            covered = MAX(covered, g_array_index(entries, Entry, last).limit);
        bound_sizeless(entries, first, last, covered);
    }
}

void
symbol_table_seal(SymbolTable *table)
{
    GArray *entries = table->entries;
    patience_sort(entries, compare);
    bound_all(entries);
    guint64 reach = 0;
    for (guint i = 0; i < entries->len; i++) {
        Entry *entry = &g_array_index(entries, Entry, i);
        reach = MAX(reach, entry->limit);
        entry->reach = reach;
    }
}

/* The number of entries that begin at or before address. */
static guint
count_up_to(const GArray *entries, guint64 address)
{
    guint low = 0;
    guint high = entries->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(entries, Entry, middle).start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const Entry *
find(const SymbolTable *table, guint64 address)
{
    guint from = count_up_to(table->entries, address);
    for (guint i = from; i > 0 && from - i < MOST_STEPS; i--) {
        const Entry *entry = &g_array_index(table->entries, Entry, i - 1);
        if (entry->reach <= address)
            return NULL;
        if (address < entry->limit)
            return entry;
    }
    return NULL;
}

const char *
symbol_table_find(const SymbolTable *table, guint64 address, gsize *length)
{
    const Entry *entry = find(table, address);
    if (entry == NULL)
        return NULL;
    *length = entry->length;
    return entry->name;
}

const char *
symbol_table_find_start(const SymbolTable *table, guint64 address, gsize *length)
{
    const Entry *entry = find(table, address);
    if (entry == NULL || entry->start != address)
        return NULL;
    *length = entry->length;
    return entry->name;
}
