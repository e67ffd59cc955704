/* SPDX-License-Identifier: Apache-2.0 */
#include "history/process-facts.h"

#include <string.h>

/* Version 1 writes a limit that is not set as the largest number of whole pages. */
#define NO_LIMIT_FROM (G_GUINT64_CONSTANT(1) << 62)

static const struct {
    const char *word;
    StatsMetric metric;
} rollup_words[] = {{"Rss:", STATS_RSS}, {"Pss:", STATS_PSS}, {"Swap:", STATS_SWAP}};

static void
read_rollup(const char *proc, int pid, StatsValues *totals)
{
    g_autofree char *path = g_strdup_printf("%s/%d/smaps_rollup", proc, pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        for (size_t i = 0; i < G_N_ELEMENTS(rollup_words); i++)
            if (g_str_has_prefix(*line, rollup_words[i].word))
                stats_values_set(totals, rollup_words[i].metric,
                                 g_ascii_strtoull(*line + strlen(rollup_words[i].word), NULL, 10) * 1024);
}

static gboolean
read_number(const char *directory, const char *file, guint64 *number)
{
    g_autofree char *path = g_build_filename(directory, file, NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return FALSE;
    return g_ascii_string_to_unsigned(g_strstrip(text), 10, 0, G_MAXUINT64, number, NULL);
}

/* Where the two versions keep the same two numbers. */
static const struct {
    const char *mount; /* under the control groups' directory */
    const char *current;
    const char *max;
} versions[] = {
    {"", "memory.current", "memory.max"},
    {"unified", "memory.current", "memory.max"},
    {"memory", "memory.usage_in_bytes", "memory.limit_in_bytes"},
};

/* The lowest limit on the way up counts; the root of version 2 has no files. */
static gboolean
read_max(const char *mount, const char *group, const char *file, guint64 *max)
{
    g_autofree char *at = g_strdup(group);
    *max = G_MAXUINT64;
    for (;;) {
        g_autofree char *directory = g_build_filename(mount, at, NULL);
        guint64 limit;
        if (read_number(directory, file, &limit))
            *max = MIN(*max, limit);
        char *slash = strrchr(at, '/');
        if (slash == NULL || slash[1] == '\0')
            return *max < NO_LIMIT_FROM;
        slash[slash == at] = '\0';
    }
}

static gboolean
read_group(const char *cgroups, const char *group, size_t version, StatsValues *totals)
{
    g_autofree char *mount = g_build_filename(cgroups, versions[version].mount, NULL);
    g_autofree char *directory = g_build_filename(mount, group, NULL);
    guint64 current, max;
    if (!read_number(directory, versions[version].current, &current))
        return FALSE;
    stats_values_set(totals, STATS_CGROUP_CURRENT, current);
    if (read_max(mount, group, versions[version].max, &max))
        stats_values_set(totals, STATS_CGROUP_MAX, max);
    return TRUE;
}

/* A line is "0::GROUP" for version 2 and "N:CONTROLLER,...:GROUP" for version 1. */
static gboolean
read_cgroup_line(const char *cgroups, const char *line, StatsValues *totals)
{
    g_auto(GStrv) fields = g_strsplit(line, ":", 3);
    if (g_strv_length(fields) != 3)
        return FALSE;
    if (fields[1][0] == '\0')
        return read_group(cgroups, fields[2], 0, totals) || read_group(cgroups, fields[2], 1, totals);
    g_auto(GStrv) controllers = g_strsplit(fields[1], ",", -1);
    return g_strv_contains((const char *const *)controllers, "memory") && read_group(cgroups, fields[2], 2, totals);
}

static void
read_cgroup(const char *proc, const char *cgroups, int pid, StatsValues *totals)
{
    g_autofree char *path = g_strdup_printf("%s/%d/cgroup", proc, pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (read_cgroup_line(cgroups, *line, totals))
            return;
}

void
process_facts_read(const char *proc, const char *cgroups, int pid, StatsValues *totals)
{
    read_rollup(proc, pid, totals);
    read_cgroup(proc, cgroups, pid, totals);
}
