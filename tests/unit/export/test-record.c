/* SPDX-License-Identifier: Apache-2.0 */
#include "export/record.h"

#include "export/batch.h"

#include <string.h>
#include <zstd.h>

static void
test_round(void)
{
    g_autoptr(GBytes) content = g_bytes_new_static("abc\0def", 7);
    g_autoptr(GBytes) file = record_wrap(content), again = record_unwrap(file, NULL);
    g_assert_true(g_bytes_equal(content, again));
}

/* Every byte counts, and so does each that is missing. */
static void
test_damage(void)
{
    g_autoptr(GBytes) content = g_bytes_new_static("the same, the same, the same", 28), file = record_wrap(content);
    gsize size;
    const guint8 *bytes = g_bytes_get_data(file, &size);
    for (gsize i = 0; i < size; i++) {
        g_autoptr(GError) error = NULL;
        guint8 *copy = g_memdup2(bytes, size);
        copy[i] ^= 0x20;
        g_autoptr(GBytes) damaged = g_bytes_new_take(copy, size), cut = g_bytes_new_static(bytes, i);
        g_assert_null(record_unwrap(damaged, &error));
        g_assert_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT);
        g_assert_null(record_unwrap(cut, NULL));
    }
}

/* A frame that says it holds more than a batch may have is not expanded. */
static void
test_too_large(void)
{
    gsize length = (gsize)BATCH_MAX_BYTES + 1;
    g_autoptr(GBytes) content = g_bytes_new_take(g_malloc0(length), length), file = record_wrap(content);
    g_assert_cmpuint(g_bytes_get_size(file), <, 100000);
    g_assert_null(record_unwrap(file, NULL));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/round", test_round);
    g_test_add_func("/record/damage", test_damage);
    g_test_add_func("/record/too-large", test_too_large);
    return g_test_run();
}
