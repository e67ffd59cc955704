/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the screens show them. Newly allocated. */
#ifndef JESCOPE_TUI_AMOUNT_H
#define JESCOPE_TUI_AMOUNT_H

#include "report/units.h"

/* "12.3 MiB", or "-" for STATUS_UNKNOWN. */
char *amount_size(guint64 bytes);

/* "+1.2 MiB", "-3.0 KiB", "0 B". */
char *amount_change(double bytes);

/* "12.3 MiB", "1234", "1.5 MiB/s"; of a value that is a mean "3.2 s", or "-" for NAN, an unknown mean. */
char *amount_value(ProfileValue value, double amount, UnitsFlags flags);

#endif
