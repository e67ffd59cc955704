/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scanners for the lines of a dump and the two kinds of number in them. The latter return the position after the
 * number, or NULL if there is none or it does not fit 64 bits. Up to BYTE_SOURCE_SLACK bytes after the number are read;
 * a '\n' must end the text.
 */
#ifndef JESCOPE_PROFILE_SCAN_H
#define JESCOPE_PROFILE_SCAN_H

#include <glib.h>
#include <string.h>

#define SCAN_EACH_BYTE(b) (0x0101010101010101u * (guint64)(b))

/* The number of hexadecimal digits among the eight characters at text before the first other one; *word receives the
 * characters, little-endian. */
static inline guint32
scan_hex_run(const char *text, guint64 *word)
{
    guint64 w;
    memcpy(&w, text, sizeof(w));
    w = GUINT64_FROM_LE(w);
    *word = w;

    /* Each step sets the top bit of a byte that is outside one range; no step carries into the next byte. */
    guint64 low = w & SCAN_EACH_BYTE(0x7f);
    guint64 digit = low ^ SCAN_EACH_BYTE(0x30);
    guint64 not_digit = digit + SCAN_EACH_BYTE(0x7f - 9);
    guint64 letter = (low | SCAN_EACH_BYTE(0x20)) ^ SCAN_EACH_BYTE(0x60);
    guint64 not_letter = (letter + SCAN_EACH_BYTE(0x7f - 6)) | ~(letter + SCAN_EACH_BYTE(0x7f));
    guint64 wrong = ((not_digit & not_letter) | w) & SCAN_EACH_BYTE(0x80);
    return wrong != 0 ? (guint32)__builtin_ctzll(wrong) / 8 : 8;
}

/* The value of eight hexadecimal characters, the most significant one in the lowest byte. */
static inline guint64
scan_hex_value(guint64 w)
{
    w = (w & SCAN_EACH_BYTE(0x0f)) + 9 * ((w >> 6) & SCAN_EACH_BYTE(0x01));
    w = ((w << 4) | (w >> 8)) & 0x00ff00ff00ff00ffu;
    w = ((w << 8) | (w >> 16)) & 0x0000ffff0000ffffu;
    return ((w << 16) | (w >> 32)) & 0xffffffffu;
}

/* Digits only, without "0x"; at most sixteen after leading zeros. */
static inline const char *
scan_hex(const char *text, guint64 *value)
{
    guint64 word;
    guint64 sum = 0;
    guint32 n = 0;

    for (guint32 run = 8; run == 8; text += run) {
        run = scan_hex_run(text, &word);
        n += run;
        if (run == 0)
            break;
        if (G_UNLIKELY(n > 16 && sum >> (64 - 4 * run) != 0))
            return NULL;
        /* Moving the digits up fills the lower bytes with zeros, which count as leading digits. */
        guint64 digits = scan_hex_value(word << (64 - 8 * run));
        sum = (sum << (4 * run)) | digits;
    }
    if (n == 0)
        return NULL;
    *value = sum;
    return text;
}

static inline const char *
scan_decimal(const char *text, guint64 *value)
{
    const char *at = text;
    guint64 sum = 0;

    for (guint32 digit; (digit = (guint32)(guchar)*at - '0') <= 9; at++) {
        if (G_UNLIKELY(sum > (G_MAXUINT64 - digit) / 10))
            return NULL;
        sum = sum * 10 + digit;
    }
    if (at == text)
        return NULL;
    *value = sum;
    return at;
}

/* The start of the next line after the one at TEXT. */
static inline const char *
scan_next_line(const char *text)
{
    return (const char *)rawmemchr(text, '\n') + 1;
}

#endif
