/* SPDX-License-Identifier: Apache-2.0 */
#include "run/conf.h"

#include "target/diagnosis.h"

#include <string.h>

static const char variable_suffix[] = "MALLOC_CONF";

/* None, that of Rust's tikv-jemallocator, and two common in custom builds. */
static const char *const usual_prefixes[] = {"", "_rjem_", "je_", "jem_"};

char *
conf_merge(const char *defaults, const char *user, const char *asked)
{
    const char *const parts[] = {defaults, user != NULL ? user : "", asked};
    GString *merged = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i][0] != '\0')
            g_string_append_printf(merged, "%s%s", merged->len > 0 ? "," : "", parts[i]);
    return g_string_free(merged, FALSE);
}

char *
conf_value(const char *conf, const char *key)
{
    g_auto(GStrv) pairs = g_strsplit(conf, ",", -1);
    size_t length = strlen(key);
    const char *value = NULL;
    for (char **pair = pairs; *pair != NULL; pair++)
        if (strncmp(*pair, key, length) == 0 && (*pair)[length] == ':')
            value = *pair + length + 1;
    return g_strdup(value);
}

static void
add_variable(GPtrArray *names, char *name)
{
    if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_free(name);
    else
        g_ptr_array_add(names, name);
}

void
conf_set_variables(char ***environment, const char *prefix, const char *defaults, const char *asked)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < G_N_ELEMENTS(usual_prefixes); i++)
        add_variable(names, diagnosis_conf_variable(usual_prefixes[i]));
    if (prefix != NULL)
        add_variable(names, diagnosis_conf_variable(prefix));
    for (char **entry = *environment; *entry != NULL; entry++) {
        g_autofree char *name = g_strndup(*entry, strcspn(*entry, "="));
        if (g_str_has_suffix(name, variable_suffix))
            add_variable(names, g_steal_pointer(&name));
    }
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *merged = conf_merge(defaults, g_environ_getenv(*environment, names->pdata[i]), asked);
        *environment = g_environ_setenv(*environment, names->pdata[i], merged, TRUE);
    }
}
