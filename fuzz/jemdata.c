/* SPDX-License-Identifier: Apache-2.0 */
/* A console log, read line by line like extract-jem-stats, and its result; then the input as jemdata.py. */
#include "stats/jemdata.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory = -1;

static gboolean
count(StatsSample *sample, gpointer data, GError **error)
{
    guint *samples = data;
    g_assert_true(sample->source == STATS_SOURCE_JEMDATA && sample->line > 0);
    ++*samples;
    return TRUE;
}

static gboolean
read_bytes(const void *bytes, gsize size, GError **error)
{
    guint samples = 0;
    const StatsFile file = {.path = "jemdata.py", .fd = memory};
    g_assert_cmpint(ftruncate(memory, 0), ==, 0);
    g_assert_cmpint(pwrite(memory, bytes, size, 0), ==, (gssize)size);
    g_assert_cmpint(lseek(memory, 0, SEEK_SET), ==, 0);
    return jemdata_read_file(&file, count, &samples, error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (memory < 0)
        memory = memfd_create("jemdata", MFD_CLOEXEC);
    g_assert_cmpint(memory, >=, 0);
    g_autoptr(GString) extracted = g_string_new(JEMDATA_HEADER);
    const char *text = (const char *)data;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        jemdata_extract_line(text + at, length, extracted);
        at += length + 1;
    }
    g_autoptr(GError) error = NULL;
    gboolean read = read_bytes(extracted->str, extracted->len, &error);
    g_assert_true(read == (error == NULL));
    read_bytes(data, size, NULL);
    return 0;
}
