/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/elf-symbols.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TABLES_MAX = 4, /* .dynsym, .symtab and a reserve for unusual files */
    SECTIONS_MAX = 1 << 16,
    PROGRAM_HEADERS_MAX = 256,
    HITS_MAX = 32, /* strings that end in a function's name */
    FUNCTIONS_MAX = 16,
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { NATIVE_DATA = ELFDATA2LSB };
#else
enum { NATIVE_DATA = ELFDATA2MSB };
#endif

typedef struct {
    ElfTable tables[TABLES_MAX];
    size_t n;
} Tables;

/* A string that ends in a name searched for. Linkers share tails, so a symbol may start anywhere in prefix. */
typedef struct {
    uint64_t tail; /* offset of the name itself, i.e. after the whole prefix */
    size_t prefix_length;
    char prefix[ELF_PREFIX_MAX];
} Hit;

typedef struct {
    Hit hits[HITS_MAX];
    size_t n;
} Hits;

typedef struct {
    char prefix[ELF_PREFIX_MAX];
    uint64_t address;
} Function;

typedef struct {
    Function functions[FUNCTIONS_MAX];
    size_t n;
} Functions;

/* The two names that identify a jemalloc, then optional ones. */
enum { NAME_MALLCTL, NAME_STATS_PRINT, NAMES_NEEDED, NAME_MESSAGE = NAMES_NEEDED, NAME_TO_MIB, NAME_BY_MIB, NAMES };
static const struct {
    const char *name;
    int type;
} names[NAMES] = {
    [NAME_MALLCTL] = {"mallctl", STT_FUNC},          [NAME_STATS_PRINT] = {"malloc_stats_print", STT_FUNC},
    [NAME_MESSAGE] = {"malloc_message", STT_OBJECT}, [NAME_TO_MIB] = {"mallctlnametomib", STT_FUNC},
    [NAME_BY_MIB] = {"mallctlbymib", STT_FUNC},
};
enum { NAME_MAX_LENGTH = sizeof("malloc_stats_print") };

bool
elf_file_init(ElfFile *file, int descriptor, void *scratch, size_t scratch_size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || status.st_size <= 0)
        return false;
    *file = (ElfFile){descriptor, NULL, (uint64_t)status.st_size, scratch, scratch_size};
    return true;
}

void
elf_file_init_memory(ElfFile *file, const void *bytes, size_t size, void *scratch, size_t scratch_size)
{
    *file = (ElfFile){-1, bytes, size, scratch, scratch_size};
}

static bool
is_within(uint64_t offset, uint64_t size, uint64_t whole)
{
    return offset <= whole && size <= whole - offset;
}

bool
elf_read(const ElfFile *file, uint64_t offset, void *buffer, size_t n)
{
    if (!is_within(offset, n, file->size))
        return false;
    if (file->bytes != NULL) {
        memcpy(buffer, file->bytes + offset, n);
        return true;
    }
    for (size_t done = 0; done < n;) {
        ssize_t r = pread(file->descriptor, (uint8_t *)buffer + done, n - done, (off_t)(offset + done));
        if (r <= 0)
            return false;
        done += (size_t)r;
    }
    return true;
}

static bool
read_header(const ElfFile *file, Elf64_Ehdr *header)
{
    return elf_read(file, 0, header, sizeof(*header)) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == NATIVE_DATA;
}

static bool
read_section(const ElfFile *file, const Elf64_Ehdr *header, uint64_t index, Elf64_Shdr *section)
{
    /* index is below SECTIONS_MAX, so the product is small; e_shoff is checked by elf_read(), its sum here. */
    uint64_t offset = index * sizeof(*section);
    return is_within(header->e_shoff, offset, file->size) &&
           elf_read(file, header->e_shoff + offset, section, sizeof(*section));
}

/* Files with more than 65279 sections keep the count in the first one. */
static uint64_t
count_sections(const ElfFile *file, const Elf64_Ehdr *header)
{
    if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
        return 0;
    uint64_t n = header->e_shnum;
    Elf64_Shdr first;
    if (n == 0)
        n = read_section(file, header, 0, &first) ? first.sh_size : 0;
    return n < SECTIONS_MAX ? n : SECTIONS_MAX;
}

