/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sql.h"

#include <string.h>

enum { NAME_MAX_BYTES = 64 };

void
sql_append_text(GString *sql, const char *text)
{
    g_string_append_c(sql, '\'');
    for (const char *at = text; *at != '\0'; at++)
        if (g_ascii_isalnum(*at) || strchr(" _.,:;/@+-=()[]<>", *at) != NULL)
            g_string_append_c(sql, *at);
        else
            g_string_append_printf(sql, "\\x%02X", (guint)(guchar)*at);
    g_string_append_c(sql, '\'');
}

gboolean
sql_is_name(const char *name)
{
    return name[0] != '\0' && !g_ascii_isdigit(name[0]) && strlen(name) <= NAME_MAX_BYTES &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") == strlen(name);
}
