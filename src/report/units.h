/* SPDX-License-Identifier: Apache-2.0 */
/* Formats values for reports: binary sizes with one decimal, counts unchanged. Ignores the locale. */
#ifndef JESCOPE_REPORT_UNITS_H
#define JESCOPE_REPORT_UNITS_H

#include "profile/profile.h"

enum { UNITS_BUFFER = 40 };

typedef enum {
    UNITS_PLAIN = 0,
    UNITS_SIGNED = 1 << 0, /* with a plus sign if positive */
    UNITS_EXACT = 1 << 1,  /* all bytes, without a unit */
} UnitsFlags;

gboolean value_is_space(ProfileValue value);
gboolean value_is_mean(ProfileValue value);     /* its displayed number is profile_mean(), not the sum */
gboolean value_is_of_holes(ProfileValue value); /* computed by profile/holes.h, and in no weight of a profile */
/* The basic values that VALUE refers to: for lifetime and churn the space and number of objects freed. */
ProfileValue value_space(ProfileValue value);
ProfileValue value_objects(ProfileValue value);
/* The value displayed beside VALUE: objects for space, and space for everything else (a mean is the sum divided by
 * it). */
ProfileValue value_other(ProfileValue value);
const char *value_unit(ProfileValue value); /* of the sum: "bytes", "objects", "bytes/s", "byte-seconds" */

/* "12.3 MiB", "512 B", "1234" (objects), "1.5 MiB/s" (churn), "3.2 s" (means) into buffer, which is returned. */
const char *units_format(char buffer[UNITS_BUFFER], ProfileValue value, gdouble amount, UnitsFlags flags);

/* "12.3%"; "-" where total is 0. */
const char *units_percent(char buffer[UNITS_BUFFER], gdouble part, gdouble total);

/* The nearest integer inside int64's range, for formats that hold integers. */
gint64 units_round(gdouble amount);

#endif
