/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a dump of jescope's sampler (docs/formats.md). For the thread that has the turn. */
#ifndef JESCOPE_AGENT_SAMPLER_DUMP_H
#define JESCOPE_AGENT_SAMPLER_DUMP_H

#include "agent/sampler-table.h"
#include "agent/sampler.h"

typedef struct {
    bool is_empty;     /* nothing was sampled, or it has been forgotten: only lg is of interest */
    unsigned lg;       /* of the period */
    uint64_t since_us; /* when it began, CLOCK_REALTIME */
    uint64_t began_ns; /* the same, CLOCK_MONOTONIC */
    uint64_t ended_ns; /* or the present time */
} SamplerRecording;

/* After sampler_table_settle(). Returns 0, ENOMEM, or what WRITE returned. */
int sampler_dump_write(const SamplerTable *table, const SamplerRecording *recording, SamplerWrite write, void *data);

#endif