static bool
add_table(const ElfFile *file, const Elf64_Ehdr *header, const Elf64_Shdr *section, uint64_t n_sections, Tables *tables)
{
    Elf64_Shdr strings;
    if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= n_sections ||
        !read_section(file, header, section->sh_link, &strings) || strings.sh_type != SHT_STRTAB ||
        !is_within(section->sh_offset, section->sh_size, file->size) ||
        !is_within(strings.sh_offset, strings.sh_size, file->size))
        return false;
    tables->tables[tables->n++] = (ElfTable){
        .symbols = section->sh_offset,
        .n_symbols = section->sh_size / sizeof(Elf64_Sym),
        .strings = strings.sh_offset,
        .strings_size = strings.sh_size,
        .is_symtab = section->sh_type == SHT_SYMTAB,
    };
    return true;
}

/* Finds the symbol tables, in file order. */
static void
find_tables(const ElfFile *file, Tables *tables)
{
    Elf64_Ehdr header;
    tables->n = 0;
    if (!read_header(file, &header))
        return;
    uint64_t n_sections = count_sections(file, &header);
    Elf64_Shdr *batch = (Elf64_Shdr *)(void *)file->scratch;
    const uint64_t per_batch = file->scratch_size / sizeof(*batch);
    for (uint64_t first = 0; first < n_sections; first += per_batch) {
        uint64_t n = n_sections - first < per_batch ? n_sections - first : per_batch;
        if (!is_within(header.e_shoff, first * sizeof(*batch), file->size) ||
            !elf_read(file, header.e_shoff + first * sizeof(*batch), batch, n * sizeof(*batch)))
            return;
        for (uint64_t i = 0; i < n && tables->n < TABLES_MAX; i++)
            if (batch[i].sh_type == SHT_DYNSYM || batch[i].sh_type == SHT_SYMTAB)
                add_table(file, &header, &batch[i], n_sections, tables);
    }
}

/* Records the string that ends in a name at TAIL; START..TAIL are the available bytes before it. */
static void
add_hit(Hits *hits, const uint8_t *start, const uint8_t *tail, uint64_t tail_offset)
{
    if (hits->n == HITS_MAX)
        return;
    Hit *hit = &hits->hits[hits->n++];
    size_t length = 0;
    while (length < ELF_PREFIX_MAX - 1 && tail - length > start && tail[-1 - (ptrdiff_t)length] != '\0')
        length++;
    hit->tail = tail_offset;
    hit->prefix_length = length;
    memcpy(hit->prefix, tail - length, length);
    hit->prefix[length] = '\0';
}

/* Collects the strings of TABLE that end in NAME. */
static bool
find_strings(const ElfFile *file, const ElfTable *table, const char *name, Hits *hits)
{
    /* Bytes carried from one piece to the next: the longest prefix, and a split name. */
    const size_t carry_max = ELF_PREFIX_MAX + NAME_MAX_LENGTH;
    const size_t length = strlen(name) + 1; /* the NUL is part of the pattern: "mallctl" but not "mallctlbymib" */
    size_t carried = 0;
    hits->n = 0;
    for (uint64_t offset = 0; offset < table->strings_size;) {
        uint64_t left = table->strings_size - offset;
        size_t room = file->scratch_size - carried;
        size_t n = left < room ? (size_t)left : room;
        if (!elf_read(file, table->strings + offset, file->scratch + carried, n))
            return false;
        const uint8_t *end = file->scratch + carried + n;
        const uint64_t scratch_offset = offset - carried; /* file offset of the scratch memory's first byte */
        /* A name that is completely in the carried bytes was seen in the previous piece. */
        const uint8_t *from = file->scratch + (carried >= length ? carried - length + 1 : 0);
        for (const uint8_t *at; (at = memmem(from, (size_t)(end - from), name, length)) != NULL; from = at + length)
            add_hit(hits, file->scratch, at, scratch_offset + (uint64_t)(at - file->scratch));
        offset += n;
        carried = (size_t)(end - file->scratch) < carry_max ? (size_t)(end - file->scratch) : carry_max;
        memmove(file->scratch, end - carried, carried);
    }
    return true;
}

static const Hit *
find_hit(const Hits *hits, uint32_t name)
{
    for (size_t i = 0; i < hits->n; i++) {
        const Hit *hit = &hits->hits[i];
        if (name <= hit->tail && hit->tail - name <= hit->prefix_length)
            return hit;
    }
    return NULL;
}

