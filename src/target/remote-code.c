/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote-code.h"

#include "target/target.h"

#include <string.h>

enum {
    SEARCHED_MAX = 8 * 1024 * 1024, /* bytes of one mapping; the C library has a quarter of that */
};

/* The C library first: it is written in assembly there, by people who look at what unwinders make of it. */
static const char *const preferred[] = {"libc.so", "libc-", "ld-musl", ""};

static guint64 *
field_of(RemoteCode *code, const CodePattern *pattern)
{
    return (guint64 *)(void *)((char *)code + pattern->field);
}

/* The first place where PATTERN stands, or NULL. */
static const guint8 *
find_pattern(const guint8 *bytes, gsize length, const CodePattern *pattern)
{
    gsize fixed = pattern->any < 0 ? pattern->length : (gsize)pattern->any;
    const guint8 *end = bytes + length;
    const guint8 *at = bytes;
    while ((at = memmem(at, (gsize)(end - at), pattern->bytes, fixed)) != NULL) {
        if ((gsize)(end - at) < pattern->length)
            return NULL;
        gsize rest = fixed == pattern->length ? fixed : fixed + 1;
        if (memcmp(at + rest, pattern->bytes + rest, pattern->length - rest) == 0)
            return at;
        at++;
    }
    return NULL;
}

void
remote_code_search(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code)
{
    for (gsize i = 0; i < registers_n_patterns; i++) {
        const CodePattern *pattern = &registers_patterns[i];
        guint64 *field = field_of(code, pattern);
        const guint8 *at = *field == 0 ? find_pattern(bytes, length, pattern) : NULL;
        if (at == NULL)
            continue;
        *field = address + (guint64)(at - bytes);
        if (pattern->any >= 0)
            code->offset = (gint8)at[pattern->any];
    }
}

gboolean
remote_code_is_complete(const RemoteCode *code)
{
    RemoteCode copy = *code;
    for (gsize i = 0; i < registers_n_patterns; i++)
        if (*field_of(&copy, &registers_patterns[i]) == 0)
            return FALSE;
    return TRUE;
}

static void
search_mapping(const AddressSpace *space, const Mapping *mapping, RemoteCode *code)
{
    gsize length = (gsize)MIN(mapping->end - mapping->start, (guint64)SEARCHED_MAX);
    g_autofree guint8 *bytes = g_malloc(length);
    remote_code_search(bytes, remote_read_some(space->pid, mapping->start, bytes, length), mapping->start, code);
}

gboolean
remote_code_find(const AddressSpace *space, RemoteCode *code, GError **error)
{
    RemoteCode found = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(preferred); i++)
        for (guint j = 0; j < space->mappings->len && !remote_code_is_complete(&found); j++) {
            const Mapping *mapping = &g_array_index(space->mappings, Mapping, j);
            g_autofree char *name = mapping_name(mapping);
            if ((mapping->flags & MAPPING_EXECUTE) != 0 && g_str_has_prefix(name, preferred[i]))
                search_mapping(space, mapping, &found);
        }
    if (!remote_code_is_complete(&found)) {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PERMISSION,
                    "process %d has no C library that we know our way back through, or its memory is not ours to read",
                    (int)space->pid);
        return FALSE;
    }
    *code = found;
    return TRUE;
}
