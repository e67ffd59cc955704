/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to an agent and its replies (wire/message.h), over a connection that is made when it is needed, and again
 * when the target has closed it. Nothing that the agent sends is believed: who listens is asked of the kernel, a reply
 * has the size that the protocol has for it, and each wait has an end. Private to the implementation of the target
 * (agent.h).
 */
#ifndef JESCOPE_TARGET_AGENT_EXCHANGE_H
#define JESCOPE_TARGET_AGENT_EXCHANGE_H

#include "target/agent.h"
#include "target/implementation.h"
#include "target/shared-output.h"
#include "wire/message.h"

typedef struct {
    Target target;
    char *path;
    gboolean named; /* process was given by the caller, not taken from the peer */
    gboolean known; /* process is set */
    Process process;
    AgentDeadlines deadlines;
    int socket; /* -1: not connected */
    guint32 sequence;
    gint64 patience; /* microseconds left for quick answers at the time `rested` */
    gint64 rested;   /* time of the last quick reply, or of its failure */
} AgentTarget;

/* A request and the buffer for its reply. */
typedef struct {
    WireHeader *request;
    size_t request_size;
    SharedOutput *output; /* the memory file for the answer, or NULL */
    guint deadline;       /* milliseconds for all attempts */
    gint64 until;         /* the deadline as a g_get_monotonic_time() */
    union {
        WireReply reply;
        WireHelloReply hello;
        WireCtlReply ctl;
        WireOutputReply written;
        WireLeaseReply lease;
        WireSampleReply sample;
        char bytes[WIRE_MESSAGE_MAX];
    };
} AgentExchange;

/* Sets all but the target. */
void agent_exchange_init(AgentTarget *agent, const AgentAddress *address);

void agent_exchange_clear(AgentTarget *agent);

/* An exchange for REQUEST, the header of which is written, with the deadline of an answer. */
AgentExchange agent_exchange_for(AgentTarget *agent, WireOp op, void *request, size_t request_size);

/* Sends the request until there is a reply that the protocol allows, whatever its status. FALSE with the error.
 * Patiently: for long operations, such as a dump or a purge, until its `until` if that is set, or the deadline;
 * quickly: within the allowance, too. */
gboolean agent_exchange_quickly(AgentTarget *agent, AgentExchange *exchange, GError **error);
gboolean agent_exchange_patiently(AgentTarget *agent, AgentExchange *exchange, GError **error);

/* A command sends many requests, and a target could delay each of them up to its deadline. So they share an allowance,
 * which recovers while no request is pending. Begin: returns the end of requests that begin now and take MS at most, of
 * which FREE_US are not charged. */
gint64 agent_allowance_begin(AgentTarget *agent, guint ms, gint64 free_us);
void agent_allowance_end(AgentTarget *agent, gint64 free_us);

/* After the last reply, to a LEAVE: waits for the agent to have closed everything, with which the connection ends. */
gboolean agent_exchange_finish(AgentTarget *agent, AgentExchange *exchange, GError **error);

/* WHAT was sent, which is not as the protocol says. */
void agent_set_malformed(AgentTarget *agent, const char *what, GError **error);

#endif
