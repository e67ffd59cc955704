/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full the slabs are that the live samples are in, by experimental.utilization.batch_query. jemalloc may be asked
 * of addresses only that it has given out (docs/decisions/0023-slabs-of-samples.md). For the thread that has the turn.
 */
#ifndef JESCOPE_AGENT_SAMPLER_SLABS_H
#define JESCOPE_AGENT_SAMPLER_SLABS_H

#include "agent/allocator.h"
#include "agent/sampler-table.h"

/* Looks at all. Only while the hooks are installed: then what is freed is known. */
void sampler_slabs_look(SamplerTable *table, const Allocator *allocator);

/* What was seen of the sample at ADDRESS in place I, or NULL. */
const SamplerSlab *sampler_slab_of(const SamplerTable *table, uint32_t i, uintptr_t address);

#endif