static void
add_function(Functions *functions, const Hit *hit, const Elf64_Sym *symbol, int type)
{
    if (functions->n == FUNCTIONS_MAX || ELF64_ST_TYPE(symbol->st_info) != type || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_value == 0)
        return;
    size_t length = (size_t)(hit->tail - symbol->st_name);
    Function *function = &functions->functions[functions->n++];
    memcpy(function->prefix, hit->prefix + hit->prefix_length - length, length + 1);
    function->address = symbol->st_value;
}

/* Finds the defined functions of TABLE whose names are among HITS, one set of hits per name. */
static bool
find_functions(const ElfFile *file, const ElfTable *table, const Hits hits[NAMES], Functions functions[NAMES])
{
    Elf64_Sym *batch = (Elf64_Sym *)(void *)file->scratch;
    const uint64_t per_batch = file->scratch_size / sizeof(*batch);
    for (uint64_t first = 0; first < table->n_symbols; first += per_batch) {
        uint64_t n = table->n_symbols - first < per_batch ? table->n_symbols - first : per_batch;
        if (!elf_read(file, table->symbols + first * sizeof(*batch), batch, n * sizeof(*batch)))
            return false;
        for (uint64_t i = 0; i < n; i++) {
            for (int name = 0; name < NAMES; name++) {
                const Hit *hit = find_hit(&hits[name], batch[i].st_name);
                if (hit != NULL)
                    add_function(&functions[name], hit, &batch[i], names[name].type);
            }
        }
    }
    return true;
}

static const Function *
find_prefix(const Functions *functions, const char *prefix)
{
    for (size_t i = 0; i < functions->n; i++)
        if (strcmp(functions->functions[i].prefix, prefix) == 0)
            return &functions->functions[i];
    return NULL;
}

static uint64_t
address_with(const Functions *functions, const char *prefix)
{
    const Function *function = find_prefix(functions, prefix);
    return function != NULL ? function->address : 0;
}

static bool
is_known(const ElfJemalloc *found, size_t n, const char *prefix)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(found[i].prefix, prefix) == 0)
            return true;
    return false;
}

static size_t
add_pairs(const Functions functions[NAMES], bool from_symtab, ElfJemalloc *found, size_t n)
{
    for (size_t i = 0; i < functions[NAME_MALLCTL].n && n < ELF_FOUND_MAX; i++) {
        const Function *mallctl = &functions[NAME_MALLCTL].functions[i];
        const Function *stats_print = find_prefix(&functions[NAME_STATS_PRINT], mallctl->prefix);
        if (stats_print == NULL || is_known(found, n, mallctl->prefix))
            continue;
        found[n].mallctl = mallctl->address;
        found[n].stats_print = stats_print->address;
        found[n].message = address_with(&functions[NAME_MESSAGE], mallctl->prefix);
        found[n].name_to_mib = address_with(&functions[NAME_TO_MIB], mallctl->prefix);
        found[n].by_mib = address_with(&functions[NAME_BY_MIB], mallctl->prefix);
        found[n].from_symtab = from_symtab;
        memcpy(found[n].prefix, mallctl->prefix, sizeof(found[n].prefix));
        n++;
    }
    return n;
}

static size_t
search_table(const ElfFile *file, const ElfTable *table, ElfJemalloc *found, size_t n)
{
    Hits hits[NAMES];
    Functions functions[NAMES];
    for (int name = 0; name < NAMES; name++) {
        functions[name].n = 0;
        if (!find_strings(file, table, names[name].name, &hits[name]) || (name < NAMES_NEEDED && hits[name].n == 0))
            return n;
    }
    /* If the file is truncated in its symbols, the remaining ones are not trusted either. */
    return find_functions(file, table, hits, functions) ? add_pairs(functions, table->is_symtab, found, n) : n;
}

size_t
elf_find_jemalloc(const ElfFile *file, ElfJemalloc found[ELF_FOUND_MAX])
{
    Tables tables;
    size_t n = 0;
    find_tables(file, &tables);
    /* Exported names come first, so that the same function in .symtab is not found again. */
    for (int symtab = 0; symtab <= 1; symtab++) {
        for (size_t i = 0; i < tables.n; i++)
            if (tables.tables[i].is_symtab == symtab)
                n = search_table(file, &tables.tables[i], found, n);
    }
    return n;
}

