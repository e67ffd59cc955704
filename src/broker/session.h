/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the broker (protocol.h), in a separate process. */
#ifndef JESCOPE_BROKER_SESSION_H
#define JESCOPE_BROKER_SESSION_H

#include "broker/broker.h"
#include "broker/protocol.h"

typedef struct {
    const BrokerRequest *request; /* checked */
    const BrokerPolicy *policy;
    const int *fds; /* received with the request */
    guint n_fds;
    Process process; /* the process of the request, checked just before */
    pid_t broker;
} Session;

/* Whether the policy permits the session: 0 or an errno value. */
int session_check(const Session *session);

/* Runs the session until it is done or the other end of SOCKET is closed, and what it has started has ended. */
void session_run(const Session *session, int socket);

/* Whether SESSION, a child of this process, has answered and only waits for the end of what it has started. */
gboolean session_lingers(pid_t session);

#endif
