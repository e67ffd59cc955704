/* SPDX-License-Identifier: Apache-2.0 */
#include "client/token.h"

#include "target/target.h"

#include <string.h>
#include <sys/stat.h>

enum {
    TOKEN_FILE_MAX = 64 * 1024,
};

/* The token of LINE, "TOKEN" or, as in a token file of `jescope serve`, "ROLE TOKEN [NAME]"; NULL: it has none. */
static char *
token_in(const char *line)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t\r", -1);
    gboolean role = words[0] != NULL && (g_str_equal(words[0], "read") || g_str_equal(words[0], "control"));
    const char *token = role ? words[1] : words[0];
    gboolean sound = token != NULL && token[0] != '\0' && token[0] != '#';
    for (const char *at = token; sound && *at != '\0'; at++)
        sound = g_ascii_isgraph(*at);
    return sound ? g_strdup(token) : NULL;
}

char *
token_read(const char *path, GError **error)
{
    struct stat st;
    g_autofree char *text = NULL;
    gsize length;
    if (stat(path, &st) == 0 && (st.st_size > TOKEN_FILE_MAX || (S_ISREG(st.st_mode) && (st.st_mode & 077) != 0))) {
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    st.st_size > TOKEN_FILE_MAX ? "the token file %s is too large"
                                                : "other users can read or change the token file %s; chmod 600 it",
                    path);
        return NULL;
    }
    if (!g_file_get_contents(path, &text, &length, error)) {
        g_prefix_error(error, "cannot read the token file: ");
        return NULL;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    char *token = NULL;
    for (char **line = lines; *line != NULL && token == NULL; line++)
        token = token_in(*line);
    if (token == NULL)
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "the token file %s has no token", path);
    return token;
}
