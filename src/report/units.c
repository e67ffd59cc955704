/* SPDX-License-Identifier: Apache-2.0 */
#include "report/units.h"

#include <math.h>
#include <string.h>

static const char *const size_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

gboolean
value_is_space(ProfileValue value)
{
    return value == PROFILE_ALLOC_SPACE || value == PROFILE_INUSE_SPACE || value == PROFILE_FREED_SPACE ||
           value_is_of_holes(value);
}

gboolean
value_is_of_holes(ProfileValue value)
{
    return value == PROFILE_PINNED || value == PROFILE_WHATIF;
}

gboolean
value_is_mean(ProfileValue value)
{
    return value == PROFILE_AGE || value == PROFILE_LIFETIME;
}

static const struct {
    ProfileValue space, objects;
    const char *unit;
} about_values[PROFILE_N_VALUES] = {
    [PROFILE_ALLOC_OBJECTS] = {PROFILE_ALLOC_SPACE, PROFILE_ALLOC_OBJECTS, "objects"},
    [PROFILE_ALLOC_SPACE] = {PROFILE_ALLOC_SPACE, PROFILE_ALLOC_OBJECTS, "bytes"},
    [PROFILE_INUSE_OBJECTS] = {PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS, "objects"},
    [PROFILE_INUSE_SPACE] = {PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS, "bytes"},
    [PROFILE_FREED_OBJECTS] = {PROFILE_FREED_SPACE, PROFILE_FREED_OBJECTS, "objects"},
    [PROFILE_FREED_SPACE] = {PROFILE_FREED_SPACE, PROFILE_FREED_OBJECTS, "bytes"},
    [PROFILE_CHURN] = {PROFILE_FREED_SPACE, PROFILE_FREED_OBJECTS, "bytes/s"},
    [PROFILE_AGE] = {PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS, "byte-seconds"},
    [PROFILE_LIFETIME] = {PROFILE_FREED_SPACE, PROFILE_FREED_OBJECTS, "byte-seconds"},
    [PROFILE_PINNED] = {PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS, "bytes"},
    [PROFILE_WHATIF] = {PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS, "bytes"},
};

ProfileValue
value_space(ProfileValue value)
{
    return about_values[value].space;
}

ProfileValue
value_objects(ProfileValue value)
{
    return about_values[value].objects;
}

ProfileValue
value_other(ProfileValue value)
{
    return value == value_space(value) ? value_objects(value) : value_space(value);
}

const char *
value_unit(ProfileValue value)
{
    return about_values[value].unit;
}

static void
append_number(char *buffer, gdouble amount, const char *format)
{
    char number[UNITS_BUFFER];

    g_strlcat(buffer, g_ascii_formatd(number, sizeof(number), format, amount), UNITS_BUFFER);
}

/* Formats in the largest unit not above the value. */
static void
append_time(char *buffer, gdouble seconds)
{
    static const struct {
        gdouble seconds;
        const char *format;
    } units[] = {{86400, "%.1f d"}, {3600, "%.1f h"}, {60, "%.1f min"}, {1, "%.1f s"}, {1e-3, "%.1f ms"}};
    guint unit = 0;

    while (unit + 1 < G_N_ELEMENTS(units) && fabs(seconds) < 0.9995 * units[unit].seconds)
        unit++;
    append_number(buffer, seconds == 0 ? 0 : seconds / units[unit].seconds,
                  seconds == 0 ? "%.0f s" : units[unit].format);
}

static void
append_size(char *buffer, gdouble amount)
{
    gdouble scaled = amount;
    guint unit = 0;

    for (; fabs(scaled) >= 1023.95 && unit + 1 < G_N_ELEMENTS(size_units); unit++)
        scaled /= 1024;
    append_number(buffer, scaled == 0 ? 0 : scaled, unit ? "%.1f " : "%.0f ");
    g_strlcat(buffer, size_units[unit], UNITS_BUFFER);
}

const char *
units_format(char buffer[UNITS_BUFFER], ProfileValue value, gdouble amount, UnitsFlags flags)
{
    g_strlcpy(buffer, flags & UNITS_SIGNED && amount > 0 ? "+" : "", UNITS_BUFFER);
    if (fabs(amount) >= 1e30)
        append_number(buffer, amount, "%.3e");
    else if (value_is_mean(value) && flags & UNITS_EXACT)
        append_number(buffer, amount == 0 ? 0 : amount, "%.6f");
    else if (value_is_mean(value))
        append_time(buffer, amount);
    else if (flags & UNITS_EXACT || !(value_is_space(value) || value == PROFILE_CHURN))
        append_number(buffer, amount == 0 ? 0 : amount, "%.0f");
    else
        append_size(buffer, amount);
    if (value == PROFILE_CHURN && !(flags & UNITS_EXACT))
        g_strlcat(buffer, "/s", UNITS_BUFFER);
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
