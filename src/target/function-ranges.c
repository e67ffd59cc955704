/* SPDX-License-Identifier: Apache-2.0 */
#include "target/function-ranges.h"

#include <elf.h>
#include <string.h>

enum {
    SECTION_MAX = 512 * 1024 * 1024, /* maximum size of the symbols, and of their names */
    GAP_MAX = 16 * 1024, /* gap between two functions of jemalloc: padding, and functions with unknown names */
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

/* Functions on every stack of the main thread, which linkers may place in a gap between functions of jemalloc. */
static const char *const outermost[] = {"main", "_start"};

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

/* A new copy, or NULL. */
static void *
get(const ElfFile *file, guint64 offset, guint64 n)
{
    if (n == 0 || n > SECTION_MAX)
        return NULL;
    g_autofree char *bytes = g_malloc(n);
    return elf_read(file, offset, bytes, n) ? g_steal_pointer(&bytes) : NULL;
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

/* Merges ranges that are at most GAP_MAX apart. */
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

/* Removes INNER from the range that contains it. */
static void
cut_out(GArray *ranges, const FunctionRange *inner)
{
    for (guint i = 0; i < ranges->len; i++) {
        FunctionRange *range = &g_array_index(ranges, FunctionRange, i);
        if (inner->start <= range->start || inner->end >= range->end)
            continue;
        FunctionRange rest = {inner->end, range->end};
        range->end = inner->start;
        g_array_append_val(ranges, rest);
        return;
    }
}

GArray *
function_ranges_read(const ElfFile *file, const char *prefix, guint *jemalloc)
{
    g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    g_autoptr(GArray) program = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    ElfTable table = {0};
    gboolean in_source = FALSE;
    elf_find_symtab(file, &table);
    g_autofree Elf64_Sym *symbols = get(file, table.symbols, table.n_symbols * sizeof(*symbols));
    g_autofree char *strings = get(file, table.strings, table.strings_size);
    if (strings != NULL)
        strings[table.strings_size - 1] = '\0';
    for (guint64 i = 0; symbols != NULL && strings != NULL && i < table.n_symbols; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        const char *name = symbol->st_name < table.strings_size ? strings + symbol->st_name : "";
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
        else if (!local && is_listed(name, outermost, G_N_ELEMENTS(outermost)))
            g_array_append_val(program, range);
    }
    *jemalloc = own->len;
    GArray *ranges = merge(own);
    for (guint i = 0; i < program->len; i++)
        cut_out(ranges, &g_array_index(program, FunctionRange, i));
    g_array_append_vals(ranges, others->data, others->len);
    g_array_sort(ranges, compare_ranges);
    return ranges;
}
