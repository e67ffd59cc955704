/* SPDX-License-Identifier: Apache-2.0 */
#include "target/unit.h"

#include <string.h>

static const char service_suffix[] = ".service", scope_suffix[] = ".scope", user_prefix[] = "user@";

gboolean
unit_is_name(const char *name)
{
    static const char allowed[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ":-_.\\@";
    return strlen(name) < UNIT_NAME_SIZE && strspn(name, allowed) == strlen(name);
}

static char *
innermost(const char *path, const char *const *suffixes)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    for (guint i = g_strv_length(parts); i > 0; i--)
        for (const char *const *suffix = suffixes; *suffix != NULL; suffix++)
            if (g_str_has_suffix(parts[i - 1], *suffix) && unit_is_name(parts[i - 1]))
                return g_strdup(parts[i - 1]);
    return NULL;
}

char *
unit_innermost(const char *path, const char *suffix)
{
    const char *const suffixes[] = {suffix, NULL};
    return innermost(path, suffixes);
}

/* The user of the outermost "user@1000.service" above another unit. */
static uid_t
manager_of(const char *path, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    for (char **part = parts; *part != NULL && strcmp(*part, name) != 0; part++) {
        guint64 user;
        if (!g_str_has_prefix(*part, user_prefix) || !g_str_has_suffix(*part, service_suffix))
            continue;
        g_autofree char *digits =
            g_strndup(*part + strlen(user_prefix), strlen(*part) - strlen(user_prefix) - strlen(service_suffix));
        if (g_ascii_string_to_unsigned(digits, 10, 0, (uid_t)-2, &user, NULL))
            return (uid_t)user;
    }
    return (uid_t)-1;
}

gboolean
unit_of_path(const char *path, Unit *unit)
{
    static const char *const suffixes[] = {service_suffix, scope_suffix, NULL};
    g_autofree char *name = innermost(path, suffixes);
    if (name == NULL)
        return FALSE;
    *unit = (Unit){.manager = manager_of(path, name)};
    g_strlcpy(unit->name, name, sizeof(unit->name));
    return TRUE;
}
