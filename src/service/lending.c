/* SPDX-License-Identifier: Apache-2.0 */
#include "service/lending.h"

#include "service/live.h"

typedef struct {
    gint lent; /* atomic */
} Lending;

static Lending *
lending_of(ServiceTarget *target)
{
    static const LivePart lending_part = {sizeof(Lending), NULL};
    return live_part(target, &lending_part);
}

void
lending_note(ServiceTarget *target)
{
    g_atomic_int_set(&lending_of(target)->lent, TRUE);
}

gboolean
lending_look(ServiceTarget *target)
{
    return g_atomic_int_compare_and_exchange(&lending_of(target)->lent, TRUE, FALSE);
}
