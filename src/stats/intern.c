/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/intern.h"

enum {
    INTERNED_MAX = 65536,
    LENGTH_MAX = 512,
};

const char *
stats_intern(const char *text, gsize length)
{
    static gint interned = 0;
    if (length > LENGTH_MAX)
        return NULL;
    g_autofree char *copy = g_strndup(text, length);
    if (g_quark_try_string(copy) == 0 && g_atomic_int_add(&interned, 1) >= INTERNED_MAX) {
        g_atomic_int_set(&interned, INTERNED_MAX);
        return NULL;
    }
    return g_intern_string(copy);
}
