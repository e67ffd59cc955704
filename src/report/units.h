/* SPDX-License-Identifier: Apache-2.0 */
/* How reports write values: binary sizes with one decimal, counts as they are. Never follows the locale. */
#ifndef JESCOPE_REPORT_UNITS_H
#define JESCOPE_REPORT_UNITS_H

#include "profile/profile.h"

enum { UNITS_BUFFER = 40 };

typedef enum {
    UNITS_PLAIN = 0,
    UNITS_SIGNED = 1 << 0, /* a plus before what grew */
    UNITS_EXACT = 1 << 1,  /* all bytes, without a unit */
} UnitsFlags;

gboolean value_is_space(ProfileValue value);

/* "12.3 MiB", "512 B", "1234" (objects) into buffer, which is returned. */
const char *units_format(char buffer[UNITS_BUFFER], ProfileValue value, gdouble amount, UnitsFlags flags);

/* "12.3%"; "-" where total is 0. */
const char *units_percent(char buffer[UNITS_BUFFER], gdouble part, gdouble total);

/* The nearest integer inside int64's range, for formats that hold integers. */
gint64 units_round(gdouble amount);

#endif
