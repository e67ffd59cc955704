/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a client has had a target's profiling for a time, for the black box, whose lease yields to it. */
#ifndef JESCOPE_SERVICE_LENDING_H
#define JESCOPE_SERVICE_LENDING_H

#include "service/core.h"

/* A client has taken a lease. From any thread. */
void lending_note(ServiceTarget *target);

/* Whether one has since the last call. */
gboolean lending_look(ServiceTarget *target);

#endif
