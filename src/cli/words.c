/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"

#include "cli/command.h"
#include "text/suggest.h"

#include <string.h>

gboolean
words_find(const char *const *words, const char *option, const char *word, guint *index, GError **error)
{
    for (guint i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0) {
            if (index != NULL)
                *index = i;
            return TRUE;
        }
    const char *meant = suggest(word, words);
    g_autofree char *all = g_strjoinv(", ", (char **)(gpointer)(guintptr)words);
    if (meant != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown value '%s'; did you mean '%s'? (known: %s)", option,
                    word, meant, all);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown value '%s'; known: %s", option, word, all);
    return FALSE;
}
