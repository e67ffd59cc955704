/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the broker, for a server without privileges. Thread-safe. */
#ifndef JESCOPE_BROKER_CLIENT_H
#define JESCOPE_BROKER_CLIENT_H

#include "service/service.h"
#include "target/reach.h"

/* SOCKET stays open as long as the process lives. */
void broker_client_init(int socket);

/* The operations for reach_through() and for ServiceOptions.root. */
const ReachOps *broker_client_reach(void);
const ServiceRoot *broker_client_root(void);

#endif
