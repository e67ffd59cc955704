/* SPDX-License-Identifier: Apache-2.0 */
#include "text/size.h"

#include <string.h>

static const char units[] = "KMGT";

char *
size_format(guint64 bytes)
{
    if (bytes < 1024)
        return g_strdup_printf("%" G_GUINT64_FORMAT " B", bytes);
    double value = (double)bytes;
    size_t unit = 0;
    /* 1023.95 would round up to a four-digit number. */
    for (value /= 1024; value >= 999.5 && unit + 1 < strlen(units); unit++)
        value /= 1024;
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return g_strdup_printf("%.*f %ciB", decimals, value, units[unit]);
}
