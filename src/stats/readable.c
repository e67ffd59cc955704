/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/readable.h"

#include <math.h>
#include <string.h>

static const struct {
    gint64 unit;
    const char *name;
} python_steps[] = {
    {G_GINT64_CONSTANT(1) << 30, " GB"}, {G_GINT64_CONSTANT(1) << 20, " MB"}, {1 << 10, " KB"}, {1, " B"}};

enum {
    SIGNIFICANT = 12,
};

static void
append_number(GString *out, guint64 number)
{
    char text[20];
    guint at = sizeof(text);
    do
        text[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    g_string_append_len(out, text + at, (gssize)(sizeof(text) - at));
}

/* Appends NUMBER / 10^DECIMALS without trailing zeros, but with ".0" for a whole number. */
static void
append_decimal(GString *out, guint64 number, guint decimals)
{
    guint64 power = 1;
    for (guint i = 0; i < decimals; i++)
        power *= 10;
    append_number(out, number / power);
    guint64 rest = number % power;
    g_string_append_c(out, '.');
    do {
        power /= 10;
        g_string_append_c(out, power > 0 ? (char)('0' + rest / power) : '0');
        rest = power > 0 ? rest % power : 0;
    } while (rest != 0);
}

/* Appends BYTES / 2^SHIFT as Python 2's str(float) does, rounded (to even) like "%.12g", but twenty times as fast: a
 * day's log has a million of them. */
static void
append_scaled(GString *out, guint64 bytes, guint shift)
{
    guint decimals = SIGNIFICANT;
    guint64 power = 1;
    for (guint64 whole = bytes >> shift; whole > 0 && decimals > 0; whole /= 10)
        decimals--;
    for (guint i = 0; i < decimals; i++)
        power *= 10;
    unsigned __int128 product = (unsigned __int128)bytes * power;
    guint64 number = (guint64)(product >> shift);
    guint64 rest = (guint64)product & ((G_GUINT64_CONSTANT(1) << shift) - 1);
    guint64 half = shift > 0 ? G_GUINT64_CONSTANT(1) << (shift - 1) : 1;
    if (rest > half || (rest == half && (number & 1) != 0))
        number++;
    append_decimal(out, number, decimals);
}

void
readable_append_float(GString *out, double bytes)
{
    guint step = 0;
    guint64 magnitude = (guint64)fabs(bytes);
    while (step + 1 < G_N_ELEMENTS(python_steps) && magnitude < (guint64)python_steps[step].unit)
        step++;
    if (bytes < 0)
        g_string_append_c(out, '-');
    append_scaled(out, magnitude, (guint)__builtin_ctzll((guint64)python_steps[step].unit));
    g_string_append(out, python_steps[step].name);
}

void
readable_append_integer(GString *out, gint64 bytes)
{
    guint step = 0;
    guint64 magnitude = bytes < 0 ? -(guint64)bytes : (guint64)bytes;
    while (step + 1 < G_N_ELEMENTS(python_steps) && magnitude < (guint64)python_steps[step].unit)
        step++;
    gint64 unit = python_steps[step].unit;
    gint64 whole = bytes / unit - (bytes % unit < 0 ? 1 : 0);
    g_string_append_printf(out, "%" G_GINT64_FORMAT "%s", whole, python_steps[step].name);
}

/* Python 2's str(float) if twelve digits are not enough. */
static void
append_rounded(GString *out, double number)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof(text), "%.12g", number);
    g_string_append(out, text);
    if (strpbrk(text, ".e") == NULL)
        g_string_append(out, ".0");
}

void
readable_append_percent(GString *out, double part, double whole)
{
    double hundredths = trunc(10000 * (part / whole));
    if (hundredths < 1e12)
        append_decimal(out, (guint64)hundredths, 2);
    else
        append_rounded(out, hundredths / 100);
    g_string_append_c(out, '%');
}

void
readable_append_size(GString *out, double bytes, guint width)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    guint step = 0;
    double number = bytes;
    /* A value that rounds to 1024.0 uses the next unit. */
    while (step + 1 < G_N_ELEMENTS(names) && fabs(number) >= (step == 0 ? 1024 : 1023.95)) {
        number /= 1024;
        step++;
    }
    g_autofree char *text = g_strdup_printf("%.*f %s", step == 0 ? 0 : 1, number, names[step]);
    g_string_append_printf(out, "%*s", (int)width, text);
}
