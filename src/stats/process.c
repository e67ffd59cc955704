/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/process.h"

#include <stddef.h>

static void
set_known(StatsValues *totals, StatsMetric metric, guint64 bytes)
{
    if (bytes != G_MAXUINT64)
        stats_values_set(totals, metric, bytes);
}

static const struct {
    StatsMetric metric;
    gsize field;
} rows[] = {
    {STATS_RSS, offsetof(ProcessMemory, rss)},
    {STATS_PSS, offsetof(ProcessMemory, pss)},
    {STATS_SWAP, offsetof(ProcessMemory, swap)},
    {STATS_ANONYMOUS, offsetof(ProcessMemory, anonymous)},
    {STATS_HUGE_PAGES, offsetof(ProcessMemory, huge)},
    {STATS_LAZY_FREE, offsetof(ProcessMemory, lazy_free)},
    {STATS_CGROUP_CURRENT, offsetof(ProcessMemory, group.current)},
    {STATS_CGROUP_MAX, offsetof(ProcessMemory, group.max)},
    {STATS_CGROUP_ANONYMOUS, offsetof(ProcessMemory, charges.anonymous)},
    {STATS_CGROUP_FILE, offsetof(ProcessMemory, charges.file)},
    {STATS_CGROUP_SHMEM, offsetof(ProcessMemory, charges.shmem)},
    {STATS_CGROUP_SOCKETS, offsetof(ProcessMemory, charges.sockets)},
    {STATS_CGROUP_KERNEL, offsetof(ProcessMemory, charges.kernel)},
    {STATS_CGROUP_INACTIVE_FILE, offsetof(ProcessMemory, charges.inactive_file)},
    {STATS_CGROUP_STALLED, offsetof(ProcessMemory, charges.stalled_ns)},
};

void
stats_set_process(StatsValues *totals, const ProcessMemory *memory)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        set_known(totals, rows[i].metric, *(const guint64 *)(gconstpointer)((const char *)memory + rows[i].field));
    stats_derive_outside(totals, memory->lazy_free != G_MAXUINT64 ? memory->lazy_free : 0,
                         memory->huge != G_MAXUINT64 ? memory->huge : 0);
}

void
stats_read_process(StatsValues *totals, const Process *found)
{
    ProcessMemory memory;
    process_memory_read("/proc", "/sys/fs/cgroup", found, &memory);
    stats_set_process(totals, &memory);
}
