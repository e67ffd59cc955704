/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Library measurements for bench/stats.
 *
 *   stats-library read FILE      reads all samples; prints bytes, samples, seconds of processor time, megabytes per
 *                                second and peak KiB
 *   stats-library live TARGET N  takes N samples of totals and merged values, and N of all arenas' sizes; prints for
 *                                each kind the median duration in all and in jemalloc, and that of jemalloc's epoch
 */
#include "stats/live.h"
#include "stats/log-reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static gboolean
count(StatsSample *sample, gpointer data, GError **error)
{
    return TRUE;
}

static gboolean
run_read(const char *file, GError **error)
{
    StatsReport report;
    if (!log_reader_read(file, count, NULL, &report, error))
        return FALSE;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / G_USEC_PER_SEC;
    printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %.3f %.0f %ld\n", report.bytes, report.samples, seconds,
           (double)report.bytes / 1e6 / seconds, usage.ru_maxrss);
    return TRUE;
}

static gint
compare(gconstpointer one, gconstpointer other)
{
    const double *a = one;
    const double *b = other;
    return (*a > *b) - (*a < *b);
}

static double
median(GArray *times)
{
    g_array_sort(times, compare);
    return times->len > 0 ? g_array_index(times, double, times->len / 2) : 0;
}

static gboolean
time_epoch(Target *target, guint rounds, GError **error)
{
    g_autoptr(GArray) inside = g_array_new(FALSE, FALSE, sizeof(double));
    const SampleRequest request = {.names = "3stats.active\0", .n = 1, .count = 1, .refresh = TRUE};
    for (guint i = 0; i < rounds; i++) {
        guint64 row[2];
        guint64 spent = 0;
        if (!target_sample(target, &request, row, &spent, error))
            return FALSE;
        double us = (double)spent / 1e3;
        g_array_append_val(inside, us);
    }
    printf("epoch inside %.1f\n", median(inside));
    return TRUE;
}

static gboolean
time_samples(Target *target, StatsLiveParts parts, const char *what, guint rounds, GError **error)
{
    g_autoptr(GArray) whole = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) inside = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(StatsLive) live = stats_live_new(target, parts, error);
    guint arenas = 0;
    for (guint i = 0; live != NULL && i < rounds; i++) {
        gint64 start = g_get_monotonic_time();
        g_autoptr(StatsSample) sample = stats_live_sample(live, error);
        if (sample == NULL)
            return FALSE;
        double us = (double)(g_get_monotonic_time() - start);
        double spent = (double)stats_values_or(sample->totals, STATS_SAMPLE_COST, 0) / 1e3;
        g_array_append_val(whole, us);
        g_array_append_val(inside, spent);
        arenas = stats_sample_arena_count(sample);
    }
    printf("%s whole %.1f inside %.1f arenas %u\n", what, median(whole), median(inside), arenas);
    return live != NULL;
}

static gboolean
run_live(const char *name, guint rounds, GError **error)
{
    g_autoptr(Target) target = target_open(name, error);
    return target != NULL && time_epoch(target, rounds, error) &&
           time_samples(target, STATS_LIVE_TOTALS, "totals", rounds, error) &&
           time_samples(target, STATS_LIVE_ARENA_SIZES, "arenas", rounds, error) && time_epoch(target, rounds, error);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    gboolean fine = FALSE;
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        fine = run_read(argv[2], &error);
    else if (argc == 4 && strcmp(argv[1], "live") == 0)
        fine = run_live(argv[2], (guint)atoi(argv[3]), &error);
    if (!fine)
        fprintf(stderr, "stats-library: %s\n", error != NULL ? error->message : "read FILE | live TARGET N");
    return !fine;
}
