/* SPDX-License-Identifier: Apache-2.0 */
#include "target/extent-hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENAS_MAX = 4096,    /* jemalloc has fewer */
    EXTENT_FUNCTIONS = 9, /* of extent_hooks_t, */
    CHUNK_FUNCTIONS = 7,  /* and of jemalloc 4's chunk_hooks_t */
};

static const char prefix[] = "arena.";

gboolean
extent_hooks_are_called_by(const char *control)
{
    return g_str_has_prefix(control, prefix);
}

/* NULL functions are jemalloc's own defaults. */
static gboolean
are_of_jemalloc(const RemoteJemalloc *jemalloc, const guint64 *functions, guint n)
{
    const guint ranges = jemalloc->ranges != NULL ? jemalloc->ranges->len : 0;
    for (guint i = 0; i < n; i++) {
        gboolean found = functions[i] == 0;
        for (guint r = 0; r < ranges && !found; r++) {
            const FunctionRange *range = &g_array_index(jemalloc->ranges, FunctionRange, r);
            found = functions[i] >= range->start && functions[i] < range->end;
        }
        if (!found)
            return FALSE;
    }
    return TRUE;
}

/* *N: how many the arena has; 0 if it does not exist yet, or in jemalloc 3. */
static gboolean
read_functions(Tracee *tracee, const RemoteJemalloc *jemalloc, guint arena, guint64 functions[EXTENT_FUNCTIONS],
               guint *n, GError **error)
{
    g_autofree char *extent = g_strdup_printf("%s%u.extent_hooks", prefix, arena);
    g_autofree char *chunk = g_strdup_printf("%s%u.chunk_hooks", prefix, arena);
    guint64 address = 0;
    int failure;
    if (!remote_control_bytes(tracee, jemalloc, extent, &address, sizeof(address), &failure, error))
        return FALSE;
    *n = failure == 0 ? EXTENT_FUNCTIONS : 0;
    if (failure == 0)
        return tracee_read(tracee, address, functions, EXTENT_FUNCTIONS * sizeof(*functions), error);
    if (failure != ENOENT)
        return TRUE;
    if (!remote_control_bytes(tracee, jemalloc, chunk, functions, CHUNK_FUNCTIONS * sizeof(*functions), &failure,
                              error))
        return FALSE;
    *n = failure == 0 ? CHUNK_FUNCTIONS : 0;
    return TRUE;
}

gboolean
extent_hooks_find(Tracee *tracee, const RemoteJemalloc *jemalloc, const char *control, int *arena, GError **error)
{
    RemoteControl count = {.name = "arenas.narenas", .type = WIRE_TYPE_UNSIGNED, .access = REMOTE_READ};
    *arena = -1;
    if (!remote_control(tracee, jemalloc, &count, error))
        return FALSE;
    const guint arenas = count.error == 0 ? (guint)MIN(count.value, (guint64)ARENAS_MAX) : 0;
    const guint64 named = g_ascii_strtoull(control + strlen(prefix), NULL, 10);
    const gboolean one = named < arenas; /* larger numbers stand for all */
    for (guint i = one ? (guint)named : 0; i < (one ? (guint)named + 1 : arenas); i++) {
        guint64 functions[EXTENT_FUNCTIONS];
        guint n;
        if (!read_functions(tracee, jemalloc, i, functions, &n, error))
            return FALSE;
        if (!are_of_jemalloc(jemalloc, functions, n)) {
            *arena = (int)i;
            return TRUE;
        }
    }
    return TRUE;
}
