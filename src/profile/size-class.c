/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/size-class.h"

#include <math.h>

enum {
    SMALLEST = 8,
    LG_GROUP = 2, /* classes in a doubling */
    GROUP = 1 << LG_GROUP,
};

/* Tolerance of a mean: dumps count objects in whole numbers, those from 5.3.0 on in eighths before. */
static const gdouble NEAR = 0.01;

guint32
size_class_of(guint64 size)
{
    guint64 least = MAX(size, SMALLEST);
    guint32 shift = 63 - LG_GROUP - (guint32)__builtin_clzll(least);
    guint64 mask = MAX((guint64)1 << shift, SMALLEST) - 1;
    guint64 rounded = least > G_MAXUINT64 - mask ? least : (least + mask) & ~mask;

    shift = 63 - LG_GROUP - (guint32)__builtin_clzll(rounded);
    return shift * GROUP + (guint32)(rounded >> shift) - GROUP;
}

gdouble
size_class_bytes(guint32 size_class)
{
    return ldexp(GROUP + size_class % GROUP, (int)(size_class / GROUP));
}

char *
size_class_text(guint32 size_class)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { STEP = 1024 };
    gdouble amount = size_class_bytes(size_class);
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    guint unit = 0;

    for (; amount >= STEP && unit + 1 < G_N_ELEMENTS(units); unit++)
        amount /= STEP;
    return g_strdup_printf("%s %s", g_ascii_formatd(number, sizeof(number), "%.6g", amount), units[unit]);
}

gboolean
size_class_of_mean(gdouble mean, guint32 *size_class)
{
    mean = CLAMP(mean, 0, 0x1p62);
    guint32 nearest = size_class_of((guint64)(mean * (1 - NEAR)));

    *size_class = size_class_of((guint64)ceil(mean));
    if (fabs(size_class_bytes(nearest) - mean) > mean * NEAR)
        return FALSE;
    *size_class = nearest;
    return TRUE;
}
