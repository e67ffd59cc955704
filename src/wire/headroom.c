/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/headroom.h"

enum {
    /* A stack of 128 frames and the figures of some threads, as text; most have a fifth of that. */
    STACK_BYTES = 3 * 1024,
    /* The figures of all threads, the list of mapped files. */
    REST_BYTES = 1 << 20,
    /* More live samples than the expected number: the deviation of a small one. */
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
