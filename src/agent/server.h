/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent thread's loop: one listener, a bounded number of clients, one deadline to sleep towards. Nothing a client
 * does or leaves undone can block it or make it grow: messages and replies have fixed sizes, sockets do not block, a
 * client that does not read its reply is dropped, and an idle one makes room when the places run out.
 */
#ifndef JESCOPE_AGENT_SERVER_H
#define JESCOPE_AGENT_SERVER_H

#include "agent/environment.h"
#include "agent/guest.h"

/* Serves until a client has sent LEAVE; nothing is open and no socket is left then. In the agent thread. */
void server_run(Guest *guest, const Environment *environment);

/*
 * In a forked child, in the one thread there is: closes what was inherited of the parent's agent, without touching
 * anything that the host may have put in its place, and forgets the parent's socket. Async-signal-safe.
 */
void server_abandon(void);

/* At exit, in any thread: removes the socket's file, and sees to it that none is made again. Never waits for the agent
 * thread. */
void server_leave(void);

#endif
