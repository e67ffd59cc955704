/* SPDX-License-Identifier: Apache-2.0 */
/* How large a heap dump may be, before it is taken: for those who look whether there is room for it. Pure. */
#ifndef JESCOPE_WIRE_HEADROOM_H
#define JESCOPE_WIRE_HEADROOM_H

#include <stdint.h>

enum {
    HEADROOM_UNKNOWN_BYTES = 32 << 20, /* where it is not known how much is sampled */
};

/* How many bytes a dump may have, at most or nearly so. ALLOCATED: bytes that are; LG_SAMPLE: the binary logarithm of
 * the sampling period. */
uint64_t headroom_estimate(uint64_t allocated, uint64_t lg_sample);

#endif
