/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/mesos-duration.h"

#include "routes/values.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS_MAX = 15 }; /* significant digits of a double, as Mesos prints */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"secs", 1000000000},
    {"mins", UINT64_C(60000000000)},
    {"hrs", UINT64_C(3600000000000)},
    {"days", UINT64_C(86400000000000)},
    {"weeks", UINT64_C(604800000000000)},
};

enum { N_UNITS = sizeof(units) / sizeof(units[0]) };

bool
mesos_duration_parse(const char *text, uint64_t *ns, char *why, size_t size)
{
    size_t n = strspn(text, "0123456789.");
    size_t unit = 0;
    double number;
    if (text[n] == '\0') {
        snprintf(why, size, "Invalid duration '%s'", text);
        return false;
    }
    if (!value_decimal(text, n, &number)) {
        snprintf(why, size, "Failed to convert '%.*s' to number", (int)n, text);
        return false;
    }
    while (unit < N_UNITS && strcmp(units[unit].name, text + n) != 0)
        unit++;
    if (unit == N_UNITS) {
        snprintf(why, size,
                 "Unknown duration unit '%s'; supported units are 'ns', 'us', 'ms', 'secs', 'mins', 'hrs', 'days', and "
                 "'weeks'",
                 text + n);
        return false;
    }
    if (number * (double)units[unit].ns >= 0x1p63) {
        snprintf(why, size, "'%s' is out of the range that a duration can have", text);
        return false;
    }
    *ns = (uint64_t)(number * (double)units[unit].ns);
    return true;
}

/* The digits of REST/WHOLE after the point, REST < WHOLE, without trailing zeroes. */
static void
format_fraction(uint64_t rest, uint64_t whole, char *text, size_t digits)
{
    size_t n = 0;
    size_t used = 0;
    while (rest != 0 && n < digits) {
        rest *= 10;
        text[n] = (char)('0' + rest / whole);
        rest %= whole;
        used = text[n++] != '0' ? n : used;
    }
    text[used] = '\0';
}

void
mesos_duration_format(uint64_t ns, char *text, size_t size)
{
    size_t unit = N_UNITS - 1;
    char fraction[DIGITS_MAX + 1];
    while (unit > 0 && ns < units[unit].ns)
        unit--;
    if (unit > 0 && ns % units[unit].ns != 0)
        unit--;
    uint64_t whole = ns / units[unit].ns;
    int digits = snprintf(fraction, sizeof(fraction), "%llu", (unsigned long long)whole);
    format_fraction(ns % units[unit].ns, units[unit].ns, fraction,
                    (size_t)(digits < DIGITS_MAX ? DIGITS_MAX - digits : 0));
    snprintf(text, size, "%llu%s%s%s", (unsigned long long)whole, fraction[0] != '\0' ? "." : "", fraction,
             units[unit].name);
}
