/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/headroom.h"

enum {
    /* A stack of 128 frames and the counts of some threads, as text; most stacks need a fifth of that. */
    STACK_BYTES = 3 * 1024,
    /* The counts of all threads, the list of mapped files. */
    REST_BYTES = 1 << 20,
    /* Added to the expected number of live samples: the deviation of a small number. */
    FEW_SAMPLES = 64,
    LG_SAMPLE_MAX = 63,
};

/* A stack stays in the profile while it has a live sample, so there are at most as many stacks as live samples. */
uint64_t
headroom_estimate(uint64_t allocated, uint64_t lg_sample)
{
    const uint64_t samples = allocated >> (lg_sample < LG_SAMPLE_MAX ? lg_sample : LG_SAMPLE_MAX);
    return REST_BYTES + (samples + samples / 4 + FEW_SAMPLES) * STACK_BYTES;
}
