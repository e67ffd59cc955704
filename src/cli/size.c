/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/size.h"

#include "cli/command.h"

#include <math.h>
#include <string.h>

static const char units[] = "KMGT";

/* The exponent of a unit ("", "K", "KiB", "kb", "B"...), or -1. */
static int
unit_exponent(const char *unit)
{
    int exponent = 0;
    const char *letter = *unit != '\0' ? strchr(units, g_ascii_toupper(*unit)) : NULL;
    if (letter != NULL) {
        exponent = 10 * (int)(letter - units + 1);
        unit++;
        if (g_ascii_tolower(*unit) == 'i' && g_ascii_tolower(unit[1]) == 'b')
            unit++;
    }
    if (g_ascii_tolower(*unit) == 'b')
        unit++;
    return *unit == '\0' ? exponent : -1;
}

gboolean
size_parse(const char *text, const char *option, guint64 *bytes, GError **error)
{
    char *unit = NULL;
    double number = g_ascii_isdigit(text[0]) ? g_ascii_strtod(text, &unit) : -1;
    /* strtod also takes "0x10" and "1e3", which nobody means. */
    gboolean plain = unit != NULL && strspn(text, "0123456789.") == (size_t)(unit - text);
    int exponent = plain ? unit_exponent(unit) : -1;
    double value = exponent >= 0 ? ldexp(number, exponent) : -1;
    if (value < 0 || value >= 0x1p63) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is not a size; write one like 512KiB or 64K", option,
                    text);
        return FALSE;
    }
    *bytes = (guint64)value;
    return TRUE;
}

char *
size_format(guint64 bytes)
{
    if (bytes < 1024)
        return g_strdup_printf("%" G_GUINT64_FORMAT " B", bytes);
    double value = (double)bytes;
    size_t unit = 0;
    /* 1023.95 would round up to a four-digit number. */
    for (value /= 1024; value >= 999.5 && unit + 1 < strlen(units); unit++)
        value /= 1024;
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return g_strdup_printf("%.*f %ciB", decimals, value, units[unit]);
}

unsigned
size_log2_rounded(guint64 bytes)
{
    return (unsigned)lround(log2((double)bytes));
}
