/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/timestamp.h"

#include <string.h>

enum {
    SEARCHED = 160, /* bytes at the beginning of a line in which a timestamp may start */
};

/* Y four digits; m d H M S two digits (d may be padded with a blank); b month name; U ten digits; f optional fraction;
 * z optional zone; T 'T' or a blank; other characters match themselves. Of two with the same beginning, the longer one
 * comes first. */
static const char *const forms[] = {
    "Y-m-dTH:M:Sfz", "Y/m/dTH:M:Sfz", "b d Y H:M:Sfz", "d b Y H:M:Sfz", "b d H:M:Sfz", "Uf",
};

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* The fields of one timestamp. */
typedef struct {
    const char *at;
    const char *end;
    int year, month, day, hour, minute, second;
    gint64 epoch;
    gint64 fraction_us;
    gint64 zone_us;
    gboolean has_zone;
    gboolean has_year;
} Scan;

static gboolean
take_digits(Scan *scan, guint count, gint64 *number)
{
    gint64 value = 0;
    if ((gsize)(scan->end - scan->at) < count)
        return FALSE;
    for (guint i = 0; i < count; i++) {
        if (!g_ascii_isdigit(scan->at[i]))
            return FALSE;
        value = value * 10 + (scan->at[i] - '0');
    }
    scan->at += count;
    *number = value;
    return TRUE;
}

static gboolean
take_int(Scan *scan, guint count, int *number)
{
    gint64 value;
    if (!take_digits(scan, count, &value))
        return FALSE;
    *number = (int)value;
    return TRUE;
}

static gboolean
take_day(Scan *scan)
{
    if (scan->at < scan->end && *scan->at == ' ') {
        scan->at++;
        return take_int(scan, 1, &scan->day);
    }
    return take_int(scan, 2, &scan->day);
}

static gboolean
take_month(Scan *scan)
{
    if (scan->end - scan->at < 3)
        return FALSE;
    for (int i = 0; i < 12; i++) {
        if (memcmp(month_names + (gsize)i * 3, scan->at, 3) == 0) {
            scan->month = i + 1;
            scan->at += 3;
            return TRUE;
        }
    }
    return FALSE;
}

static void
take_fraction(Scan *scan)
{
    const char *at = scan->at;
    if (scan->end - at < 2 || (*at != '.' && *at != ',') || !g_ascii_isdigit(at[1]))
        return;
    gint64 unit = G_USEC_PER_SEC;
    for (at++; at < scan->end && g_ascii_isdigit(*at); at++) {
        unit /= 10;
        scan->fraction_us += unit * (*at - '0');
    }
    scan->at = at;
}

static gboolean
take_offset(Scan *scan)
{
    Scan ahead = *scan;
    int hours, minutes;
    char sign = *ahead.at++;
    if (!take_int(&ahead, 2, &hours))
        return FALSE;
    if (ahead.at < ahead.end && *ahead.at == ':')
        ahead.at++;
    if (!take_int(&ahead, 2, &minutes))
        return FALSE;
    scan->zone_us = ((gint64)hours * 60 + minutes) * 60 * G_USEC_PER_SEC * (sign == '-' ? -1 : 1);
    scan->has_zone = TRUE;
    scan->at = ahead.at;
    return TRUE;
}

static void
take_zone(Scan *scan)
{
    static const char *const utc[] = {"Z", "UTC", "GMT"};
    const char *before = scan->at;
    if (scan->at < scan->end && *scan->at == ' ')
        scan->at++;
    gsize left = (gsize)(scan->end - scan->at);
    for (gsize i = 0; i < G_N_ELEMENTS(utc); i++) {
        gsize length = strlen(utc[i]);
        if (left >= length && memcmp(scan->at, utc[i], length) == 0) {
            scan->at += length;
            scan->has_zone = TRUE;
            return;
        }
    }
    if (left > 0 && (*scan->at == '+' || *scan->at == '-') && take_offset(scan))
        return;
    scan->at = before;
}

static gboolean
take_one(Scan *scan, char what)
{
    switch (what) {
    case 'Y':
        scan->has_year = TRUE;
        return take_int(scan, 4, &scan->year);
    case 'm':
        return take_int(scan, 2, &scan->month);
    case 'b':
        return take_month(scan);
    case 'd':
        return take_day(scan);
    case 'H':
        return take_int(scan, 2, &scan->hour);
    case 'M':
        return take_int(scan, 2, &scan->minute);
    case 'S':
        return take_int(scan, 2, &scan->second);
    case 'U':
        return take_digits(scan, 10, &scan->epoch);
    case 'f':
        take_fraction(scan);
        return TRUE;
    case 'z':
        take_zone(scan);
        return TRUE;
    case 'T':
        return scan->at < scan->end && (*scan->at == 'T' || *scan->at == ' ') && scan->at++ != NULL;
    default:
        return scan->at < scan->end && *scan->at == what && scan->at++ != NULL;
    }
}

static gboolean
scan_form(const char *form, const char *text, gsize length, Scan *scan)
{
    *scan = (Scan){.at = text, .end = text + length, .epoch = -1};
    for (; *form != '\0'; form++)
        if (!take_one(scan, *form))
            return FALSE;
    return TRUE;
}

static gint64
time_of(const Scan *scan)
{
    if (scan->epoch >= 0)
        return scan->epoch * G_USEC_PER_SEC + scan->fraction_us;
    if (!scan->has_year)
        return STATS_TIME_UNKNOWN;
    g_autoptr(GTimeZone) zone = scan->has_zone ? g_time_zone_new_utc() : g_time_zone_new_local();
    g_autoptr(GDateTime) date =
        g_date_time_new(zone, scan->year, scan->month, scan->day, scan->hour, scan->minute, scan->second);
    if (date == NULL)
        return STATS_TIME_UNKNOWN;
    const gint64 time_us = g_date_time_to_unix(date) * G_USEC_PER_SEC + scan->fraction_us - scan->zone_us;
    return stats_time_is_known(time_us) ? time_us : STATS_TIME_UNKNOWN;
}

gsize
timestamp_match(const char *form, const char *text, gsize length)
{
    Scan scan;
    return scan_form(form, text, length, &scan) ? (gsize)(scan.at - text) : 0;
}

static gboolean
find_at(const char *text, gsize length, gsize start, Timestamp *found)
{
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
        Scan scan;
        if (!scan_form(forms[i], text + start, length - start, &scan))
            continue;
        if (scan.at < text + length && g_ascii_isdigit(*scan.at))
            continue;
        *found = (Timestamp){forms[i], start, (gsize)(scan.at - text), time_of(&scan)};
        return TRUE;
    }
    return FALSE;
}

gboolean
timestamp_find(const char *text, gsize length, Timestamp *found)
{
    for (gsize start = 0; start < MIN(length, SEARCHED); start++) {
        if (start > 0 && g_ascii_isalnum(text[start - 1]))
            continue;
        if (find_at(text, length, start, found))
            return TRUE;
    }
    return FALSE;
}
