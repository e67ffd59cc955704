/* SPDX-License-Identifier: Apache-2.0 */
#include "target/arguments.h"

#include "text/printable.h"

#include <string.h>

static const char hidden[] = "***";

/* Whether PART, the last of an option's name ("--db-password", "aws.secretKey"), marks a secret. */
static gboolean
is_secret_part(const char *part)
{
    static const char *const endings[] = {"password", "passwd",    "passphrase", "secret",     "token",     "apikey",
                                          "pass",     "accesskey", "secretkey",  "privatekey", "masterauth"};
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(part, endings[i]))
            return TRUE;
    return strcmp(part, "pwd") == 0;
}

/* "--api-key" is "apikey": parts that have a meaning only together. */
static gboolean
is_secret(const char *name, gsize length)
{
    g_autoptr(GString) joined = g_string_new(NULL);
    const char *last = name;
    for (gsize i = 0; i < length; i++)
        if (strchr("-_.:", name[i]) != NULL && name[i] != '\0')
            last = name + i + 1;
        else
            g_string_append_c(joined, g_ascii_tolower(name[i]));
    g_autofree char *part = g_ascii_strdown(last, (gssize)(name + length - last));
    return is_secret_part(part) || g_str_has_suffix(joined->str, "apikey") ||
           g_str_has_suffix(joined->str, "accesskey") || g_str_has_suffix(joined->str, "secretkey") ||
           g_str_has_suffix(joined->str, "privatekey");
}

/* The length of WORD up to the password of its first URL with one ("scheme://user:"), or 0; *END is then the password's
 * end. */
static gsize
url_password(const char *word, const char **end)
{
    for (const char *scheme = strstr(word, "://"); scheme != NULL; scheme = strstr(scheme + 1, "://")) {
        const char *user = scheme + strlen("://");
        const char *at = user + strcspn(user, "@/?#");
        const char *colon = *at == '@' ? memchr(user, ':', (gsize)(at - user)) : NULL;
        *end = at;
        if (colon != NULL)
            return (gsize)(colon + 1 - word);
    }
    return 0;
}

/* Appends WORD, replacing passwords in URLs: "scheme://user:password@host". */
static void
append_word(GString *text, const char *word)
{
    const char *end;
    for (gsize length = url_password(word, &end); length > 0; length = url_password(word, &end)) {
        g_string_append_len(text, word, (gssize)length);
        g_string_append(text, hidden);
        word = end;
    }
    g_string_append(text, word);
}

/* The beginning of the first secret in WORD, which may have several: "host=x password=y", "?a=b&token=c", "app --token
 * x" (of a shell, or as a title). */
static gsize
secret_in(const char *word)
{
    gsize begin = 0;
    for (gsize i = 0; word[i] != '\0'; i++) {
        const gboolean is_value = word[i] == '=' || (word[i] == ' ' && word[begin] == '-');
        if (is_value && is_secret(word + begin, i - begin))
            return i + 1;
        begin = strchr(" ;&,?=", word[i]) != NULL ? i + 1 : begin;
    }
    return strlen(word);
}

/* Omits everything after a secret in the same word, since its end is unknown. */
static void
append_up_to_secret(GString *text, const char *word)
{
    const gsize length = secret_in(word);
    g_autofree char *before = g_strndup(word, length);
    append_word(text, before);
    g_string_append(text, word[length] != '\0' ? hidden : "");
}

/* Appends an option. TRUE if the next word is a secret. */
static gboolean
append_option(GString *text, const char *word)
{
    append_up_to_secret(text, word);
    return strchr(word, '=') == NULL && is_secret(word, strlen(word));
}

/* Joins WORDS without secrets, separated by BETWEEN. */
static GString *
join_words(const char *words, gsize length, char between)
{
    GString *text = g_string_new(NULL);
    const char *end = words + length;
    gboolean secret = FALSE;
    for (const char *word = words; word < end; word += strnlen(word, (gsize)(end - word)) + 1) {
        g_autofree char *own = g_strndup(word, (gsize)(end - word));
        g_strdelimit(own, "\t\n\v\f\r", ' ');
        if (text->len > 0)
            g_string_append_c(text, between);
        if (secret && own[0] != '-') {
            g_string_append(text, own[0] != '\0' ? hidden : "");
            secret = FALSE;
        } else {
            /* The program itself is not an option. */
            secret = word == words ? (append_up_to_secret(text, own), FALSE) : append_option(text, own);
        }
    }
    return text;
}

char *
arguments_text(const char *words, gsize length)
{
    g_autoptr(GString) text = join_words(words, length, ' ');
    return text_printable(g_strchomp(text->str));
}

GString *
arguments_words(const char *words, gsize length)
{
    GString *text = join_words(words, length, '\0');
    if (length > 0)
        g_string_append_c(text, '\0');
    return text;
}
