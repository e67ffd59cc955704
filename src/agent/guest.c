/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/guest.h"

void
guest_settle(Guest *guest)
{
    if (!guest->is_settled) {
        guest->is_settled = true;
        allocator_settle_thread(&guest->allocator);
    }
}
