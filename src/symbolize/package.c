/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/package.h"

#include <string.h>

#define DPKG_LISTS "/var/lib/dpkg/info"

/* Whether the list has path as a line. Files of merged directories are listed with and without "/usr". */
static gboolean
lists_path(const char *list, gsize size, const char *path)
{
    gsize length = strlen(path);

    for (const char *at = list; (at = memmem(at, size - (gsize)(at - list), path, length)) != NULL; at++) {
        gboolean starts = at == list || at[-1] == '\n';
        gboolean ends = at + length == list + size || at[length] == '\n';
        if (starts && ends)
            return TRUE;
    }
    return FALSE;
}

static gboolean
owns(const char *list_name, const char *path)
{
    g_autofree char *file = g_build_filename(DPKG_LISTS, list_name, NULL);
    g_autoptr(GMappedFile) mapped = g_mapped_file_new(file, FALSE, NULL);
    const char *list = mapped ? g_mapped_file_get_contents(mapped) : NULL;
    const char *without_usr = g_str_has_prefix(path, "/usr/") ? path + strlen("/usr") : path;

    return list && (lists_path(list, g_mapped_file_get_length(mapped), path) ||
                    lists_path(list, g_mapped_file_get_length(mapped), without_usr));
}

/* The C library's packages have the older name. */
static char *
debug_package(const char *list_name)
{
    g_autofree char *package = g_strndup(list_name, strcspn(list_name, ":") - (strchr(list_name, ':') ? 0 : 5));

    if (g_str_equal(package, "libc6"))
        return g_strdup("libc6-dbg");
    return g_strconcat(package, "-dbgsym", NULL);
}

char *
package_of_debug_symbols(const char *path)
{
    g_autoptr(GDir) lists = g_dir_open(DPKG_LISTS, 0, NULL);
    const char *name;

    while (lists && (name = g_dir_read_name(lists)) != NULL)
        if (g_str_has_suffix(name, ".list") && owns(name, path))
            return debug_package(name);
    return NULL;
}
