/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/patience.h"

#include "confine/thread-time.h"

#include <string.h>

_Thread_local guint64 patience_unseen;

static _Thread_local struct {
    TargetFiles *files;
    gint64 read_us;
    guint64 held, granted; /* bytes; granted by FILES, which threads share */
    gboolean is_full;      /* there was no memory */
} current;

#define GRANT ((guint64)1 << 20)

void
patience_begin(TargetFiles *files)
{
    patience_end();
    current.files = files;
    current.read_us = files != NULL ? thread_time_us() : 0;
    patience_unseen = files != NULL ? PATIENCE_UNSEEN : 0;
}

void
patience_join(TargetFiles *files)
{
    if (current.files == NULL)
        patience_begin(files);
}

/* Once the time is up, each call comes here. */
gboolean
patience_look(void)
{
    patience_unseen = 0;
    if (current.files == NULL)
        return TRUE;
    gint64 now = thread_time_us();
    gboolean goes_on = target_files_take_time(current.files, now - current.read_us) && !current.is_full;
    current.read_us = now;
    patience_unseen = goes_on ? 0 : PATIENCE_UNSEEN;
    return goes_on;
}

void
patience_end(void)
{
    patience_look();
    if (current.granted > 0)
        target_files_give_memory(current.files, current.granted);
    current.files = NULL;
    current.held = current.granted = 0;
    current.is_full = FALSE;
    patience_unseen = 0;
}

static gboolean
take_memory(guint64 bytes)
{
    current.is_full = current.is_full || !target_files_take_memory(current.files, bytes);
    if (current.is_full)
        patience_unseen = PATIENCE_UNSEEN;
    return !current.is_full;
}

gboolean
patience_keep(guint64 bytes)
{
    return current.files == NULL || take_memory(bytes);
}

gboolean
patience_hold(guint64 bytes)
{
    const guint64 held = current.held + bytes;
    if (current.files == NULL)
        return TRUE;
    if (held > current.granted) {
        const guint64 more = MAX(held - current.granted, GRANT);
        if (!take_memory(more))
            return FALSE;
        current.granted += more;
    }
    current.held = held;
    return TRUE;
}

gboolean
patience_append(GArray *array, gconstpointer element)
{
    if (!patience_hold(2 * (guint64)g_array_get_element_size(array))) /* it grows by as much as it has */
        return FALSE;
    g_array_append_vals(array, element, 1);
    return TRUE;
}

/* Elements that are sorted without a look at the clock. */
#define RUN ((gsize)4096)

/* Elements from `from` to `to`, which has room for all of them. */
typedef struct {
    guint8 *from, *to;
    gsize n, size;
    GCompareFunc compare;
} Sort;

static gint
compare_elements(gconstpointer a, gconstpointer b, gpointer sort)
{
    return ((const Sort *)sort)->compare(a, b);
}

static gboolean
sort_runs(Sort *sort)
{
    for (gsize first = 0; first < sort->n; first += RUN) {
        gsize n = MIN(RUN, sort->n - first);
        if (!patience_spend(n * 256))
            return FALSE;
        g_qsort_with_data(sort->from + first * sort->size, (gint)n, sort->size, compare_elements, sort);
    }
    return TRUE;
}

/* [first, middle) and [middle, last), which are sorted. */
static gboolean
merge(const Sort *sort, gsize first, gsize middle, gsize last)
{
    const guint8 *left = sort->from + first * sort->size, *right = sort->from + middle * sort->size;
    const guint8 *left_end = right, *right_end = sort->from + last * sort->size;
    for (guint8 *to = sort->to + first * sort->size; left < left_end || right < right_end; to += sort->size) {
        gboolean take_left = right == right_end || (left < left_end && sort->compare(left, right) <= 0);
        const guint8 **next = take_left ? &left : &right;
        if (!patience_spend(32))
            return FALSE;
        memcpy(to, *next, sort->size);
        *next += sort->size;
    }
    return TRUE;
}

static gboolean
merge_all(Sort *sort)
{
    for (gsize width = RUN; width < sort->n; width *= 2) {
        for (gsize first = 0; first < sort->n; first += 2 * width)
            if (!merge(sort, first, MIN(first + width, sort->n), MIN(first + 2 * width, sort->n)))
                return FALSE;
        guint8 *sorted = sort->to;
        sort->to = sort->from;
        sort->from = sorted;
    }
    return TRUE;
}

void
patience_sort(GArray *array, GCompareFunc compare)
{
    const gsize size = g_array_get_element_size(array);
    if (array->len > RUN && !patience_hold(array->len * size)) {
        g_array_set_size(array, 0);
        return;
    }
    g_autofree guint8 *other = array->len > RUN ? g_malloc_n(array->len, size) : NULL;
    Sort sort = {.from = (guint8 *)array->data, .to = other, .n = array->len, .size = size, .compare = compare};
    if (!sort_runs(&sort) || !merge_all(&sort))
        g_array_set_size(array, 0);
    else if (other != NULL && sort.from == other)
        memcpy(array->data, other, sort.n * size);
}
