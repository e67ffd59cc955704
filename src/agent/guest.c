/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/guest.h"

/* A late agent does not know whether prof.active was set from the start, only the option. */
void
guest_learn(Guest *guest)
{
    bool from_start = false;
    if (allocator_can_profile(&guest->allocator) && !guest->is_invited)
        allocator_read(&guest->allocator, "opt.prof_active", &from_start, sizeof(from_start));
    profiling_init(&guest->profiling, &guest->allocator, from_start ? WIRE_SINCE_START : WIRE_SINCE_UNKNOWN);
}

void
guest_settle(Guest *guest)
{
    if (!guest->is_settled) {
        guest->is_settled = true;
        allocator_settle_thread(&guest->allocator);
    }
}

bool
guest_examine(Guest *guest)
{
    if (guest->allocator.is_examined)
        return true;
    if (!allocator_examine(&guest->allocator))
        return false;
    guest_learn(guest);
    return true;
}
