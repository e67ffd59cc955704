/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote-code.h"

#include "target/loaded.h"
#include "target/target.h"

#include <string.h>

enum {
    SEARCHED_MAX = 8 * 1024 * 1024,       /* bytes of one mapping; the C library has a quarter of it */
    SEARCHED_ALL_MAX = 16 * SEARCHED_MAX, /* of all, which the process may have thousands of */
};

/* The C library is searched first: its code is assembly with correct unwind information. */
static const char *const preferred[] = {"libc.so", "libc-", "ld-musl", ""};

static guint64 *
field_of(RemoteCode *code, const CodePattern *pattern)
{
    return (guint64 *)(void *)((char *)code + pattern->field);
}

void
remote_code_search(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code)
{
    for (gsize i = 0; i < registers_n_patterns; i++) {
        const CodePattern *pattern = &registers_patterns[i];
        guint64 *field = field_of(code, pattern);
        const guint8 *at = *field == 0 ? memmem(bytes, length, pattern->bytes, pattern->length) : NULL;
        if (at != NULL)
            *field = address + (guint64)(at - bytes);
    }
    registers_find_store(bytes, length, address, code);
}

gboolean
remote_code_is_complete(const RemoteCode *code)
{
    RemoteCode copy = *code;
    if (registers_needs_store && code->store == 0)
        return FALSE;
    for (gsize i = 0; i < registers_n_patterns; i++)
        if (*field_of(&copy, &registers_patterns[i]) == 0)
            return FALSE;
    return TRUE;
}

/* Returns the number of bytes that could be read. */
static gsize
search_mapping(const AddressSpace *space, const Mapping *mapping, gsize most, RemoteCode *code)
{
    gsize length = (gsize)MIN(mapping->end - mapping->start, (guint64)MIN(most, SEARCHED_MAX));
    g_autofree guint8 *bytes = g_malloc(length);
    length = remote_read_some(space->pid, mapping->start, bytes, length);
    remote_code_search(bytes, length, mapping->start, code);
    return length;
}

/* Whether MAPPING is of one of OBJECTS. */
static gboolean
is_of(const GArray *objects, const AddressSpace *space, const Mapping *mapping)
{
    for (guint i = 0; i < objects->len; i++)
        if (loaded_contains(space, &g_array_index(objects, LoadedObject, i), mapping))
            return TRUE;
    return FALSE;
}

/* Searches the mappings whose names have PREFIX, of OBJECTS; NULL: of any. Returns the number of bytes that could be
 * read. */
static gsize
search_mappings(const AddressSpace *space, const char *prefix, const GArray *objects, gsize most, RemoteCode *code)
{
    gsize length = 0;
    for (guint i = 0; i < space->mappings->len && length < most && !remote_code_is_complete(code); i++) {
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, i);
        g_autofree char *name = mapping_name(mapping);
        if ((mapping->flags & MAPPING_EXECUTE) != 0 && g_str_has_prefix(name, prefix) &&
            (objects == NULL || is_of(objects, space, mapping)))
            length += search_mapping(space, mapping, most - length, code);
    }
    return length;
}

/* The loader takes the place of the caller of dlopen() for the namespace in which it loads a library: the copies of
 * dlmopen() are searched last. */
gboolean
remote_code_find(const AddressSpace *space, const GArray *objects, RemoteCode *code, GError **error)
{
    RemoteCode found = {0};
    gsize length = 0;
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(preferred); i++)
        length += search_mappings(space, preferred[i % G_N_ELEMENTS(preferred)],
                                  i < G_N_ELEMENTS(preferred) ? objects : NULL, SEARCHED_ALL_MAX - length, &found);
    if (length == 0) {
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "process %d has ended", (int)space->pid);
        return FALSE;
    }
    if (!remote_code_is_complete(&found)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "process %d has no code through which a call could return (%s), so no function can be called in "
                    "it; start it with an agent, under 'jescope run'",
                    (int)space->pid, found.back == 0 ? "no rt_sigreturn: it never handles a signal" : "no epilogue");
        return FALSE;
    }
    *code = found;
    return TRUE;
}
