/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/readable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    gint64 unit;
    const char *name;
} python_steps[] = {
    {G_GINT64_CONSTANT(1) << 30, " GB"}, {G_GINT64_CONSTANT(1) << 20, " MB"}, {1 << 10, " KB"}, {1, " B"}};

/* str(float) of Python 2. */
static void
append_python_float(GString *out, double number)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.12g", number);
    g_string_append(out, text);
    if (strpbrk(text, ".en") == NULL)
        g_string_append(out, ".0");
}

void
readable_append_float(GString *out, double bytes)
{
    guint step = 0;
    while (step + 1 < G_N_ELEMENTS(python_steps) && fabs(bytes) < (double)python_steps[step].unit)
        step++;
    append_python_float(out, bytes / (double)python_steps[step].unit);
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

void
readable_append_percent(GString *out, double part, double whole)
{
    append_python_float(out, trunc(10000 * (part / whole)) / 100.0);
    g_string_append_c(out, '%');
}

void
readable_append_size(GString *out, double bytes, guint width)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    guint step = 0;
    double number = bytes;
    /* What rounds to 1024.0 belongs to the next unit. */
    while (step + 1 < G_N_ELEMENTS(names) && fabs(number) >= (step == 0 ? 1024 : 1023.95)) {
        number /= 1024;
        step++;
    }
    g_autofree char *text = g_strdup_printf("%.*f %s", step == 0 ? 0 : 1, number, names[step]);
    g_string_append_printf(out, "%*s", (int)width, text);
}
