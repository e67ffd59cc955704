/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and formats the amounts in rules: "2GiB", "90%", "1MiB/h", "5ms", "-3". Pure, thread-safe. */
#ifndef JESCOPE_RULES_AMOUNT_H
#define JESCOPE_RULES_AMOUNT_H

#include <glib.h>

/* What an amount measures. Values are in bytes, counts, fractions (90 % is 0.9) and seconds. */
typedef enum {
    AMOUNT_BYTES,
    AMOUNT_COUNT,
    AMOUNT_SHARE,
    AMOUNT_TIME,
} AmountKind;

typedef struct {
    AmountKind kind;
    gboolean rate; /* per second; written per s, m, h or d */
} AmountUnit;

/* Parses TEXT as an amount of UNIT. FALSE, with *VALUE unchanged, if it is invalid; amount_example() is a valid one. */
gboolean amount_parse(const char *text, AmountUnit unit, gdouble *value);
const char *amount_example(AmountUnit unit);

/* To be freed. */
char *amount_format(gdouble value, AmountUnit unit);

#endif
