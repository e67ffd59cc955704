/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/flat-json.h"

#include <string.h>

enum {
    HEX_DIGITS = 4,
};

static void
skip_blanks(FlatJson *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL && *json->at != '\0')
        json->at++;
}

static bool
take(FlatJson *json, char c)
{
    if (json->at == json->end || *json->at != c)
        return false;
    json->at++;
    return true;
}

static bool
is_digit(const FlatJson *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

/* ---- strings ---- */

static void
put(QueryValue *value, size_t *n, unsigned byte)
{
    if (*n < sizeof(value->text) - 1)
        value->text[(*n)++] = (char)byte;
    else
        value->state = QUERY_LONG;
}

static void
put_utf8(QueryValue *value, size_t *n, unsigned c)
{
    if (c < 0x80) {
        put(value, n, c);
    } else if (c < 0x800) {
        put(value, n, 0xc0 | c >> 6);
        put(value, n, 0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(value, n, 0xe0 | c >> 12);
        put(value, n, 0x80 | (c >> 6 & 0x3f));
        put(value, n, 0x80 | (c & 0x3f));
    } else {
        put(value, n, 0xf0 | c >> 18);
        put(value, n, 0x80 | (c >> 12 & 0x3f));
        put(value, n, 0x80 | (c >> 6 & 0x3f));
        put(value, n, 0x80 | (c & 0x3f));
    }
}

static bool
take_hex(FlatJson *json, unsigned *unit)
{
    static const char digits[] = "0123456789abcdef";
    *unit = 0;
    for (int i = 0; i < HEX_DIGITS; i++, json->at++) {
        const char *digit = json->at < json->end && *json->at != '\0'
                                ? strchr(digits, *json->at >= 'A' && *json->at <= 'F' ? *json->at | 0x20 : *json->at)
                                : NULL;
        if (digit == NULL)
            return false;
        *unit = *unit << 4 | (unsigned)(digit - digits);
    }
    return true;
}

/* After "\u". A NUL and an incomplete surrogate pair are errors. */
static bool
take_unicode(FlatJson *json, QueryValue *value, size_t *n)
{
    unsigned c, low;
    if (!take_hex(json, &c) || c == 0 || (c >= 0xdc00 && c < 0xe000))
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (!take(json, '\\') || !take(json, 'u') || !take_hex(json, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(value, n, c);
    return true;
}

/* Decodes the rest of an escape sequence, after the backslash. */
static bool
take_escape(FlatJson *json, QueryValue *value, size_t *n)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (take(json, 'u'))
        return take_unicode(json, value, n);
    const char *letter = json->at < json->end && *json->at != '\0' ? strchr(letters, *json->at) : NULL;
    if (letter == NULL)
        return false;
    json->at++;
    put(value, n, (unsigned char)meant[letter - letters]);
    return true;
}

static bool
take_string(FlatJson *json, QueryValue *value)
{
    size_t n = 0;
    value->state = QUERY_GIVEN;
    if (!take(json, '"'))
        return false;
    while (!take(json, '"')) {
        if (json->at == json->end || (unsigned char)*json->at < ' ')
            return false;
        if (take(json, '\\')) {
            if (!take_escape(json, value, &n))
                return false;
        } else {
            put(value, &n, (unsigned char)*json->at++);
        }
    }
    value->text[n] = '\0';
    return true;
}

/* ---- other values ---- */

static void
copy_text(const char *begin, const char *end, QueryValue *value)
{
    size_t n = 0;
    value->state = QUERY_GIVEN;
    while (begin < end)
        put(value, &n, (unsigned char)*begin++);
    value->text[n] = '\0';
}

static bool
take_digits(FlatJson *json)
{
    bool any = is_digit(json);
    while (is_digit(json))
        json->at++;
    return any;
}

static bool
take_number(FlatJson *json, FlatMember *member)
{
    const char *begin = json->at;
    take(json, '-');
    bool valid = take(json, '0') ? !is_digit(json) : take_digits(json);
    member->kind = FLAT_INTEGER;
    if (take(json, '.')) {
        valid = take_digits(json) && valid;
        member->kind = FLAT_NUMBER;
    }
    if (take(json, 'e') || take(json, 'E')) {
        (void)(take(json, '+') || take(json, '-'));
        valid = take_digits(json) && valid;
        member->kind = FLAT_NUMBER;
    }
    copy_text(begin, json->at, &member->value);
    return valid;
}

static bool
take_word(FlatJson *json, const char *word, FlatKind kind, FlatMember *member)
{
    size_t n = strlen(word);
    if ((size_t)(json->end - json->at) < n || memcmp(json->at, word, n) != 0)
        return false;
    copy_text(json->at, json->at + n, &member->value);
    json->at += n;
    member->kind = kind;
    return true;
}

static bool
take_value(FlatJson *json, FlatMember *member)
{
    if (json->at == json->end)
        return false;
    if (*json->at == '"') {
        member->kind = FLAT_STRING;
        return take_string(json, &member->value);
    }
    if (*json->at == '{' || *json->at == '[') {
        member->kind = FLAT_OTHER;
        copy_text(json->at, json->at + 1, &member->value);
        return true;
    }
    return take_word(json, "true", FLAT_BOOLEAN, member) || take_word(json, "false", FLAT_BOOLEAN, member) ||
           take_word(json, "null", FLAT_OTHER, member) || take_number(json, member);
}

/* ---- the object ---- */

bool
flat_json_is_meant(const char *text, size_t size)
{
    FlatJson json = {.at = text, .end = text + size};
    skip_blanks(&json);
    return json.at < json.end && (*json.at == '{' || *json.at == '[');
}

void
flat_json_begin(FlatJson *json, const char *text, size_t size)
{
    *json = (FlatJson){.at = text, .end = text + size};
}

static FlatStep
finish(FlatJson *json)
{
    skip_blanks(json);
    return json->at == json->end ? FLAT_END : FLAT_BROKEN;
}

FlatStep
flat_json_next(FlatJson *json, FlatMember *member)
{
    bool first = !json->begun;
    skip_blanks(json);
    if (first && !take(json, '{'))
        return FLAT_BROKEN;
    json->begun = true;
    skip_blanks(json);
    if (take(json, '}'))
        return finish(json);
    if (!first && !take(json, ','))
        return FLAT_BROKEN;
    skip_blanks(json);
    if (!take_string(json, &member->name))
        return FLAT_BROKEN;
    skip_blanks(json);
    if (!take(json, ':'))
        return FLAT_BROKEN;
    skip_blanks(json);
    return take_value(json, member) ? FLAT_MEMBER : FLAT_BROKEN;
}

QueryState
flat_json_find(const char *text, size_t size, const char *name, QueryValue *value)
{
    FlatJson json;
    FlatMember member;
    value->text[0] = '\0';
    value->state = QUERY_ABSENT;
    flat_json_begin(&json, text, size);
    while (flat_json_next(&json, &member) == FLAT_MEMBER && member.kind != FLAT_OTHER) {
        if (strcmp(member.name.text, name) == 0) {
            *value = member.value;
            break;
        }
    }
    return value->state;
}
