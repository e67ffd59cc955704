/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The occupancy of the slabs that contain live samples, by experimental.utilization.batch_query. jemalloc may be
 * queried only for addresses that it has allocated (docs/decisions/0023-slabs-of-samples.md). For the thread that has
 * the turn.
 */
#ifndef JESCOPE_AGENT_SAMPLER_SLABS_H
#define JESCOPE_AGENT_SAMPLER_SLABS_H

#include "agent/allocator.h"
#include "agent/sampler-table.h"

/* Queries all. Only while the hooks are installed, which report what is freed. */
void sampler_slabs_look(SamplerTable *table, const Allocator *allocator);

/* The slab of the sample at ADDRESS in place I when it was queried, or NULL. */
const SamplerSlab *sampler_slab_of(const SamplerTable *table, uint32_t i, uintptr_t address);

#endif
