/* SPDX-License-Identifier: Apache-2.0 */
#include "client/head.h"

/* The number of compressions that a LINE of N bytes names. A continuation line counts as more than allowed: libcurl's
 * versions handle it differently. */
static guint
codings_in(const char *data, gsize n)
{
    g_autofree char *line = g_strndup(data, n);
    if (line[0] == ' ' || line[0] == '\t')
        return HEAD_CODINGS_MAX + 1;
    g_auto(GStrv) words = g_strsplit_set(line, ":, \t\r\n", -1);
    if (words[0] == NULL || (g_ascii_strcasecmp(words[0], "content-encoding") != 0 &&
                             g_ascii_strcasecmp(words[0], "transfer-encoding") != 0))
        return 0;
    guint codings = 0;
    for (char **word = words + 1; *word != NULL; word++)
        codings += **word != '\0' && g_ascii_strcasecmp(*word, "chunked") != 0;
    return codings;
}

gboolean
head_take(Head *head, const char *line, gsize n)
{
    head->bytes += n;
    head->codings += codings_in(line, n);
    return !head_is_too_large(head) && !head_is_coded_again(head);
}

gboolean
head_is_too_large(const Head *head)
{
    return head->bytes > HEAD_MAX;
}

gboolean
head_is_coded_again(const Head *head)
{
    return head->codings > HEAD_CODINGS_MAX;
}
