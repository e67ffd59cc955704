/* SPDX-License-Identifier: Apache-2.0 */
#include "text/duration.h"

/* "1 h 5 min", or "1 h" if nothing is left. */
static char *
format_pair(guint64 large, const char *large_unit, guint64 small, const char *small_unit)
{
    if (small == 0)
        return g_strdup_printf("%" G_GUINT64_FORMAT " %s", large, large_unit);
    return g_strdup_printf("%" G_GUINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s", large, large_unit, small, small_unit);
}

char *
duration_format(guint64 ms)
{
    guint64 seconds = (ms + 500) / 1000;
    if (ms < 1000)
        return g_strdup_printf("%" G_GUINT64_FORMAT " ms", ms);
    if (ms < 9950)
        return g_strdup_printf("%.1f s", (double)ms / 1000);
    if (seconds < 60)
        return g_strdup_printf("%" G_GUINT64_FORMAT " s", seconds);
    if (seconds < 3600)
        return format_pair(seconds / 60, "min", seconds % 60, "s");
    if (seconds < 86400)
        return format_pair(seconds / 3600, "h", seconds / 60 % 60, "min");
    return format_pair(seconds / 86400, "d", seconds / 3600 % 24, "h");
}
