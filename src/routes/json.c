/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/json.h"

#include "routes/reply.h"

#include <stdio.h>
#include <string.h>

enum {
    LETTER_MAX = 6,  /* bytes of one character: \u001f */
    NUMBER_MAX = 32, /* of a number, with its end */
};

/* A reply that is in a memfd takes a system call for each piece, and a process chooses how long it becomes. */
static void
flush(Json *json)
{
    reply_add(json->reply, json->piece, json->used);
    json->used = 0;
}

/* N: at most JSON_PIECE_MAX. */
static void
add_bytes(Json *json, const char *bytes, size_t n)
{
    if (n > sizeof(json->piece) - json->used)
        flush(json);
    memcpy(json->piece + json->used, bytes, n);
    json->used += n;
}

static void
add(Json *json, const char *word)
{
    add_bytes(json, word, strlen(word));
}

/* A value that is within no other one is the whole document. */
static void
end_value(Json *json)
{
    if (json->depth == 0)
        flush(json);
}

/* The length of the well-formed UTF-8 sequence at TEXT; 0: none. */
static size_t
utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead, first_min, first_max; /* of the byte after the lead */
        size_t n;
    } forms[] = {
        {0xe0, 0xc0, 0x80, 0xbf, 2}, {0xff, 0xe0, 0xa0, 0xbf, 3}, {0xff, 0xed, 0x80, 0x9f, 3},
        {0xf0, 0xe0, 0x80, 0xbf, 3}, {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4},
        {0xfc, 0xf0, 0x80, 0xbf, 4},
    };
    if (text[0] < 0x80)
        return text[0] != '\0';
    for (size_t i = 0; text[0] >= 0xc2 && i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((text[0] & forms[i].mask) != forms[i].lead)
            continue;
        size_t n = 1;
        while (n < forms[i].n && text[n] >= (n == 1 ? forms[i].first_min : 0x80) &&
               text[n] <= (n == 1 ? forms[i].first_max : 0xbf))
            n++;
        return n == forms[i].n ? n : 0;
    }
    return 0;
}

/* The character of the well-formed sequence of N bytes at TEXT, if it is one of U+0080 to U+FFFF; otherwise 0. */
static unsigned
code_of(const unsigned char *text, size_t n)
{
    return n == 2   ? (text[0] & 0x1fu) << 6 | (text[1] & 0x3fu)
           : n == 3 ? (text[0] & 0x0fu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu)
                    : 0;
}

/* Whether a terminal, to which curl prints an answer, may be controlled by character CODE, or hide or reorder text. */
static bool
controls_terminal(unsigned code)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {
        {0x80, 0x9f},     /* C1 */
        {0xad, 0xad},     /* soft hyphen */
        {0x200b, 0x200f}, /* invisible; direction */
        {0x2028, 0x202e}, /* separators; direction */
        {0x2060, 0x206f}, /* the same */
        {0xfeff, 0xfeff},
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Writes the character at TEXT, of N bytes, or 0 if it is not well-formed, to PLACE. Returns the number of bytes. */
static size_t
write_letter(char place[static LETTER_MAX + 1], const char *text, size_t n)
{
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
        return (size_t)snprintf(place, LETTER_MAX + 1, "\\%c", c);
    if (c < ' ' || c == 0x7f)
        return (size_t)snprintf(place, LETTER_MAX + 1, "\\u%04x", c);
    unsigned code = code_of((const unsigned char *)text, n);
    if (controls_terminal(code))
        return (size_t)snprintf(place, LETTER_MAX + 1, "\\u%04x", code);
    memcpy(place, n > 0 ? text : "\xef\xbf\xbd", n > 0 ? n : 3);
    return n > 0 ? n : 3;
}

static void
add_quoted(Json *json, const char *text)
{
    add(json, "\"");
    while (*text != '\0') {
        size_t n = utf8_length((const unsigned char *)text);
        if (LETTER_MAX + 1 > sizeof(json->piece) - json->used)
            flush(json);
        json->used += write_letter(json->piece + json->used, text, n);
        text += n > 0 ? n : 1;
    }
    add(json, "\"");
}

static void
begin_member(Json *json, const char *name)
{
    add(json, json->first ? "" : ",");
    json->first = false;
    if (name != NULL) {
        add_quoted(json, name);
        add(json, ":");
    }
}

void
json_begin(Json *json, RouteReply *reply)
{
    json->reply = reply;
    json->depth = 0;
    json->first = true;
    json->used = 0;
}

static void
open_value(Json *json, const char *name, char begin, char end)
{
    begin_member(json, name);
    add_bytes(json, &begin, 1);
    json->ends[json->depth++] = end;
    json->first = true;
}

void
json_begin_object(Json *json, const char *name)
{
    open_value(json, name, '{', '}');
}

void
json_begin_array(Json *json, const char *name)
{
    open_value(json, name, '[', ']');
}

void
json_end(Json *json)
{
    add_bytes(json, &json->ends[--json->depth], 1);
    json->first = false;
    end_value(json);
}

void
json_text(Json *json, const char *name, const char *text)
{
    begin_member(json, name);
    add_quoted(json, text);
    end_value(json);
}

void
json_number(Json *json, const char *name, uint64_t number)
{
    char text[NUMBER_MAX];
    begin_member(json, name);
    add_bytes(json, text,
              (size_t)snprintf(text, sizeof(text), "%lld", (long long)(number < INT64_MAX ? number : INT64_MAX)));
    end_value(json);
}

void
json_signed(Json *json, const char *name, int64_t number)
{
    char text[NUMBER_MAX];
    begin_member(json, name);
    add_bytes(json, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)number));
    end_value(json);
}

void
json_seconds(Json *json, const char *name, uint64_t ms)
{
    char text[NUMBER_MAX];
    begin_member(json, name);
    add_bytes(json, text,
              (size_t)snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(ms / 1000),
                               (unsigned long long)(ms % 1000)));
    end_value(json);
}

void
json_boolean(Json *json, const char *name, bool value)
{
    begin_member(json, name);
    add(json, value ? "true" : "false");
    end_value(json);
}

void
json_put_null(Json *json, const char *name)
{
    begin_member(json, name);
    add(json, "null");
    end_value(json);
}
