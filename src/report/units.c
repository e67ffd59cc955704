/* SPDX-License-Identifier: Apache-2.0 */
#include "report/units.h"

#include <math.h>
#include <string.h>

static const char *const size_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

gboolean
value_is_space(ProfileValue value)
{
    return value == PROFILE_ALLOC_SPACE || value == PROFILE_INUSE_SPACE;
}

static void
append_number(char *buffer, gdouble amount, const char *format)
{
    char number[UNITS_BUFFER];

    g_strlcat(buffer, g_ascii_formatd(number, sizeof number, format, amount), UNITS_BUFFER);
}

const char *
units_format(char buffer[UNITS_BUFFER], ProfileValue value, gdouble amount, UnitsFlags flags)
{
    gdouble scaled = amount;
    guint unit = 0;

    g_strlcpy(buffer, flags & UNITS_SIGNED && amount > 0 ? "+" : "", UNITS_BUFFER);
    if (fabs(amount) >= 1e30) {
        append_number(buffer, amount, "%.3e");
        return buffer;
    }
    if (!value_is_space(value) || flags & UNITS_EXACT) {
        append_number(buffer, amount == 0 ? 0 : amount, "%.0f");
        return buffer;
    }
    for (; fabs(scaled) >= 1023.95 && unit + 1 < G_N_ELEMENTS(size_units); unit++)
        scaled /= 1024;
    append_number(buffer, scaled == 0 ? 0 : scaled, unit ? "%.1f " : "%.0f ");
    g_strlcat(buffer, size_units[unit], UNITS_BUFFER);
    return buffer;
}

const char *
units_percent(char buffer[UNITS_BUFFER], gdouble part, gdouble total)
{
    buffer[0] = '\0';
    if (total == 0 || fabs(part / total) > 1e9)
        return strcpy(buffer, "-");
    append_number(buffer, part * 100 / total + 0.0, "%.1f");
    g_strlcat(buffer, "%", UNITS_BUFFER);
    return g_str_equal(buffer, "-0.0%") ? strcpy(buffer, "0.0%") : buffer;
}

gint64
units_round(gdouble amount)
{
    if (amount >= (gdouble)G_MAXINT64)
        return G_MAXINT64;
    if (amount <= (gdouble)G_MININT64)
        return G_MININT64;
    return (gint64)llround(amount);
}
