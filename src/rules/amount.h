/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts as rules write them: "2GiB", "90%", "1MiB/h", "5ms", "-3". Pure, thread-safe. */
#ifndef JESCOPE_RULES_AMOUNT_H
#define JESCOPE_RULES_AMOUNT_H

#include <glib.h>

/* What a number counts. Each has one unit inside: bytes, 1, 1 (90 % is 0.9), seconds. */
typedef enum {
    AMOUNT_BYTES,
    AMOUNT_COUNT,
    AMOUNT_SHARE,
    AMOUNT_TIME,
} AmountKind;

typedef struct {
    AmountKind kind;
    gboolean rate; /* per second; it is written per s, m, h or d */
} AmountUnit;

/* FALSE: TEXT is not an amount of UNIT, *VALUE untouched; amount_example() is one. */
gboolean amount_parse(const char *text, AmountUnit unit, gdouble *value);
const char *amount_example(AmountUnit unit);

/* To be freed. */
char *amount_format(gdouble value, AmountUnit unit);

#endif
