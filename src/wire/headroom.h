/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the size of a heap dump before it is taken, to check that there is room for it. Pure. */
#ifndef JESCOPE_WIRE_HEADROOM_H
#define JESCOPE_WIRE_HEADROOM_H

#include <stdint.h>

enum {
    HEADROOM_UNKNOWN_BYTES = 32 << 20, /* the estimate where the amount of sampled memory is unknown */
};

/* The estimated maximum size of a dump in bytes. ALLOCATED: bytes in use; LG_SAMPLE: the binary logarithm of the
 * sampling period. */
uint64_t headroom_estimate(uint64_t allocated, uint64_t lg_sample);

#endif
