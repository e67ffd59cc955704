/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the dump of jescope's sampler as text (docs/formats.md). For the thread that has the turn. */
#ifndef JESCOPE_AGENT_SAMPLER_DUMP_H
#define JESCOPE_AGENT_SAMPLER_DUMP_H

#include "agent/sampler-table.h"
#include "agent/sampler.h"

typedef struct {
    bool is_empty;     /* nothing was sampled, or it was discarded: only lg is used */
    unsigned lg;       /* binary logarithm of the period */
    uint64_t since_us; /* begin of the recording, CLOCK_REALTIME */
    uint64_t began_ns; /* the same, CLOCK_MONOTONIC */
    uint64_t ended_ns; /* or the present time, CLOCK_MONOTONIC */
} SamplerRecording;

/* Must be called after sampler_table_settle(). Returns 0, ENOMEM, or the error of WRITE. */
int sampler_dump_write(const SamplerTable *table, const SamplerRecording *recording, SamplerWrite write, void *data);

#endif
