/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of statistics, text and JSON; the first byte chooses the size of the pieces. */
#include "stats/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gboolean
touch(StatsSample *sample, gpointer data, GError **error)
{
    uint64_t *sum = data;
    for (guint i = 0; i < sample->arenas->len; i++) {
        const StatsArena *arena = sample->arenas->pdata[i];
        *sum += stats_values_or(arena->values, STATS_ARENA_ALLOCATED, 1);
        for (guint j = 0; arena->bins != NULL && j < arena->bins->count; j++)
            *sum += stats_values_or(stats_table_row(arena->bins, j), STATS_BIN_CURREGS, 1);
    }
    return TRUE;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] * data[0] + 1;
    g_autoptr(StatsReader) reader = stats_reader_new(touch, &sum);
    for (size_t at = 1; at < size; at += piece)
        if (!stats_reader_feed(reader, (const char *)data + at, MIN(piece, size - at), NULL))
            return 0;
    stats_reader_finish(reader, NULL, NULL);
    return 0;
}
