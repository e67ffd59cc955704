/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/printed.h"

#include "stats/log-reader.h"

#include <unistd.h>

/* Omits mutexes, extents, which are large, and what the totals and the merged arena have already. */
static const char *const left_out[] = {[PRINTED_ARENAS] = "Jmxeblh", [PRINTED_ARENAS_AND_CLASSES] = "Jmxeh"};

static const char classes_alone[] = "gdaxeh"; /* omits all but the merged arena's tables */

/* Sets values that JSON lacks and that are the same for all arenas. */
static void
complete(StatsArena *arena, const StatsArena *merged)
{
    uint64_t smallest;

    if (merged != NULL && stats_values_get(merged->values, STATS_ARENA_LARGE_SMALLEST, &smallest))
        stats_values_set(arena->values, STATS_ARENA_LARGE_SMALLEST, smallest);
}

/* Adds the arenas of the JSON before the merged one; SAMPLE has no others yet. Only the first snapshot is used. */
static gboolean
take_printed(StatsSample *printed, gpointer data, GError **error)
{
    StatsSample *sample = data;
    guint count = stats_sample_arena_count(sample) == 0 ? stats_sample_arena_count(printed) : 0;

    for (guint i = 0; i < count; i++) {
        StatsArena *arena = g_ptr_array_steal_index(printed->arenas, 0);
        complete(arena, stats_sample_find(sample, STATS_ARENA_MERGED));
        g_ptr_array_insert(sample->arenas, (gint)i, arena);
    }
    return TRUE;
}

gboolean
printed_arenas(Target *target, PrintedParts parts, StatsSample *sample)
{
    int fd = target_stats(target, left_out[parts], NULL);
    g_autoptr(LogReader) reader = log_reader_new(take_printed, sample);

    if (fd < 0)
        return FALSE;
    log_reader_limit(reader, STATS_ROWS_MAX);
    log_reader_read_fd(reader, fd, target_label(target), NULL);
    close(fd);
    return stats_sample_arena_count(sample) > 0;
}

/* Only the first snapshot is used. */
static gboolean
take_classes(StatsSample *printed, gpointer data, GError **error)
{
    StatsArena *from = stats_sample_find(printed, STATS_ARENA_MERGED);
    StatsArena *to = stats_sample_find(data, STATS_ARENA_MERGED);

    if (from != NULL && to != NULL && to->bins == NULL && to->large == NULL) {
        to->bins = g_steal_pointer(&from->bins);
        to->large = g_steal_pointer(&from->large);
    }
    return TRUE;
}

gboolean
printed_classes(Target *target, StatsSample *sample)
{
    int fd = target_stats(target, classes_alone, NULL);
    g_autoptr(LogReader) reader = log_reader_new(take_classes, sample);
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);

    if (fd < 0)
        return FALSE;
    log_reader_limit(reader, STATS_ROWS_MAX);
    log_reader_read_fd(reader, fd, target_label(target), NULL);
    close(fd);
    return merged != NULL && merged->bins != NULL;
}