ElfMention
elf_mentions_jemalloc(const ElfFile *file, uint64_t *budget)
{
    Tables tables;
    find_tables(file, &tables);
    for (size_t i = 0; i < tables.n; i++) {
        Hits hits;
        if (tables.tables[i].strings_size > *budget)
            return ELF_MENTION_UNKNOWN;
        *budget -= tables.tables[i].strings_size;
        if (find_strings(file, &tables.tables[i], names[NAME_MALLCTL].name, &hits) && hits.n > 0)
            return ELF_MENTION_YES;
    }
    return ELF_MENTION_NO;
}

bool
elf_find_symtab(const ElfFile *file, ElfTable *table)
{
    Tables tables;
    find_tables(file, &tables);
    for (size_t i = 0; i < tables.n; i++)
        if (tables.tables[i].is_symtab) {
            *table = tables.tables[i];
            return true;
        }
    return false;
}

static bool
has_name(const ElfFile *file, const ElfTable *table, const Elf64_Sym *symbol, const char *name)
{
    char found[ELF_PREFIX_MAX];
    const size_t size = strlen(name) + 1;
    return size <= sizeof(found) && is_within(symbol->st_name, size, table->strings_size) &&
           elf_read(file, table->strings + symbol->st_name, found, size) && memcmp(found, name, size) == 0;
}

static uint64_t
function_in(const ElfFile *file, const ElfTable *table, const char *name)
{
    for (uint64_t i = 0; i < table->n_symbols; i++) {
        Elf64_Sym symbol;
        if (!elf_read(file, table->symbols + i * sizeof(symbol), &symbol, sizeof(symbol)))
            return 0;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
            has_name(file, table, &symbol, name))
            return symbol.st_value;
    }
    return 0;
}

uint64_t
elf_find_function(const ElfFile *file, const char *name)
{
    Tables tables;
    uint64_t address = 0;
    find_tables(file, &tables);
    for (size_t i = 0; i < tables.n && address == 0; i++)
        address = function_in(file, &tables.tables[i], name);
    return address;
}

bool
elf_exports(const ElfFile *file, const char *name)
{
    Tables tables;
    find_tables(file, &tables);
    for (size_t i = 0; i < tables.n; i++)
        if (!tables.tables[i].is_symtab && function_in(file, &tables.tables[i], name) != 0)
            return true;
    return false;
}

bool
elf_holds_text(const ElfFile *file, const char *text, uint64_t limit)
{
    const size_t length = strlen(text);
    const uint64_t end = file->size < limit ? file->size : limit;
    /* Pieces overlap, so that a text across their boundary is found. */
    for (uint64_t at = 0; at + length <= end; at += file->scratch_size - length + 1) {
        size_t n = end - at < file->scratch_size ? (size_t)(end - at) : file->scratch_size;
        if (!elf_read(file, at, file->scratch, n))
            return false;
        if (memmem(file->scratch, n, text, length) != NULL)
            return true;
    }
    return false;
}

/* Reads the file's program headers to the scratch memory; returns their number, 0 if they do not fit. */
static size_t
read_program_headers(const ElfFile *file)
{
    Elf64_Ehdr header;
    if (!read_header(file, &header) || header.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    size_t size = header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phnum > PROGRAM_HEADERS_MAX || size > file->scratch_size ||
        !elf_read(file, header.e_phoff, file->scratch, size))
        return 0;
    return header.e_phnum;
}

bool
elf_has_program_headers(const ElfFile *file, const ElfW(Phdr) * headers, size_t n)
{
    return n > 0 && read_program_headers(file) == n && memcmp(file->scratch, headers, n * sizeof(*headers)) == 0;
}

bool
elf_read_address(const ElfFile *file, uint64_t address, void *bytes, size_t n)
{
    size_t n_headers = read_program_headers(file);
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(const void *)file->scratch;
    for (size_t i = 0; i < n_headers; i++) {
        if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_R) != 0 && address >= headers[i].p_vaddr &&
            is_within(address - headers[i].p_vaddr, n, headers[i].p_filesz)) {
            uint64_t within = address - headers[i].p_vaddr;
            return is_within(headers[i].p_offset, within, file->size) &&
                   elf_read(file, headers[i].p_offset + within, bytes, n);
        }
    }
    return false;
}
