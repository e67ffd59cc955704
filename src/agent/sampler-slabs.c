/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-slabs.h"

enum { MIB_MAX = 8 };

/* jemalloc's inspect_extent_util_stats_t. */
typedef struct {
    size_t unused, regions, bytes;
} Answer;

static uint32_t
tag_of(uintptr_t address)
{
    return (uint32_t)(address >> 3);
}

void
sampler_slabs_look(SamplerTable *table, const Allocator *allocator)
{
    size_t mib[MIB_MAX];
    size_t length = MIB_MAX;
    SamplerLive live;
    if (allocator->by_mib == NULL || allocator->name_to_mib == NULL ||
        allocator->name_to_mib("experimental.utilization.batch_query", mib, &length) != 0)
        return;
    for (uint32_t i = 0; i < sampler_memory_places(table->memory); i++) {
        Answer answer = {0};
        size_t size = sizeof(answer);
        if (!sampler_table_live(table, i, &live) ||
            allocator->by_mib(mib, length, &answer, &size, &live.address, sizeof(live.address)) != 0)
            continue;
        const bool is_slab = answer.regions > 1 && answer.regions <= UINT16_MAX && answer.unused < answer.regions;
        table->memory->slabs[i] = (SamplerSlab){.tag = tag_of(live.address),
                                                .unused = is_slab ? (uint16_t)answer.unused : 0,
                                                .regions = is_slab ? (uint16_t)answer.regions : 0};
    }
}

const SamplerSlab *
sampler_slab_of(const SamplerTable *table, uint32_t i, uintptr_t address)
{
    const SamplerSlab *slab = &table->memory->slabs[i];
    return slab->regions != 0 && slab->tag == tag_of(address) ? slab : NULL;
}
