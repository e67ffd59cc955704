/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json-check.h"

#include <string.h>

enum { LEVELS_MAX = 64 };

typedef struct {
    const char *at, *end;
    guint64 objects; /* a bit for each level: it is an object, not an array */
    guint levels;
} Check;

static void
skip_blanks(Check *check)
{
    while (check->at < check->end && memchr(" \t\r\n", *check->at, 4) != NULL)
        check->at++;
}

static gboolean
take(Check *check, char wanted)
{
    if (check->at == check->end || *check->at != wanted)
        return FALSE;
    check->at++;
    return TRUE;
}

static gboolean
take_digits(Check *check)
{
    const char *begin = check->at;
    while (check->at < check->end && g_ascii_isdigit(*check->at))
        check->at++;
    return check->at > begin;
}

static gboolean
take_number(Check *check)
{
    take(check, '-');
    if (!take(check, '0') && !take_digits(check))
        return FALSE;
    if (take(check, '.') && !take_digits(check))
        return FALSE;
    if (!take(check, 'e') && !take(check, 'E'))
        return TRUE;
    if (!take(check, '+'))
        take(check, '-');
    return take_digits(check);
}

static gboolean
take_escape(Check *check)
{
    if (check->at == check->end)
        return FALSE;
    const char letter = *check->at++;
    if (letter != 'u')
        return letter != '\0' && strchr("\"\\/bfnrt", letter) != NULL;
    for (guint i = 0; i < 4; i++, check->at++)
        if (check->at == check->end || !g_ascii_isxdigit(*check->at))
            return FALSE;
    return TRUE;
}

static gboolean
take_string(Check *check)
{
    if (!take(check, '"'))
        return FALSE;
    while (check->at < check->end) {
        const guchar letter = (guchar)*check->at++;
        if (letter == '"')
            return TRUE;
        if (letter < ' ' || (letter == '\\' && !take_escape(check)))
            return FALSE;
    }
    return FALSE;
}

static gboolean
take_word(Check *check, const char *word)
{
    const gsize length = strlen(word);
    if ((gsize)(check->end - check->at) < length || memcmp(check->at, word, length) != 0)
        return FALSE;
    check->at += length;
    return TRUE;
}

static gboolean
take_scalar(Check *check)
{
    if (check->at < check->end && *check->at == '"')
        return take_string(check);
    return take_word(check, "true") || take_word(check, "false") || take_word(check, "null") || take_number(check);
}

static gboolean
in_object(const Check *check)
{
    return (check->objects >> (check->levels - 1) & 1) != 0;
}

static gboolean
take_key(Check *check)
{
    skip_blanks(check);
    if (!take_string(check))
        return FALSE;
    skip_blanks(check);
    return take(check, ':');
}

/* Takes what ends objects and arrays, up to the next value. FALSE: no value follows. *FINE: the text so far is valid.
 */
static gboolean
take_ends(Check *check, gboolean *fine)
{
    for (;;) {
        skip_blanks(check);
        if (check->levels == 0)
            return FALSE;
        if (take(check, ',')) {
            *fine = !in_object(check) || take_key(check);
            return *fine;
        }
        *fine = take(check, in_object(check) ? '}' : ']');
        if (!*fine)
            return FALSE;
        check->levels--;
    }
}

/* Takes a scalar, an empty object or array, or the beginning of another one, in which case *INSIDE is set. */
static gboolean
take_beginning(Check *check, gboolean *inside)
{
    const gboolean object = take(check, '{');
    *inside = FALSE;
    if (!object && !take(check, '['))
        return take_scalar(check);
    skip_blanks(check);
    if (take(check, object ? '}' : ']'))
        return TRUE;
    if (check->levels == LEVELS_MAX)
        return FALSE;
    const guint64 bit = G_GUINT64_CONSTANT(1) << check->levels++;
    check->objects = object ? check->objects | bit : check->objects & ~bit;
    *inside = TRUE;
    return !object || take_key(check);
}

gboolean
json_check(const char *text, gsize length)
{
    Check check = {.at = text, .end = text + length};
    gboolean fine = g_utf8_validate_len(text, length, NULL), inside = TRUE;
    while (fine) {
        skip_blanks(&check);
        fine = take_beginning(&check, &inside);
        if (fine && !inside && !take_ends(&check, &fine))
            break;
    }
    return fine && check.at == check.end;
}
