/* SPDX-License-Identifier: Apache-2.0 */
/* The implementation of Target that talks to libjescope-agent.so in the target. */
#ifndef JESCOPE_TARGET_AGENT_H
#define JESCOPE_TARGET_AGENT_H

#include "target/process.h"
#include "target/target.h"

/* Timeouts of an agent, in milliseconds. */
typedef struct {
    guint connect; /* to listen again after the target closed its descriptors */
    guint answer;  /* to answer HELLO, CTL and LEASE */
    guint output;  /* to write a dump or statistics */
} AgentDeadlines;

extern const AgentDeadlines agent_deadlines_default;

typedef struct {
    const char *path;       /* of the socket; may be longer than sockaddr_un takes */
    const Process *process; /* the process whose agent must answer; NULL: any agent of root or of the caller (for root:
                               of any user) */
    AgentDeadlines deadlines;
} AgentAddress;

/* Connects and exchanges HELLO. ADDRESS is copied. */
Target *agent_open(const AgentAddress *address, GError **error);

#endif
