/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/prefix.h"

#include "stats/intern.h"

#include <string.h>

void
prefix_learn(Prefix *prefix, const char *text, gsize length)
{
    *prefix = (Prefix){.text = g_strndup(text, length), .length = length, .time.time_us = STATS_TIME_UNKNOWN};
    timestamp_find(text, length, &prefix->time);
}

void
prefix_clear(Prefix *prefix)
{
    g_clear_pointer(&prefix->text, g_free);
}

static gboolean
has_at(const char *line, gsize length, gsize at, const char *part, gsize part_length)
{
    return length >= at && length - at >= part_length && memcmp(line + at, part, part_length) == 0;
}

static gssize
match_timed(const Prefix *prefix, const char *line, gsize length)
{
    const Timestamp *time = &prefix->time;
    if (!has_at(line, length, 0, prefix->text, time->start))
        return -1;
    gsize taken = timestamp_match(time->form, line + time->start, length - time->start);
    gsize after = prefix->length - time->end;
    gsize at = time->start + taken;
    if (taken == 0 || !has_at(line, length, at, prefix->text + time->end, after))
        return -1;
    return (gssize)(at + after);
}

/* Like an exact match, but any run of digits matches another one. */
static gssize
match_loose(const Prefix *prefix, const char *line, gsize length)
{
    gsize at = 0;
    for (gsize i = 0; i < prefix->length; at++) {
        if (at == length)
            return -1;
        if (!g_ascii_isdigit(prefix->text[i])) {
            if (line[at] != prefix->text[i])
                return -1;
            i++;
            continue;
        }
        if (!g_ascii_isdigit(line[at]))
            return -1;
        while (i < prefix->length && g_ascii_isdigit(prefix->text[i]))
            i++;
        while (at + 1 < length && g_ascii_isdigit(line[at + 1]))
            at++;
    }
    return (gssize)at;
}

gssize
prefix_match(const Prefix *prefix, const char *line, gsize length)
{
    if (prefix->length == 0)
        return 0;
    return prefix->time.form != NULL ? match_timed(prefix, line, length) : match_loose(prefix, line, length);
}

const char *
prefix_identity(const Prefix *prefix)
{
    if (prefix->length == 0)
        return NULL;
    g_autoptr(GString) text = g_string_new_len(prefix->text, (gssize)prefix->length);
    if (prefix->time.form != NULL)
        g_string_erase(text, (gssize)prefix->time.start, (gssize)(prefix->time.end - prefix->time.start));
    g_strstrip(text->str);
    if (text->str[0] == '\0')
        return NULL;
    /* Removes digits: if they changed, each snapshot would seem to have its own writer. */
    if (prefix->time.form == NULL)
        for (char *c = text->str; *c != '\0'; c++)
            if (g_ascii_isdigit(*c))
                *c = '#';
    return stats_intern(text->str, strlen(text->str));
}
