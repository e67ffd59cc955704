/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/window.h"

#include "doctor/trend.h"

#include <math.h>
#include <string.h>

enum {
    FEWEST = 4,
    FILLED = 90,   /* percent of the window that values must cover */
    JUDGINGS = 60, /* of growth in one window, since each takes time */
};

static const gdouble Z95 = 1.96;
static const gdouble STRONGEST_MEMORY = 0.95; /* maximum autocorrelation */

struct Window {
    const Quantity *quantity;
    guint n;
    gint64 last_us; /* of the last value that was added */
    gdouble last;
    gboolean changed; /* since value was computed */
    gboolean known;
    gint64 judged_us;
    WindowValue value;
    gint64 base_us;          /* times are seconds after it */
    gdouble *times, *values; /* TREND_POINTS of each; the first N are used */
};

Window *
window_new(const Quantity *quantity)
{
    Window *window = g_new0(Window, 1);
    window->quantity = quantity;
    if (quantity->form != QUANTITY_RATE) {
        window->times = g_new(gdouble, TREND_POINTS);
        window->values = g_new(gdouble, TREND_POINTS);
    }
    return window;
}

void
window_free(Window *window)
{
    g_free(window->times);
    g_free(window->values);
    g_free(window);
}

void
window_set_quantity(Window *window, const Quantity *quantity)
{
    window->quantity = quantity;
}

const Quantity *
window_quantity(const Window *window)
{
    return window->quantity;
}

void
window_reset(Window *window)
{
    window->n = 0;
    window->known = FALSE;
    window->changed = FALSE;
    window->judged_us = 0;
}

static gdouble
seconds(gint64 us)
{
    return (gdouble)us / G_USEC_PER_SEC;
}

/* Drops values that have left the window, and the oldest one if there is no room. */
static void
make_room(Window *window, gdouble now)
{
    guint gone = 0;
    gdouble begin = now - seconds(window->quantity->window_us);
    while (gone < window->n && (window->times[gone] < begin || window->n - gone >= TREND_POINTS))
        gone++;
    if (gone == 0)
        return;
    window->n -= gone;
    memmove(window->times, window->times + gone, window->n * sizeof(gdouble));
    memmove(window->values, window->values + gone, window->n * sizeof(gdouble));
}

static void
add_point(Window *window, gint64 now_us, gdouble value)
{
    if (window->n == 0)
        window->base_us = now_us;
    gdouble now = seconds(now_us - window->base_us);
    /* A tenth less, since samples are a little early at times. */
    gdouble apart = seconds(window->quantity->window_us) / TREND_POINTS * 0.9;
    if (window->n > 0 && now - window->times[window->n - 1] < apart)
        return;
    make_room(window, now);
    window->times[window->n] = now;
    window->values[window->n++] = value;
    window->changed = TRUE;
}

static void
set_rate(Window *window, gint64 now_us, gdouble value)
{
    gdouble rate = (value - window->last) / seconds(now_us - window->last_us);
    window->value = (WindowValue){rate, rate, rate};
    window->known = TRUE;
}

void
window_add(Window *window, gint64 now_us, gdouble value)
{
    if (window->n > 0 && now_us <= window->last_us)
        window_reset(window);
    if (window->quantity->form != QUANTITY_RATE) {
        add_point(window, now_us, value);
    } else {
        if (window->n > 0)
            set_rate(window, now_us, value);
        window->n = 1;
    }
    window->last_us = now_us;
    window->last = value;
}

static void
compute_slope(Window *window)
{
    const guint n = window->n;
    gdouble mean_t = 0, mean_v = 0, tt = 0, tv = 0, squares = 0, rest[TREND_POINTS];
    for (guint i = 0; i < n; i++) {
        mean_t += window->times[i] / n;
        mean_v += window->values[i] / n;
    }
    for (guint i = 0; i < n; i++) {
        tt += (window->times[i] - mean_t) * (window->times[i] - mean_t);
        tv += (window->times[i] - mean_t) * (window->values[i] - mean_v);
    }
    gdouble slope = tv / tt;
    for (guint i = 0; i < n; i++) {
        rest[i] = window->values[i] - mean_v - slope * (window->times[i] - mean_t);
        squares += rest[i] * rest[i];
    }
    gdouble memory = CLAMP(doctor_correlation(rest, rest + 1, n - 1), 0, STRONGEST_MEMORY);
    gdouble error = Z95 * sqrt(squares / (n - 2) / tt * (1 + memory) / (1 - memory));
    window->value = (WindowValue){slope, slope - error, slope + error};
}

static void
judge_growth(Window *window)
{
    DoctorTrend trend;
    doctor_trend(window->times, window->values, window->n, &trend);
    gdouble grows = trend.grows && !trend.slows ? 1 : 0;
    window->value = (WindowValue){grows, grows, grows};
}

static void
compute(Window *window)
{
    gdouble span = window->n > 0 ? window->times[window->n - 1] - window->times[0] : 0;
    gboolean filled = window->n >= FEWEST && span * 100 >= seconds(window->quantity->window_us) * FILLED;
    window->changed = FALSE;
    if (!filled) {
        window->known = FALSE;
        return;
    }
    if (window->quantity->form == QUANTITY_SLOPE)
        compute_slope(window);
    else if (!window->known || window->last_us - window->judged_us >= window->quantity->window_us / JUDGINGS) {
        judge_growth(window);
        window->judged_us = window->last_us;
    }
    window->known = TRUE;
}

gboolean
window_value(Window *window, WindowValue *value)
{
    if (window->changed)
        compute(window);
    *value = window->value;
    return window->known;
}
