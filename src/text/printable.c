/* SPDX-License-Identifier: Apache-2.0 */
#include "text/printable.h"

#include <string.h>

static const char ellipsis[] = "...";

/* g_utf8_next_char() casts the const away. */
static const char *
next_character(const char *text)
{
    return text + g_utf8_skip[*(const guchar *)text];
}

static gboolean
may_stay(gunichar character)
{
    switch (g_unichar_type(character)) {
    case G_UNICODE_CONTROL:             /* C0, DEL, C1 */
    case G_UNICODE_FORMAT:              /* bidirectional and zero-width characters */
    case G_UNICODE_LINE_SEPARATOR:      /* U+2028 */
    case G_UNICODE_PARAGRAPH_SEPARATOR: /* U+2029 */
    case G_UNICODE_SURROGATE:
        return FALSE;
    case G_UNICODE_UNASSIGNED:
        return (character & 0xfffe) != 0xfffe; /* noncharacters, two of which make XML invalid */
    default:
        return TRUE;
    }
}

static void
clean(char *text, gsize size, const char *kept)
{
    text[size - 1] = '\0';
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        gunichar character = g_utf8_get_char_validated(from, -1);
        gboolean valid = character != (gunichar)-1 && character != (gunichar)-2;
        gsize length = valid ? (gsize)(next_character(from) - from) : 1;
        if (valid && (may_stay(character) || strchr(kept, *from) != NULL)) {
            memmove(to, from, length);
            to += length;
        } else {
            *to++ = '?';
        }
        from += length;
    }
    *to = '\0';
}

void
text_clean(char *text, gsize size)
{
    clean(text, size, "\n\t");
}

void
text_clean_line(char *text, gsize size)
{
    clean(text, size, "");
}

gboolean
text_is_printable(const char *text)
{
    for (; *text != '\0'; text = next_character(text)) {
        gunichar character = g_utf8_get_char_validated(text, -1);
        if (character == (gunichar)-1 || character == (gunichar)-2 || !may_stay(character))
            return FALSE;
    }
    return TRUE;
}

char *
text_printable(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));
    while (*text != '\0') {
        gunichar character = g_utf8_get_char_validated(text, -1);
        if (character == (gunichar)-1 || character == (gunichar)-2) {
            g_string_append_printf(out, "\\x{%02X}", (guint)(guchar)*text++);
            continue;
        }
        if (may_stay(character))
            g_string_append_unichar(out, character);
        else
            g_string_append_printf(out, "\\u{%04X}", character);
        text = next_character(text);
    }
    return g_string_free(out, FALSE);
}

char *
text_printable_json(const char *json)
{
    GString *out = g_string_sized_new(strlen(json));
    for (; *json != '\0'; json = next_character(json)) {
        gunichar character = g_utf8_get_char(json);
        glong n = 0;
        if (may_stay(character) || character == '\n' || character == '\t') {
            g_string_append_unichar(out, character);
            continue;
        }
        g_autofree gunichar2 *units = g_ucs4_to_utf16(&character, 1, NULL, &n, NULL);
        for (glong i = 0; i < n; i++)
            g_string_append_printf(out, "\\u%04x", (guint)units[i]);
    }
    return g_string_free(out, FALSE);
}

static guint
columns_of(gunichar character)
{
    return g_unichar_iszerowidth(character) ? 0 : g_unichar_iswide(character) ? 2 : 1;
}

guint
text_columns(const char *text)
{
    guint columns = 0;
    for (; *text != '\0'; text = next_character(text))
        columns += columns_of(g_utf8_get_char(text));
    return columns;
}

/* The end of the longest prefix of TEXT that takes at most COLUMNS. */
static const char *
end_of_columns(const char *text, guint columns)
{
    guint used = 0;
    for (; *text != '\0'; text = next_character(text)) {
        used += columns_of(g_utf8_get_char(text));
        if (used > columns)
            break;
    }
    return text;
}

char *
text_cut(const char *text, guint columns)
{
    if (*end_of_columns(text, columns) == '\0')
        return g_strdup(text);
    guint dots = MIN(columns, (guint)strlen(ellipsis));
    const char *end = end_of_columns(text, columns - dots);
    return g_strdup_printf("%.*s%.*s", (int)(end - text), text, (int)dots, ellipsis);
}

char *
text_field(const char *text, guint columns)
{
    g_autofree char *cut = text_cut(text, columns);
    return g_strdup_printf("%s%*s", cut, (int)(columns - text_columns(cut)), "");
}

/* The position after the line that TEXT begins with. */
static const char *
end_of_line(const char *text, guint columns)
{
    const char *end = end_of_columns(text, columns);
    const char *blank = end;

    if (*end == '\0' || *end == ' ')
        return end;
    while (blank > text && blank[-1] != ' ')
        blank--;
    if (blank > text)
        return blank;
    return end > text ? end : next_character(text);
}

char **
text_wrap(const char *text, guint columns)
{
    g_autoptr(GStrvBuilder) lines = g_strv_builder_new();

    do {
        const char *end = end_of_line(text, columns);
        g_autofree char *line = g_strchomp(g_strndup(text, (gsize)(end - text)));
        g_strv_builder_add(lines, line);
        text = end + strspn(end, " ");
    } while (*text != '\0');
    return g_strv_builder_end(lines);
}
