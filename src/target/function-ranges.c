/* SPDX-License-Identifier: Apache-2.0 */
#include "target/function-ranges.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECTION_MAX = 512 * 1024 * 1024, /* of symbols or their names */
    GAP_MAX = 16 * 1024, /* between two functions of jemalloc: padding, and functions without a name we know */
};

/* The sources of jemalloc 3 to 5 (src/), sorted. */
static const char *const sources[] = {
    "arena.c",
    "atomic.c",
    "background_thread.c",
    "base.c",
    "batcher.c",
    "bin.c",
    "bin_info.c",
    "bitmap.c",
    "buf_writer.c",
    "cache_bin.c",
    "chunk.c",
    "chunk_dss.c",
    "chunk_mmap.c",
    "ckh.c",
    "counter.c",
    "ctl.c",
    "decay.c",
    "div.c",
    "ecache.c",
    "edata.c",
    "edata_cache.c",
    "ehooks.c",
    "emap.c",
    "eset.c",
    "exp_grow.c",
    "extent.c",
    "extent_dss.c",
    "extent_mmap.c",
    "fxp.c",
    "hash.c",
    "hook.c",
    "hpa.c",
    "hpa_hooks.c",
    "hpdata.c",
    "huge.c",
    "inspect.c",
    "jemalloc.c",
    "jemalloc_cpp.cpp",
    "large.c",
    "log.c",
    "malloc_io.c",
    "mb.c",
    "mutex.c",
    "mutex_pool.c",
    "nstime.c",
    "pa.c",
    "pa_extra.c",
    "pac.c",
    "pages.c",
    "pai.c",
    "peak_event.c",
    "prng.c",
    "prof.c",
    "prof_data.c",
    "prof_log.c",
    "prof_recent.c",
    "prof_stack_range.c",
    "prof_stats.c",
    "prof_sys.c",
    "psset.c",
    "quarantine.c",
    "rtree.c",
    "safety_check.c",
    "san.c",
    "san_bump.c",
    "sc.c",
    "sec.c",
    "spin.c",
    "stats.c",
    "sz.c",
    "tcache.c",
    "test_hooks.c",
    "thread_event.c",
    "ticker.c",
    "tsd.c",
    "util.c",
    "valgrind.c",
    "witness.c",
};

static const char *const forks[] = {
    "fork", "__fork", "__libc_fork", "_Fork", "vfork", "__vfork", "__run_prefork_handlers", "__run_postfork_handlers"};

static const char *const publics[] = {"mallctl",
                                      "mallctlnametomib",
                                      "mallctlbymib",
                                      "malloc",
                                      "calloc",
                                      "realloc",
                                      "free",
                                      "memalign",
                                      "valloc",
                                      "posix_memalign",
                                      "aligned_alloc",
                                      "malloc_stats_print",
                                      "malloc_usable_size",
                                      "mallocx",
                                      "rallocx",
                                      "xallocx",
                                      "sallocx",
                                      "dallocx",
                                      "sdallocx",
                                      "nallocx"};

/* .symtab with its strings, which end in a NUL. */
typedef struct {
    Elf64_Sym *symbols;
    gsize n;
    char *strings;
    gsize strings_size;
} Symtab;

gboolean
function_file_init(FunctionFile *file, int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || status.st_size <= 0)
        return FALSE;
    *file = (FunctionFile){.descriptor = descriptor, .size = (guint64)status.st_size};
    return TRUE;
}

/* All N bytes at OFFSET, or FALSE. */
static gboolean
get(const FunctionFile *file, guint64 offset, void *bytes, guint64 n)
{
    if (offset > file->size || n > file->size - offset)
        return FALSE;
    if (file->bytes != NULL) {
        memcpy(bytes, file->bytes + offset, n);
        return TRUE;
    }
    for (guint64 done = 0; done < n;) {
        ssize_t got = pread(file->descriptor, (char *)bytes + done, n - done, (off_t)(offset + done));
        if (got <= 0)
            return FALSE;
        done += (guint64)got;
    }
    return TRUE;
}

/* A new copy, or NULL. */
static void *
get_section(const FunctionFile *file, const Elf64_Shdr *section)
{
    if (section->sh_size == 0 || section->sh_size > SECTION_MAX || section->sh_size > file->size)
        return NULL;
    g_autofree char *bytes = g_malloc(section->sh_size);
    return get(file, section->sh_offset, bytes, section->sh_size) ? g_steal_pointer(&bytes) : NULL;
}

