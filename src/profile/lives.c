/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/lives.h"
#include "profile/cursor.h"

#include <string.h>

static const gdouble MICRO = 1e-6;

enum { SQUARES_DIGITS = 32 }; /* at most */

static const struct {
    const char *text;
    LivesKind kind;
} kinds[] = {{"#sampler ", LIVES_SAMPLER}, {"#live ", LIVES_LIVE}, {"#died ", LIVES_DIED}};

static const struct {
    const char *name; /* with its '=' */
    gsize offset;     /* in ProfileSampler, of a guint64 */
} words[] = {
    {"since=", offsetof(ProfileSampler, since)},     {"window=", offsetof(ProfileSampler, window)},
    {"dropped=", offsetof(ProfileSampler, dropped)}, {"dropped_bytes=", offsetof(ProfileSampler, dropped_bytes)},
    {"thinned=", offsetof(ProfileSampler, thinned)},
};

LivesKind
lives_kind(const char *line)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strncmp(line, kinds[i].text, strlen(kinds[i].text)) == 0)
            return kinds[i].kind;
    return LIVES_NONE;
}

static guint64
take_decimal(Cursor *cursor, guint64 least, const char *expected)
{
    const char *at = cursor->at;
    guint64 value = cursor_take_decimal(cursor, expected);

    if (cursor->at != NULL && value < least)
        cursor_fail(cursor, at, expected);
    return value;
}

static guint64
take_column(Cursor *cursor, guint64 least, const char *expected)
{
    guint64 value = take_decimal(cursor, least, expected);

    cursor_take_char(cursor, ' ', "a blank");
    return value;
}

/* Up to 128 bits. */
static gdouble
take_squares(Cursor *cursor)
{
    gdouble sum = 0;
    const char *at = cursor->at;

    if (at == NULL)
        return 0;
    for (; g_ascii_isxdigit(*at); at++)
        sum = sum * 16 + g_ascii_xdigit_value(*at);
    if (at == cursor->at || at - cursor->at > SQUARES_DIGITS)
        cursor_fail(cursor, cursor->at, "a hexadecimal number of at most 32 digits");
    else
        cursor->at = at;
    return sum;
}

static const char *
finish(Cursor *cursor, const char **expected)
{
    cursor_take_char(cursor, '\n', "the end of the line");
    *expected = cursor->expected;
    return cursor->fault;
}

static void
take_word(Cursor *cursor, ProfileSampler *sampler)
{
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        gsize n = strlen(words[i].name);
        if (strncmp(cursor->at, words[i].name, n) == 0) {
            cursor->at += n;
            guint64 value = take_decimal(cursor, 0, "a decimal number of at most 64 bits");
            memcpy((char *)sampler + words[i].offset, &value, sizeof(value));
            return;
        }
    }
    cursor->at += strcspn(cursor->at, " \n");
}

const char *
lives_parse_sampler(const char *line, ProfileSampler *sampler, const char **expected)
{
    static const char known[] = "#sampler jescope 1";
    Cursor cursor = {.at = line};
    ProfileSampler result = {0};

    if (strncmp(line, known, strlen(known)) == 0)
        cursor.at += strlen(known);
    else
        cursor_fail(&cursor, line, known);
    while (cursor.at != NULL && *cursor.at == ' ') {
        cursor.at++;
        take_word(&cursor, &result);
    }
    const char *fault = finish(&cursor, expected);
    if (fault == NULL)
        *sampler = result;
    return fault;
}

static guint32
take_narrow(Cursor *cursor, const char *expected)
{
    const char *at = cursor->at;
    guint64 value = take_decimal(cursor, 0, expected);

    if (value > G_MAXUINT32)
        cursor_fail(cursor, at, expected);
    return (guint32)value;
}

/* ADDRESS SIZE BORN THREAD [FREE REGIONS] */
const char *
lives_parse_live(const char *line, ProfileSample *sample, const char **expected)
{
    Cursor cursor = {.at = line + strlen("#live ")};
    ProfileSample result = {.stack = sample->stack};

    result.address = cursor_take_hex(&cursor, "a hexadecimal address of at most 64 bits");
    cursor_take_char(&cursor, ' ', "a blank");
    result.size = take_column(&cursor, 1, "a size from 1 on");
    result.born = take_column(&cursor, 0, "a time of at most 64 bits");
    result.thread = take_narrow(&cursor, "a thread's number of at most 32 bits");
    if (cursor.at != NULL && *cursor.at == ' ') {
        cursor.at++;
        result.unused = take_narrow(&cursor, "a number of regions of at most 32 bits");
        cursor_take_char(&cursor, ' ', "a blank");
        result.regions = take_narrow(&cursor, "a number of regions of at most 32 bits");
    }
    const char *fault = finish(&cursor, expected);
    if (fault == NULL)
        *sample = result;
    return fault;
}

/* SIZE NUMBER LIFETIMES SQUARES */
const char *
lives_parse_died(const char *line, ProfileDeaths *deaths, const char **expected)
{
    Cursor cursor = {.at = line + strlen("#died ")};
    ProfileDeaths result = {.stack = deaths->stack};

    result.size = take_column(&cursor, 1, "a size from 1 on");
    result.n = take_column(&cursor, 1, "a number from 1 on");
    result.lifetimes = (gdouble)take_column(&cursor, 0, "a time of at most 64 bits") * MICRO;
    result.squares = take_squares(&cursor) * MICRO * MICRO;
    const char *fault = finish(&cursor, expected);
    if (fault == NULL)
        *deaths = result;
    return fault;
}
