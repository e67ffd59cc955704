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

/* Serves until guest->leaves is set, by a client's LEAVE or by a thread that has the turn and then calls waker_wake().
 * A lease has ended then, nothing is open and no socket is left. In the agent thread, which has the turn whenever it
 * does not sleep. */
void server_run(Guest *guest, const Environment *environment);

/* Where the socket is, "" as long as there is none. */
const char *server_socket_path(void);

/*
 * In a forked child, in the one thread there is: closes what was inherited of the parent's agent, without touching
 * anything that the host may have put in its place, and forgets the parent's socket. Async-signal-safe.
 */
void server_abandon(void);

/* At exit, in any thread: removes the socket's file, and sees to it that none is made again. Never waits for the agent
 * thread. */
void server_leave(void);

#endif
