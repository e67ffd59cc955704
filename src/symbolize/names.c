/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/names.h"
#include "confine/keyed-hash.h"
#include "symbolize/demangle.h"

#include <limits.h>
#include <string.h>

#define BLOCK_FRAMES 4096

struct Names {
    GMutex mutex;
    StringPool *strings;
    GHashTable *demangled; /* linkage name -> function, both from strings */
    GPtrArray *blocks;     /* of BLOCK_FRAMES SymbolFrame, or of one larger request */
    GPtrArray *files;      /* GMappedFile */
    guint32 left;          /* unused frames at the end of the last block */
    NameBudget budget;     /* of strings */
};

char *
name_budget_cut(NameBudget *budget, const char *text)
{
    const gsize length = strlen(text);
    const gsize over = length > NAME_COMMON ? length - NAME_COMMON : 0;
    gsize kept = NAME_COMMON;

    if (over <= NAMES_MOST_OVER - budget->over) {
        budget->over += over;
        return NULL;
    }
    while (kept > 0 && ((guchar)text[kept] & 0xc0) == 0x80) /* within a character */
        kept--;
    return g_strdup_printf("%.*s…", (int)kept, text);
}

gsize
name_size(const Name *name)
{
    const char *const texts[] = {name->function, name->system_name != name->function ? name->system_name : NULL};
    gsize size = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        size += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
    return size;
}

Names *
names_new(void)
{
    Names *names = g_new0(Names, 1);
    g_mutex_init(&names->mutex);
    names->strings = string_pool_new();
    names->demangled = g_hash_table_new(g_direct_hash, g_direct_equal);
    names->blocks = g_ptr_array_new_with_free_func(g_free);
    names->files = g_ptr_array_new_with_free_func((GDestroyNotify)g_mapped_file_unref);
    return names;
}

void
names_free(Names *names)
{
    if (names == NULL)
        return;
    g_ptr_array_unref(names->blocks);
    g_ptr_array_unref(names->files);
    g_hash_table_unref(names->demangled);
    string_pool_free(names->strings);
    g_mutex_clear(&names->mutex);
    g_free(names);
}

static const char *
insert(Names *names, const char *text, gsize length)
{
    char small[256];
    g_autofree char *large = length < sizeof(small) ? NULL : g_malloc(length + 1);
    char *copy = large != NULL ? large : small;
    memcpy(copy, text, length);
    copy[length] = '\0';
    const char *known = string_pool_find(names->strings, copy);
    if (known != NULL)
        return known;
    g_autofree char *cut = name_budget_cut(&names->budget, copy);
    return string_pool_insert(names->strings, cut != NULL ? cut : copy);
}

const char *
names_string(Names *names, const char *text, gsize length)
{
    g_mutex_lock(&names->mutex);
    const char *copy = insert(names, text, length);
    g_mutex_unlock(&names->mutex);
    return copy;
}

Name
names_function(Names *names, const char *linkage, gsize length)
{
    g_mutex_lock(&names->mutex);
    const char *system_name = insert(names, linkage, length);
    const char *function = g_hash_table_lookup(names->demangled, system_name);
    g_mutex_unlock(&names->mutex);
    if (function != NULL)
        return (Name){function, system_name};
    g_autofree char *plain = demangle(system_name); /* outside the lock: the expensive part */
    g_mutex_lock(&names->mutex);
    function = plain != NULL ? insert(names, plain, strlen(plain)) : system_name;
    g_hash_table_insert(names->demangled, (gpointer)(guintptr)system_name, (gpointer)(guintptr)function);
    g_mutex_unlock(&names->mutex);
    return (Name){function, system_name};
}

SymbolFrame *
names_frames(Names *names, guint32 n)
{
    if (n > BLOCK_FRAMES) {
        SymbolFrame *block = g_new0(SymbolFrame, n);
        g_mutex_lock(&names->mutex);
        g_ptr_array_insert(names->blocks, 0, block); /* the last block remains the one being filled */
        g_mutex_unlock(&names->mutex);
        return block;
    }
    g_mutex_lock(&names->mutex);
    if (names->left < n) {
        g_ptr_array_add(names->blocks, g_new0(SymbolFrame, BLOCK_FRAMES));
        names->left = BLOCK_FRAMES;
    }
    SymbolFrame *block = names->blocks->pdata[names->blocks->len - 1];
    SymbolFrame *frames = block + (BLOCK_FRAMES - names->left);
    names->left -= n;
    g_mutex_unlock(&names->mutex);
    return frames;
}

Symbol
names_unknown(Names *names, const ProfileObject *object, guint64 address)
{
    g_autofree char *text = NULL;
    if (object == NULL || object->path[0] == '\0') {
        text = g_strdup_printf("[0x%" G_GINT64_MODIFIER "x]", address);
    } else {
        g_autofree char *name = g_path_get_basename(object->path);
        g_autofree char *bare = name[0] == '[' ? g_strndup(name + 1, strcspn(name + 1, "]")) : g_strdup(name);
        text =
            g_strdup_printf("[%.*s+0x%" G_GINT64_MODIFIER "x]", NAME_MAX, bare, address); /* a dump may say anything */
    }
    SymbolFrame *frame = names_frames(names, 1);
    frame->function = names_string(names, text, strlen(text));
    frame->system_name = frame->function;
    return (Symbol){frame, 1};
}

void
names_keep(Names *names, GMappedFile *file)
{
    g_mutex_lock(&names->mutex);
    g_ptr_array_add(names->files, file);
    g_mutex_unlock(&names->mutex);
}
