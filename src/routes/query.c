/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/query.h"

#include <string.h>

/* A piece of text not yet decoded. */
typedef struct {
    const char *at;
    const char *end;
} Piece;

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Removes one character from PIECE, which is not empty. */
static char
next_character(Piece *piece)
{
    char c = *piece->at++;
    if (c == '+')
        return ' ';
    if (c != '%' || piece->end - piece->at < 2)
        return c;
    int high = hex_digit(piece->at[0]);
    int low = hex_digit(piece->at[1]);
    if (high < 0 || low < 0 || (high == 0 && low == 0))
        return c;
    piece->at += 2;
    return (char)(high * 16 + low);
}

static bool
is_name(Piece piece, const char *name)
{
    while (piece.at < piece.end && *name != '\0')
        if (next_character(&piece) != *name++)
            return false;
    return piece.at == piece.end && *name == '\0';
}

static QueryState
decode(Piece piece, QueryValue *value)
{
    size_t n = 0;
    while (piece.at < piece.end && n < sizeof(value->text) - 1)
        value->text[n++] = next_character(&piece);
    value->text[n] = '\0';
    return piece.at == piece.end ? QUERY_GIVEN : QUERY_LONG;
}

static const char *
find(const char *at, const char *end, char c)
{
    const char *found = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;
    return found != NULL ? found : end;
}

QueryState
query_find_in(const char *text, size_t size, const char *name, QueryValue *value)
{
    value->text[0] = '\0';
    value->state = QUERY_ABSENT;
    const char *end = text + strnlen(text, size);
    for (const char *at = text; at < end; at++) {
        const char *next = find(at, end, '&');
        const char *equals = find(at, next, '=');
        if (is_name((Piece){at, equals}, name)) {
            value->state = equals == next ? QUERY_BARE : decode((Piece){equals + 1, next}, value);
            break;
        }
        at = next;
    }
    return value->state;
}

QueryState
query_find(const char *query, const char *name, QueryValue *value)
{
    return query_find_in(query, strlen(query), name, value);
}

bool
query_next(const char **at, const char *end, QueryValue *name)
{
    const char *begin = *at;
    while (begin < end && *begin == '&')
        begin++;
    if (begin == end)
        return false;
    const char *next = find(begin, end, '&');
    name->state = decode((Piece){begin, find(begin, next, '=')}, name);
    *at = next;
    return true;
}
