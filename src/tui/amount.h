/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers for the screens. Every result is newly allocated. */
#ifndef JESCOPE_TUI_AMOUNT_H
#define JESCOPE_TUI_AMOUNT_H

#include "report/units.h"

/* "12.3 MiB", or "-" for STATUS_UNKNOWN. */
char *amount_size(guint64 bytes);

/* "+1.2 MiB", "-3.0 KiB", "0 B". */
char *amount_change(double bytes);

/* "12.3 MiB", "1234" or "1.5 MiB/s"; for a mean (value_is_mean()), "3.2 s", or "-" if it is NAN (unknown). */
char *amount_value(ProfileValue value, double amount, UnitsFlags flags);

#endif
