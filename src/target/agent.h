/* SPDX-License-Identifier: Apache-2.0 */
/* The implementation of Target that talks to libjescope-agent.so in the target. */
#ifndef JESCOPE_TARGET_AGENT_H
#define JESCOPE_TARGET_AGENT_H

#include "target/process.h"
#include "target/target.h"

/* How long an agent may take, in milliseconds. */
typedef struct {
    guint connect; /* to listen again after the target closed its descriptors */
    guint answer;  /* to answer HELLO, CTL and LEASE */
    guint output;  /* to write a dump or statistics */
} AgentDeadlines;

extern const AgentDeadlines agent_deadlines_default;

typedef struct {
    const char *path; /* of the socket; may be longer than sockaddr_un takes */
    const Process
        *process; /* whose agent must answer there; NULL: whoever does, if it is root's or ours (or we are root) */
    AgentDeadlines deadlines;
} AgentAddress;

/* Connects and says HELLO. ADDRESS is copied. */
Target *agent_open(const AgentAddress *address, GError **error);

/* Answers the message REQUEST of SIZE bytes, with DESCRIPTOR (-1: none), in REPLY, which has room for WIRE_MESSAGE_MAX
 * bytes; *REPLY_SIZE is how many there are. */
typedef gboolean (*AgentThrough)(gconstpointer request, gsize size, int descriptor, gpointer reply, gsize *reply_size,
                                 GError **error);

/* The same without a socket: an agent in this very process, which a function leads to. */
Target *agent_open_through(AgentThrough through, GError **error);

#endif
