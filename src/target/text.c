/* SPDX-License-Identifier: Apache-2.0 */
#include "target/text.h"

void
text_clean(char *text, gsize size)
{
    text[size - 1] = '\0';
    const char *bad;
    while (!g_utf8_validate(text, -1, &bad))
        text[bad - text] = '?';
    for (; *text != '\0'; text++)
        if (g_ascii_iscntrl(*text) && *text != '\n' && *text != '\t')
            *text = '?';
}

void
text_clean_line(char *text, gsize size)
{
    text_clean(text, size);
    g_strdelimit(text, "\n\t", '?');
}
