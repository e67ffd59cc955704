/* SPDX-License-Identifier: Apache-2.0 */
#include "report/wrappers.h"

#include "report/function-name.h"

#include <stdlib.h>
#include <string.h>

/* Sorted. Names that programs use for their own functions (alloc, allocate, new_object) are not included; see --fold.
 * */
static const char *const functions[] = {
    "AllocSetAlloc",
    "AllocSetRealloc",
    "CRYPTO_calloc",
    "CRYPTO_clear_realloc",
    "CRYPTO_malloc",
    "CRYPTO_memdup",
    "CRYPTO_realloc",
    "CRYPTO_strdup",
    "CRYPTO_zalloc",
    "MemoryContextAlloc",
    "MemoryContextAllocExtended",
    "MemoryContextAllocHuge",
    "MemoryContextAllocZero",
    "MemoryContextAllocZeroAligned",
    "MemoryContextStrdup",
    "PyMem_Calloc",
    "PyMem_Malloc",
    "PyMem_RawCalloc",
    "PyMem_RawMalloc",
    "PyMem_RawRealloc",
    "PyMem_Realloc",
    "PyObject_Calloc",
    "PyObject_Malloc",
    "PyObject_Realloc",
    "_PyMem_RawCalloc",
    "_PyMem_RawMalloc",
    "_PyMem_RawRealloc",
    "_PyObject_Calloc",
    "_PyObject_Malloc",
    "_PyObject_Realloc",
    "__asprintf",
    "__strdup",
    "__strndup",
    "__vasprintf_internal",
    "apr_palloc",
    "apr_pcalloc",
    "asprintf",
    "checked_malloc",
    "ecalloc",
    "emalloc",
    "erealloc",
    "estrdup",
    "g_aligned_alloc",
    "g_aligned_alloc0",
    "g_malloc",
    "g_malloc0",
    "g_malloc0_n",
    "g_malloc_n",
    "g_memdup",
    "g_memdup2",
    "g_realloc",
    "g_realloc_n",
    "g_slice_alloc",
    "g_slice_alloc0",
    "g_slice_copy",
    "g_strdup",
    "g_strdup_printf",
    "g_strdup_vprintf",
    "g_strndup",
    "g_try_malloc",
    "g_try_malloc0",
    "g_try_malloc0_n",
    "g_try_malloc_n",
    "g_try_realloc",
    "g_try_realloc_n",
    "l_alloc",
    "luaM_growaux_",
    "luaM_malloc_",
    "luaM_realloc_",
    "luaM_saferealloc_",
    "mm_alloc",
    "mm_realloc",
    "my_malloc",
    "my_memdup",
    "my_multi_malloc",
    "my_raw_malloc",
    "my_realloc",
    "my_strdup",
    "my_strndup",
    "new_arena",
    "ngx_alloc",
    "ngx_calloc",
    "ngx_memalign",
    "ngx_palloc",
    "ngx_palloc_block",
    "ngx_palloc_large",
    "ngx_palloc_small",
    "ngx_pcalloc",
    "ngx_pmemalign",
    "ngx_pnalloc",
    "objspace_xcalloc",
    "objspace_xmalloc",
    "objspace_xmalloc0",
    "objspace_xrealloc",
    "palloc",
    "palloc0",
    "palloc_extended",
    "pnstrdup",
    "pstrdup",
    "pymalloc_alloc",
    "repalloc",
    "ruby_xcalloc",
    "ruby_xmalloc",
    "ruby_xmalloc2",
    "ruby_xrealloc",
    "ruby_xrealloc2",
    "s_malloc",
    "s_realloc",
    "safe_calloc",
    "safe_malloc",
    "safe_realloc",
    "sqlite3DbMallocRaw",
    "sqlite3DbMallocRawNN",
    "sqlite3DbMallocZero",
    "sqlite3DbRealloc",
    "sqlite3Malloc",
    "sqlite3MallocZero",
    "sqlite3MemMalloc",
    "sqlite3MemRealloc",
    "sqlite3Realloc",
    "sqlite3_malloc",
    "sqlite3_malloc64",
    "sqlite3_realloc",
    "sqlite3_realloc64",
    "strdup",
    "strndup",
    "uv__calloc",
    "uv__malloc",
    "uv__realloc",
    "uv__strdup",
    "vasprintf",
    "x2nrealloc",
    "x2realloc",
    "xasprintf",
    "xcalloc",
    "xcharalloc",
    "xmalloc",
    "xmemdup",
    "xnmalloc",
    "xnrealloc",
    "xrealloc",
    "xstrdup",
    "xstrndup",
    "xvasprintf",
    "xzalloc",
    "zcalloc",
    "zcalloc_num",
    "zmalloc",
    "zmalloc_cache_aligned",
    "zmalloc_no_tcache",
    "zmalloc_usable",
    "zrealloc",
    "zrealloc_usable",
    "zstrdup",
    "ztrycalloc",
    "ztrycalloc_usable",
    "ztrycalloc_usable_internal",
    "ztrymalloc",
    "ztrymalloc_usable",
    "ztrymalloc_usable_internal",
    "ztryrealloc",
    "ztryrealloc_usable",
    "ztryrealloc_usable_internal",
};

