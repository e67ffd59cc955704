/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the black box, whose lease yields to clients, whether a client has taken a lease of a target's profiling. */
#ifndef JESCOPE_SERVICE_LENDING_H
#define JESCOPE_SERVICE_LENDING_H

#include "service/core.h"

/* Notes that a client has taken a lease. From any thread. */
void lending_note(ServiceTarget *target);

/* Whether a client has taken a lease since the last call. */
gboolean lending_look(ServiceTarget *target);

#endif
