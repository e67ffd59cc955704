/* SPDX-License-Identifier: Apache-2.0 */
/* The key files of the black box: a record that was read, written and read again must be the same. */
#include "blackbox/record.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_end(const char *text, gsize length)
{
    BlackboxEnd end, again;
    g_auto(RecordProcess) process = {0}, other = {0};
    if (!record_read_end(text, length, &end, &process, NULL))
        return;
    g_autofree char *written = record_of_end(&end, &process);
    g_assert_true(record_read_end(written, strlen(written), &again, &other, NULL));
    g_assert_cmpint(again.cause, ==, end.cause);
    g_assert_cmpint(again.time_us, ==, end.time_us);
    g_assert_cmpuint(again.used, ==, end.used);
    g_assert_cmpstr(again.unit_result, ==, end.unit_result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(RecordProcess) process = {0}, other = {0};
    check_end(text, size);
    g_autoptr(BlackboxSnapshot) snapshot = record_read_snapshot(text, size, &process, NULL);
    if (snapshot == NULL)
        return 0;
    g_autofree char *written = record_of_snapshot(snapshot, &process);
    g_autoptr(BlackboxSnapshot) again = record_read_snapshot(written, strlen(written), &other, NULL);
    g_assert_true(strlen(written) > RECORD_MAX || again != NULL);
    if (again != NULL)
        g_assert_cmpuint(again->memory.allocated, ==, snapshot->memory.allocated);
    return 0;
}
