/* SPDX-License-Identifier: Apache-2.0 */
#include "target/dynamic.h"

#include <elf.h>
#include <string.h>

enum {
    HEADERS_MAX = 64,
    ENTRIES_MAX = 512,
    CHAIN_MAX = 4096, /* symbols examined per name */
    VERSIONS_MAX = 1024,
    SYMBOLS_MAX = 64 * 1024,
    HIDDEN = 0x8000, /* flag of a symbol's version: not the default */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { NATIVE_DATA = ELFDATA2LSB };
#else
enum { NATIVE_DATA = ELFDATA2MSB };
#endif

#if defined(__x86_64__)
enum { NATIVE_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = EM_AARCH64 };
#else
enum { NATIVE_MACHINE = EM_NONE };
#endif

static gboolean
get(const Dynamic *image, guint64 address, void *bytes, gsize n)
{
    return address != 0 && image->read(image->data, address, bytes, n);
}

static gboolean
read_headers(const Dynamic *image, Elf64_Phdr headers[HEADERS_MAX], guint *n)
{
    Elf64_Ehdr header;
    if (!image->read(image->data, image->base, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != NATIVE_DATA || header.e_machine != NATIVE_MACHINE || header.e_type != ET_DYN ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
        return FALSE;
    *n = header.e_phnum;
    return image->read(image->data, image->base + header.e_phoff, headers, *n * sizeof(*headers));
}

/* glibc relocates the addresses in the dynamic section of loaded objects; other C libraries do not. */
static guint64
loaded_address(const Dynamic *image, guint64 value)
{
    return value >= image->base ? value : image->bias + value;
}

static void
note_entry(Dynamic *image, const Elf64_Dyn *entry)
{
    const struct {
        Elf64_Sxword tag;
        guint64 *address;
    } addresses[] = {
        {DT_STRTAB, &image->strings},    {DT_SYMTAB, &image->symbols}, {DT_GNU_HASH, &image->hash},
        {DT_VERSYM, &image->version_of}, {DT_VERDEF, &image->given},   {DT_VERNEED, &image->needed},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(addresses); i++)
        if (entry->d_tag == addresses[i].tag)
            *addresses[i].address = loaded_address(image, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRSZ)
        image->strings_size = entry->d_un.d_val;
}

static gboolean
read_dynamic(Dynamic *image, guint64 address)
{
    for (guint i = 0; i < ENTRIES_MAX; i++) {
        Elf64_Dyn entry;
        if (!get(image, address + i * sizeof(entry), &entry, sizeof(entry)))
            return FALSE;
        if (entry.d_tag == DT_NULL)
            return image->strings != 0 && image->symbols != 0;
        note_entry(image, &entry);
    }
    return FALSE;
}

gboolean
dynamic_open(Dynamic *image)
{
    Elf64_Phdr headers[HEADERS_MAX];
    guint n;
    guint64 dynamic = 0;
    Dynamic found = {.read = image->read, .data = image->data, .base = image->base};
    if (!read_headers(image, headers, &n))
        return FALSE;
    gboolean loadable = FALSE;
    for (guint i = 0; i < n; i++) {
        if (headers[i].p_type == PT_LOAD && !loadable) {
            loadable = TRUE;
            found.bias = image->base - (headers[i].p_vaddr - headers[i].p_offset);
        }
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = headers[i].p_vaddr;
    }
    if (!loadable || dynamic == 0 || !read_dynamic(&found, found.bias + dynamic))
        return FALSE;
    *image = found;
    return TRUE;
}

/* Reads byte by byte, since the memory after the end of the string may not be readable. */
static gboolean
read_string(const Dynamic *image, guint64 offset, char text[DYNAMIC_NAME_MAX])
{
    for (guint i = 0; i < DYNAMIC_NAME_MAX && offset + i < image->strings_size; i++) {
        if (!get(image, image->strings + offset + i, &text[i], 1))
            return FALSE;
        if (text[i] == '\0')
            return TRUE;
    }
    return FALSE;
}

static gboolean
string_is(const Dynamic *image, guint64 offset, const char *text)
{
    char found[DYNAMIC_NAME_MAX];
    return read_string(image, offset, found) && strcmp(found, text) == 0;
}

static guint32
gnu_hash(const char *name)
{
    guint32 hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (guchar)*name;
    return hash;
}

/* Whether symbol INDEX is NAME with TYPE (STT_FUNC, STT_OBJECT) in its default version. */
static gboolean
judge_symbol(const Dynamic *image, guint64 index, const char *name, int type, Elf64_Sym *found)
{
    Elf64_Sym symbol;
    guint16 version = 0;
    if (!get(image, image->symbols + index * sizeof(symbol), &symbol, sizeof(symbol)) ||
        ELF64_ST_TYPE(symbol.st_info) != type || symbol.st_shndx == SHN_UNDEF)
        return FALSE;
    if (image->version_of != 0 && !get(image, image->version_of + index * sizeof(version), &version, sizeof(version)))
        return FALSE;
    if ((version & HIDDEN) != 0 || !string_is(image, symbol.st_name, name))
        return FALSE;
    *found = symbol;
    return TRUE;
}

static gboolean
find_symbol(const Dynamic *image, const char *name, int type, Elf64_Sym *found)
{
    struct {
        guint32 buckets;
        guint32 first;
        guint32 filter_words;
        guint32 shift;
    } table;
    const guint32 hash = gnu_hash(name);
    guint32 index;
    if (!get(image, image->hash, &table, sizeof(table)) || table.buckets == 0)
        return FALSE;
    const guint64 buckets = image->hash + sizeof(table) + (guint64)table.filter_words * sizeof(guint64);
    const guint64 chains = buckets + (guint64)table.buckets * sizeof(guint32);
    if (!get(image, buckets + (guint64)(hash % table.buckets) * sizeof(index), &index, sizeof(index)))
        return FALSE;
    for (guint i = 0; i < CHAIN_MAX && index >= table.first && table.first > 0; i++, index++) {
        guint32 chain;
        if (!get(image, chains + (guint64)(index - table.first) * sizeof(chain), &chain, sizeof(chain)))
            return FALSE;
        if ((chain | 1) == (hash | 1) && judge_symbol(image, index, name, type, found))
            return TRUE;
        if ((chain & 1) != 0)
            return FALSE;
    }
    return FALSE;
}

guint64
dynamic_function_sized(const Dynamic *image, const char *name, guint64 *size)
{
    Elf64_Sym symbol;
    if (!find_symbol(image, name, STT_FUNC, &symbol) || symbol.st_value == 0)
        return 0;
    *size = symbol.st_size;
    return image->bias + symbol.st_value;
}

guint64
dynamic_function(const Dynamic *image, const char *name)
{
    guint64 size;
    return dynamic_function_sized(image, name, &size);
}

guint64
dynamic_variable(const Dynamic *image, const char *name)
{
    Elf64_Sym symbol;
    return find_symbol(image, name, STT_OBJECT, &symbol) ? image->bias + symbol.st_value : 0;
}

gboolean
dynamic_name(const Dynamic *image, guint64 address, char name[DYNAMIC_NAME_MAX])
{
    Elf64_Sym symbol;
    /* The number of symbols is not stored, but linkers place the strings after them. */
    guint64 n = image->strings > image->symbols ? (image->strings - image->symbols) / sizeof(symbol) : 0;
    for (guint64 i = 1; i < MIN(n, SYMBOLS_MAX); i++) {
        if (!get(image, image->symbols + i * sizeof(symbol), &symbol, sizeof(symbol)))
            return FALSE;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
            address - (image->bias + symbol.st_value) < symbol.st_size)
            return read_string(image, symbol.st_name, name);
    }
    return FALSE;
}

gboolean
dynamic_gives(const Dynamic *image, const char *version)
{
    guint64 at = image->given;
    for (guint i = 0; i < VERSIONS_MAX; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux name;
        if (!get(image, at, &definition, sizeof(definition)) ||
            !get(image, at + definition.vd_aux, &name, sizeof(name)))
            return FALSE;
        if (string_is(image, name.vda_name, version))
            return TRUE;
        if (definition.vd_next == 0)
            return FALSE;
        at += definition.vd_next;
    }
    return FALSE;
}

static void
add_needs(const Dynamic *image, const Elf64_Verneed *library, guint64 at, GPtrArray *versions)
{
    at += library->vn_aux;
    for (guint i = 0; i < library->vn_cnt && versions->len < VERSIONS_MAX; i++) {
        Elf64_Vernaux need;
        char name[DYNAMIC_NAME_MAX];
        if (!get(image, at, &need, sizeof(need)) || !read_string(image, need.vna_name, name))
            return;
        g_ptr_array_add(versions, g_strdup(name));
        if (need.vna_next == 0)
            return;
        at += need.vna_next;
    }
}

char **
dynamic_needs(const Dynamic *image, const char *library)
{
    g_autoptr(GPtrArray) versions = g_ptr_array_new();
    guint64 at = image->needed;
    Elf64_Verneed need;
    for (guint i = 0; i < VERSIONS_MAX && get(image, at, &need, sizeof(need)); i++) {
        if (string_is(image, need.vn_file, library))
            add_needs(image, &need, at, versions);
        if (need.vn_next == 0)
            break;
        at += need.vn_next;
    }
    g_ptr_array_add(versions, NULL);
    return (char **)g_ptr_array_steal(versions, NULL);
}

gboolean
dynamic_read_file(gpointer bytes, guint64 address, void *buffer, gsize n)
{
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);
    Elf64_Ehdr header;
    /* The headers are read before any segment is known. */
    guint64 offset = address;
    if (size < sizeof(header))
        return FALSE;
    memcpy(&header, data, sizeof(header));
    for (guint i = 0; i < MIN(header.e_phnum, HEADERS_MAX); i++) {
        Elf64_Phdr segment;
        guint64 at = header.e_phoff + i * sizeof(segment);
        if (at > size || size - at < sizeof(segment))
            return FALSE;
        memcpy(&segment, data + at, sizeof(segment));
        if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz)
            offset = address - segment.p_vaddr + segment.p_offset;
    }
    if (offset > size || size - offset < n)
        return FALSE;
    memcpy(buffer, data + offset, n);
    return TRUE;
}
