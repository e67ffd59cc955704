/* SPDX-License-Identifier: Apache-2.0 */
/* A log with statistics of jemalloc among other lines, plain or gzip, imported like `jescope import`. */
#include "history/import.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ImportOptions options = {.target = "log", .start_us = STATS_TIME_UNKNOWN, .every_us = 1000000};

static int
make_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("log", MFD_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, size), ==, (gssize)size);
    return fd;
}

static void
import_twice(History *history, const char *path)
{
    ImportResult first;
    ImportResult second;
    if (!import_file(history, path, &options, &first, NULL))
        return;
    /* A second import must recognise everything as known. */
    g_assert_true(import_file(history, path, &options, &second, NULL));
    g_assert_cmpuint(second.added, ==, 0);
    g_assert_cmpuint(second.known, ==, first.added + first.known);
    g_autoptr(GPtrArray) targets = history_targets(history, NULL);
    g_assert_nonnull(targets);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = make_file(data, size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(History) history = history_open_in_memory(NULL);
    g_assert_nonnull(history);
    import_twice(history, path);
    close(fd);
    return 0;
}
