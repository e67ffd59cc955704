/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/amount.h"

#include "routes/status.h"

#include <math.h>

char *
amount_size(guint64 bytes)
{
    char text[UNITS_BUFFER];
    return g_strdup(bytes == STATUS_UNKNOWN ? "-"
                                            : units_format(text, PROFILE_INUSE_SPACE, (double)bytes, UNITS_PLAIN));
}

char *
amount_change(double bytes)
{
    char text[UNITS_BUFFER];
    return g_strdup(units_format(text, PROFILE_INUSE_SPACE, bytes, UNITS_SIGNED));
}

char *
amount_value(ProfileValue value, double amount, UnitsFlags flags)
{
    char text[UNITS_BUFFER];
    return g_strdup(isnan(amount) ? "-" : units_format(text, value, amount, flags));
}
