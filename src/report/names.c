/* SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

#include <stdlib.h>
#include <string.h>

/* jeprof's list (compatible with its RemoveUninterestingFrames) plus Rust's and jemalloc's own entry points; sorted. */
static const char *const allocator_functions[] = {
    "::do_malloc",
    "::do_malloc_or_cpp_alloc",
    "DoSampledAllocation",
    "__builtin_delete",
    "__builtin_new",
    "__builtin_vec_delete",
    "__builtin_vec_new",
    "__libc_calloc",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_realloc",
    "__malloc_alloc_template::allocate",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    "__rg_alloc",
    "__rg_alloc_zeroed",
    "__rg_realloc",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "aligned_alloc",
    "calloc",
    "cfree",
    "dallocx",
    "do_malloc",
    "do_rallocx",
    "fallbackNewImpl",
    "fallback_impl",
    "free",
    "ialloc_prof_sample",
    "icalloc",
    "imalloc",
    "imalloc_body",
    "imemalign",
    "irallocx_prof",
    "je_malloc_default",
    "malloc",
    "malloc_default",
    "malloc_impl",
    "malloc_zone_calloc",
    "malloc_zone_free",
    "malloc_zone_malloc",
    "malloc_zone_memalign",
    "malloc_zone_realloc",
    "malloc_zone_valloc",
    "mallocx",
    "memalign",
    "newImpl",
    "operator new",
    "operator new[]",
    "posix_memalign",
    "prof_alloc_prep",
    "prof_backtrace",
    "prof_backtrace_impl",
    "pvalloc",
    "rallocx",
    "realloc",
    "sdallocx",
    "sdallocx_noflags",
    "simple_alloc::allocate",
    "smallocx",
    "tc_calloc",
    "tc_cfree",
    "tc_delete",
    "tc_deletearray",
    "tc_free",
    "tc_malloc",
    "tc_memalign",
    "tc_new",
    "tc_new_nothrow",
    "tc_newarray",
    "tc_newarray_nothrow",
    "tc_posix_memalign",
    "tc_pvalloc",
    "tc_realloc",
    "tc_valloc",
    "valloc",
    "void* newImpl",
    "xallocx",
};

/* Prefixes of the public names in some builds of jemalloc. */
static const char *const allocator_prefixes[] = {"je_", "_rjem_je_", "_rjem_", "jem_", "_"};

static const char *const allocator_objects[] = {"libjemalloc.so", "libjemalloc_pic.so", "libtcmalloc"};

/* Removes every balanced open...close pair with its content (and " const" after parentheses). */
static void
cut_pairs(GString *text, char open, char close)
{
    g_autoptr(GArray) opened = g_array_new(FALSE, FALSE, sizeof(gsize));
    gsize to = 0;

    for (gsize from = 0; from < text->len; from++) {
        char c = text->str[from];
        if (c == open)
            g_array_append_val(opened, to);
        if (c != close || opened->len == 0) {
            text->str[to++] = c;
            continue;
        }
        to = g_array_index(opened, gsize, opened->len - 1);
        g_array_set_size(opened, opened->len - 1);
        if (open == '(') {
            gsize behind = from + 1 + strspn(text->str + from + 1, " ");
            if (g_str_has_prefix(text->str + behind, "const"))
                from = behind + strlen("const") - 1;
        }
    }
    g_string_truncate(text, to);
}

/* Drops a return type: everything up to the last blank before a qualified name "word::". */
static const char *
skip_type(const char *name)
{
    const char *best = name;

    for (const char *blank = name; (blank = strchr(blank, ' ')) != NULL; blank++) {
        const char *word = blank + 1;
        const char *end = word;
        while (g_ascii_isalnum(*end) || *end == '_')
            end++;
        if (end > word && end[0] == ':' && end[1] == ':')
            best = word;
    }
    return best;
}

char *
name_shorten(const char *name)
{
    g_autoptr(GString) text = g_string_new(name);

    cut_pairs(text, '(', ')');
    cut_pairs(text, '<', '>');
    return g_strdup(skip_type(text->str));
}

static int
compare_names(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

static gboolean
is_listed(const char *name)
{
    return bsearch(name, allocator_functions, G_N_ELEMENTS(allocator_functions), sizeof(allocator_functions[0]),
                   compare_names) != NULL;
}

gboolean
name_is_allocator(const char *plain)
{
    g_autofree char *shortened = strchr(plain, '<') ? name_shorten(plain) : NULL;
    const char *name = shortened ? shortened : plain;

    if (is_listed(name) || g_str_has_prefix(name, "tcmalloc::") || strstr(name, "TCMalloc"))
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(allocator_prefixes); i++)
        if (g_str_has_prefix(name, allocator_prefixes[i]) && is_listed(name + strlen(allocator_prefixes[i])))
            return TRUE;
    return FALSE;
}

gboolean
name_is_allocator_object(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    for (guint i = 0; i < G_N_ELEMENTS(allocator_objects); i++)
        if (g_str_has_prefix(base, allocator_objects[i]))
            return TRUE;
    return FALSE;
}
