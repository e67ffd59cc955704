/* SPDX-License-Identifier: Apache-2.0 */
/* Samples from the child that reads a log. */
#include "stats/sample-bytes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sample that was written and read must be the same. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(StatsSample) sample = sample_bytes_read(data, size);
    if (sample == NULL)
        return 0;
    g_autoptr(GByteArray) once = g_byte_array_new();
    g_autoptr(GByteArray) twice = g_byte_array_new();
    sample_bytes_write(sample, once);
    g_autoptr(StatsSample) again = sample_bytes_read(once->data, once->len);
    g_assert_nonnull(again);
    sample_bytes_write(again, twice);
    g_assert_true(once->len == twice->len && memcmp(once->data, twice->data, once->len) == 0);
    return 0;
}