/* Whole families of one library. */
static const char *const prefixes[] = {
    "isc__mem",
    "isc_mem_",
    "tikv_jemallocator::",
    "jemallocator::",
    "mimalloc::",
    "Memory::newImpl",
    "DB::Memory::",
    "Allocator<",
    "node::Malloc",
    "node::UncheckedMalloc",
    "node::Realloc",
    "node::Calloc",
    "node::UncheckedCalloc",
    "node::UncheckedRealloc",
    "v8::internal::AllocWithRetry",
    "v8::internal::NewArray",
    "v8::internal::AlignedAlloc",
    "node::NodeArrayBufferAllocator::",
};

/* Prefixes of the paths of language libraries. */
static const char *const language_prefixes[] = {
    "std::", "__gnu_cxx::", "__cxxabiv1::", "alloc::", "core::", "hashbrown::",
};

static int
compare_names(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

static gboolean
begins_with_any(const char *name, const char *const *list, guint n)
{
    for (guint i = 0; i < n; i++)
        if (g_str_has_prefix(name, list[i]))
            return TRUE;
    return FALSE;
}

static gboolean
is_language_path(const char *path)
{
    return begins_with_any(path, language_prefixes, G_N_ELEMENTS(language_prefixes));
}

/* Traits that are only visible inside the library, which therefore implements them. */
static const char *const private_traits[] = {
    "alloc::vec::spec_",
    "alloc::vec::in_place_",
    "alloc::slice::hack::",
    "alloc::string::Spec",
};

/* "u8" and "(u8, i32)", but no "shop::Item": a type without a path is built into the language. */
static gboolean
is_built_in(const char *type, const char *end)
{
    return (g_ascii_islower(type[0]) || type[0] == '(') && !g_strstr_len(type, end - type, "::");
}

/*
 * Rust: "<alloc::vec::Vec<T> as Clone>::clone" belongs to the library, "<shop::Item as core::clone::Clone>::clone" to
 * the program. Code of a trait alone ("<T as alloc::slice::Join>", one letter stands for any type), of the library's
 * own trait for a built-in type ("<u8 as alloc::vec::spec_from_elem::SpecFromElem>"), and of a private trait belongs to
 * the library.
 */
static gboolean
is_language_implementation(const char *name)
{
    const char *type = name + 1 + strspn(name + 1, "&*");

    if (g_str_has_prefix(type, "mut "))
        type += strlen("mut ");
    if (g_ascii_isupper(type[0]) && g_str_has_prefix(type + 1, " as "))
        type += strlen("T as ");

    const char *as = strstr(type, " as ");
    const char *trait = as ? as + strlen(" as ") : "";

    if (begins_with_any(trait, private_traits, G_N_ELEMENTS(private_traits)))
        return TRUE;
    return is_language_path(type) || type[0] == '[' || (as && is_built_in(type, as) && is_language_path(trait));
}

gboolean
wrapper_is_language(const char *plain)
{
    return plain[0] == '<' ? is_language_implementation(plain) : is_language_path(plain);
}

static gboolean
is_listed(const char *name)
{
    /* The prefix of glibc's internal aliases in its debug information. */
    if (g_str_has_prefix(name, "__GI_"))
        name += strlen("__GI_");
    return bsearch(name, functions, G_N_ELEMENTS(functions), sizeof(functions[0]), compare_names) != NULL;
}

/* "shop::PoolAllocator<int>::allocate": a class whose name says that it is an allocator, with a function whose name
 * says that it allocates. */
static gboolean
is_allocator_member(const char *plain, const char *last)
{
    static const char *const members[] = {"allocate", "alloc",   "alloc_zeroed", "malloc",
                                          "calloc",   "realloc", "reallocate"};
    g_autofree char *elided = NULL;
    g_autofree char *class = NULL;
    gboolean member = FALSE;

    for (guint i = 0; i < G_N_ELEMENTS(members); i++)
        member = member || g_str_equal(last, members[i]);
    if (!member || last - plain < 2)
        return FALSE;
    class = g_strndup(plain, (gsize)(last - plain) - 2);
    elided = function_name_elide(function_name_last(class));
    return strstr(elided, "llocator") != NULL || strstr(elided, "GlobalAlloc") != NULL;
}

gboolean
wrapper_is_known(const char *plain)
{
    const char *last = function_name_last(plain);

    return is_listed(plain) || begins_with_any(plain, prefixes, G_N_ELEMENTS(prefixes)) || wrapper_is_language(plain) ||
           g_str_equal(last, "operator new") || g_str_equal(last, "operator new[]") || is_allocator_member(plain, last);
}

/* Sorted. */
static const char *const generic_words[] = {
    "aligned", "alloc",  "allocate", "allocator", "array",    "block",   "buf",  "buffer", "bytes",
    "calloc",  "check",  "checked",  "chunk",     "copy",     "create",  "die",  "do",     "dup",
    "fail",    "get",    "heap",     "impl",      "internal", "malloc",  "mem",  "memdup", "memory",
    "must",    "my",     "n",        "new",       "or",       "palloc",  "pool", "raw",    "realloc",
    "safe",    "str",    "strdup",   "string",    "strndup",  "try",     "util", "wrap",   "wrapper",
    "x",       "xalloc", "xcalloc",  "xmalloc",   "xrealloc", "xstrdup", "z",    "zalloc", "zero",
};

static const char *const trade_words[] = {"alloc", "dup"};

/* The next word of a name written like_this or LikeThis, in lower case; NULL at the end. */
static char *
next_word(const char **name)
{
    const char *begin = *name + strspn(*name, "_0123456789");
    const char *end = begin;

    if (*begin == '\0')
        return NULL;
    while (g_ascii_isupper(*end))
        end++;
    while (g_ascii_islower(*end))
        end++;
    end += end == begin;
    *name = end;
    return g_ascii_strdown(begin, end - begin);
}

static gboolean
is_generic_word(const char *word)
{
    return bsearch(word, generic_words, G_N_ELEMENTS(generic_words), sizeof(generic_words[0]), compare_names) != NULL;
}

/* An "x" in front says that it does not return without memory: xdup. */
gboolean
wrapper_is_generic(const char *plain)
{
    const char *rest = function_name_last(plain);
    gboolean allocates = FALSE;

    for (;;) {
        g_autofree char *word = next_word(&rest);
        if (!word)
            return allocates;
        if (!is_generic_word(word) && !(word[0] == 'x' && is_generic_word(word + 1)))
            return FALSE;
        for (guint i = 0; i < G_N_ELEMENTS(trade_words); i++)
            allocates = allocates || g_str_has_suffix(word, trade_words[i]) || g_str_has_prefix(word, "alloc");
    }
}
