/* SPDX-License-Identifier: Apache-2.0 */
#include "history/axis.h"

#include <math.h>

#define SECONDS G_GINT64_CONSTANT(1000000)
#define DAYS    (86400 * SECONDS)

static const gint64 time_steps[] = {
    SECONDS / 1000, SECONDS / 100,   SECONDS / 10,    SECONDS,         2 * SECONDS,   5 * SECONDS,    10 * SECONDS,
    30 * SECONDS,   60 * SECONDS,    120 * SECONDS,   300 * SECONDS,   600 * SECONDS, 1800 * SECONDS, 3600 * SECONDS,
    7200 * SECONDS, 10800 * SECONDS, 21600 * SECONDS, 43200 * SECONDS, DAYS,          2 * DAYS,       7 * DAYS,
    14 * DAYS,      28 * DAYS,       91 * DAYS,       182 * DAYS,      364 * DAYS,    3640 * DAYS,
};

/* From the largest to the smallest unit of each kind. */
typedef struct {
    double factor;
    const char *name;
} Prefix;

static const Prefix binary[] = {{0x1p50, " PiB"}, {0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"},
                                {0x1p10, " KiB"}, {1, " B"},        {0, NULL}};
static const Prefix decimal[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {0, NULL}};
static const Prefix nanoseconds[] = {{86400e9, " d"}, {3600e9, " h"}, {1e9, " s"}, {1e6, " ms"},
                                     {1e3, " us"},    {1, " ns"},     {0, NULL}};
static const Prefix milliseconds[] = {{86400e3, " d"}, {3600e3, " h"}, {1e3, " s"}, {1, " ms"}, {0, NULL}};

static const Prefix *const prefixes[] = {
    [STATS_UNIT_BYTES] = binary,
    [STATS_UNIT_PAGES] = decimal,
    [STATS_UNIT_COUNT] = decimal,
    [STATS_UNIT_NANOSECONDS] = nanoseconds,
    [STATS_UNIT_MILLISECONDS] = milliseconds,
};

static double
round_step(double rough, StatsUnit unit)
{
    if (unit == STATS_UNIT_BYTES && rough >= 1)
        return exp2(ceil(log2(rough)));
    static const double nice[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(rough)));
    for (size_t i = 0; i < G_N_ELEMENTS(nice); i++)
        if (nice[i] * power >= rough * (1 - 1e-9))
            return nice[i] * power;
    return 10 * power;
}

double
axis_mark(const Axis *axis, guint index)
{
    return axis->first + axis->step * index;
}

Axis
axis_values(double low, double high, guint count, StatsUnit unit)
{
    static const double resolution = 1e-9; /* of a double, with enough digits left for the marks between */
    if (!(high - low > fmax(fabs(low), fabs(high)) * resolution))
        high = low + fmax(fabs(low) * 0.1, 1);
    const double step = round_step((high - low) / count, unit), first = floor(low / step), last = ceil(high / step);
    return (Axis){.first = first * step, .last = last * step, .step = step, .n = (guint)(last - first) + 1};
}

Axis
axis_times(gint64 from_us, gint64 to_us, guint count)
{
    size_t i = 0;
    while (i + 1 < G_N_ELEMENTS(time_steps) && (to_us - from_us) / time_steps[i] >= (gint64)count)
        i++;
    gint64 step = time_steps[i];
    while ((to_us - from_us) / step >= (gint64)count)
        step *= 2;
    gint64 first = from_us % step == 0 ? from_us : from_us - (from_us % step + step) % step + step;
    return (Axis){.first = (double)first,
                  .last = (double)to_us,
                  .step = (double)step,
                  .n = first <= to_us ? (guint)((to_us - first) / step) + 1 : 0};
}

char *
axis_value_label(double value, StatsUnit unit)
{
    const Prefix *prefix = prefixes[unit];
    double size = fabs(value);
    if (size == 0)
        return g_strdup("0");
    while (prefix[1].name != NULL && size < prefix->factor)
        prefix++;
    double scaled = value / prefix->factor;
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(number, sizeof(number), fabs(scaled) >= 1000 ? "%.0f" : "%.4g", scaled);
    return g_strconcat(number, prefix->name, NULL);
}

char *
axis_time_label(gint64 time_us, gint64 step_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / SECONDS);
    if (time == NULL)
        return g_strdup("?");
    if (step_us < SECONDS)
        return g_strdup_printf("%02d:%02d.%03d", g_date_time_get_minute(time), g_date_time_get_second(time),
                               (int)(time_us % SECONDS / 1000));
    gboolean midnight = time_us % DAYS == 0;
    return g_date_time_format(time, step_us >= DAYS || midnight ? "%b %d"
                                    : step_us >= 60 * SECONDS   ? "%H:%M"
                                                                : "%H:%M:%S");
}

char *
axis_time_full(gint64 time_us)
{
    gint64 seconds = time_us / SECONDS - (time_us % SECONDS < 0);
    int ms = (int)((time_us - seconds * SECONDS) / 1000);
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(seconds);
    if (time == NULL)
        return g_strdup_printf("%" G_GINT64_FORMAT " us", time_us);
    g_autofree char *date = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");
    return ms != 0 ? g_strdup_printf("%s.%03dZ", date, ms) : g_strconcat(date, "Z", NULL);
}