static gboolean
section_at(const FunctionFile *file, const Elf64_Ehdr *header, guint64 index, Elf64_Shdr *section)
{
    return index < header->e_shnum && header->e_shoff <= file->size &&
           get(file, header->e_shoff + index * sizeof(*section), section, sizeof(*section));
}

static gboolean
read_symtab(const FunctionFile *file, const Elf64_Ehdr *header, const Elf64_Shdr *section, Symtab *symtab)
{
    Elf64_Shdr strings;
    if (section->sh_entsize != sizeof(Elf64_Sym) || !section_at(file, header, section->sh_link, &strings) ||
        strings.sh_type != SHT_STRTAB)
        return FALSE;
    symtab->symbols = get_section(file, section);
    symtab->strings = get_section(file, &strings);
    if (symtab->symbols == NULL || symtab->strings == NULL)
        return FALSE;
    symtab->n = section->sh_size / sizeof(Elf64_Sym);
    symtab->strings_size = strings.sh_size;
    symtab->strings[strings.sh_size - 1] = '\0';
    return TRUE;
}

static void
clear_symtab(Symtab *symtab)
{
    g_free(symtab->symbols);
    g_free(symtab->strings);
    *symtab = (Symtab){0};
}

/* Leaves *SYMTAB empty if there is none. */
static void
find_symtab(const FunctionFile *file, Symtab *symtab)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    if (!get(file, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(section))
        return;
    for (guint64 i = 0; section_at(file, &header, i, &section); i++) {
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (!read_symtab(file, &header, &section, symtab))
            clear_symtab(symtab);
        return;
    }
}

static const char *
name_of(const Symtab *symtab, const Elf64_Sym *symbol)
{
    return symbol->st_name < symtab->strings_size ? symtab->strings + symbol->st_name : "";
}

static gboolean
is_listed(const char *name, const char *const *list, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return TRUE;
    return FALSE;
}

/* A linker may put a suffix on a local function: "arena_decay.isra.0". */
static gboolean
is_jemalloc_name(const char *name, const char *prefix)
{
    gboolean prefixed = g_str_has_prefix(name, prefix);
    const char *bare = prefixed ? name + strlen(prefix) : name;
    return g_str_has_prefix(name, "je_") || (prefixed && g_str_has_prefix(bare, "je_")) ||
           (prefixed && is_listed(bare, publics, G_N_ELEMENTS(publics)));
}

static gint
compare_ranges(gconstpointer a, gconstpointer b)
{
    const FunctionRange *left = a;
    const FunctionRange *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* Makes one of two that touch or nearly do. */
static GArray *
merge(GArray *ranges)
{
    GArray *merged = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    g_array_sort(ranges, compare_ranges);
    for (guint i = 0; i < ranges->len; i++) {
        const FunctionRange *range = &g_array_index(ranges, FunctionRange, i);
        FunctionRange *last = merged->len > 0 ? &g_array_index(merged, FunctionRange, merged->len - 1) : NULL;
        if (last != NULL && (range->start <= last->end || range->start - last->end <= GAP_MAX))
            last->end = MAX(last->end, range->end);
        else
            g_array_append_vals(merged, range, 1);
    }
    return merged;
}

/* Puts FROM behind TO, which stays sorted. */
static void
add_sorted(GArray *to, const GArray *from)
{
    g_array_append_vals(to, from->data, from->len);
    g_array_sort(to, compare_ranges);
}

GArray *
function_ranges_read(const FunctionFile *file, const char *prefix, guint *jemalloc)
{
    g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    Symtab symtab = {0};
    gboolean in_source = FALSE;
    find_symtab(file, &symtab);
    for (gsize i = 0; i < symtab.n; i++) {
        const Elf64_Sym *symbol = &symtab.symbols[i];
        const char *name = name_of(&symtab, symbol);
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FILE)
            in_source = is_listed(name, sources, G_N_ELEMENTS(sources));
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
            symbol->st_value > G_MAXUINT64 - symbol->st_size)
            continue;
        FunctionRange range = {symbol->st_value, symbol->st_value + symbol->st_size};
        gboolean local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
        if ((local && in_source) || is_jemalloc_name(name, prefix))
            g_array_append_val(own, range);
        else if (is_listed(name, forks, G_N_ELEMENTS(forks)))
            g_array_append_val(others, range);
    }
    clear_symtab(&symtab);
    *jemalloc = own->len;
    GArray *ranges = merge(own);
    add_sorted(ranges, others);
    return ranges;
}
