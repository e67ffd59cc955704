/* SPDX-License-Identifier: Apache-2.0 */
/* One session of the broker (protocol.h), in a process of its own. */
#ifndef JESCOPE_BROKER_SESSION_H
#define JESCOPE_BROKER_SESSION_H

#include "broker/broker.h"
#include "broker/protocol.h"

typedef struct {
    const BrokerRequest *request; /* checked */
    const BrokerPolicy *policy;
    const int *fds; /* received with the request */
    guint n_fds;
    Process process; /* that the request names, and which was it a moment ago */
} Session;

/* Whether the policy has it begin: 0 or errno. */
int session_check(const Session *session);

/* Until it is done, or the other end of SOCKET is closed. */
void session_run(const Session *session, int socket);

#endif
