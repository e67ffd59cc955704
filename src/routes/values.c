/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/values.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum {
    K_BITS = 10,
};

bool
value_decimal(const char *text, size_t n, double *number)
{
    double value = 0;
    double place = 1; /* of the last digit */
    bool point = false;
    bool digits = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9')
            return false;
        place *= point ? 10 : 1;
        value = value * 10 + (text[i] - '0');
        digits = true;
    }
    if (!digits)
        return false;
    /* 400 digits on both sides of the point would be infinite, and their quotient no number. */
    *number = value / place;
    return isfinite(*number);
}

bool
value_unsigned(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    bool overflow = *text == '\0';
    for (; *text >= '0' && *text <= '9'; text++)
        overflow |= __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value);
    if (overflow || *text != '\0')
        return false;
    *number = value;
    return true;
}

bool
value_signed(const char *text, int64_t *number)
{
    bool negative = *text == '-';
    uint64_t value;
    if (!value_unsigned(text + negative, &value) || value > INT64_MAX)
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool
value_boolean(const char *text, bool *value)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (int which = 0; which < 2; which++) {
            if (strcmp(text, words[i][which]) == 0) {
                *value = which != 0;
                return true;
            }
        }
    }
    return false;
}

static const struct {
    const char *name;
    double ms;
} duration_units[] = {{"d", 86400e3}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}, {"ms", 1}};

enum { N_DURATION_UNITS = sizeof(duration_units) / sizeof(duration_units[0]) };

/* Parses one "NUMBER UNIT" at *text, which is moved past it; *next is the first unit that may follow. */
static bool
add_part(const char **text, size_t *next, double *ms)
{
    const char *unit = *text + strspn(*text, "0123456789.");
    size_t letters = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
    size_t i = *next;
    double number;
    while (i < N_DURATION_UNITS &&
           (strlen(duration_units[i].name) != letters || strncmp(duration_units[i].name, unit, letters) != 0))
        i++;
    if (i == N_DURATION_UNITS || **text == '.' || !value_decimal(*text, (size_t)(unit - *text), &number))
        return false;
    *ms += number * duration_units[i].ms;
    *next = i + 1;
    *text = unit + letters;
    return true;
}

bool
value_duration(const char *text, double *ms)
{
    double total = 0;
    size_t next = 0;
    if (text[0] != '.' && value_decimal(text, strlen(text), &total)) {
        *ms = total * 1e3;
        return true;
    }
    do {
        if (!add_part(&text, &next, &total))
            return false;
    } while (*text != '\0');
    *ms = total;
    return true;
}

/* The exponent of a unit ("", "K", "KiB", "kb", "B"...), or -1. */
static int
size_exponent(const char *unit)
{
    static const char letters[] = "KkMmGgTt";
    const char *letter = *unit != '\0' ? strchr(letters, *unit) : NULL;
    int exponent = letter != NULL ? K_BITS * (int)((letter - letters) / 2 + 1) : 0;
    unit += letter != NULL;
    bool ends = *unit == '\0' || strcasecmp(unit, "b") == 0 || (letter != NULL && strcasecmp(unit, "ib") == 0);
    return ends ? exponent : -1;
}

bool
value_size(const char *text, uint64_t *bytes)
{
    size_t n = strspn(text, "0123456789.");
    int exponent = size_exponent(text + n);
    double number;
    if (exponent < 0 || *text == '.' || !value_decimal(text, n, &number))
        return false;
    number *= (double)(UINT64_C(1) << exponent);
    if (number >= 0x1p63)
        return false;
    *bytes = (uint64_t)number;
    return true;
}

unsigned
value_log2_rounded(uint64_t number)
{
    unsigned below = 63 - (unsigned)__builtin_clzll(number);
    /* Nearer to the next one from the square root of two on. */
    return below + ((__uint128_t)number * number > (__uint128_t)1 << (2 * below + 1));
}

enum {
    DISTANCE_LETTERS_MAX = 32,
};

static unsigned
least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

unsigned
value_distance(const char *a, const char *b)
{
    unsigned row[DISTANCE_LETTERS_MAX + 1];
    size_t n = strlen(b);
    if (n > DISTANCE_LETTERS_MAX || strlen(a) > DISTANCE_LETTERS_MAX)
        return DISTANCE_LETTERS_MAX;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; *a != '\0'; i++, a++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned above = row[j];
            row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}
