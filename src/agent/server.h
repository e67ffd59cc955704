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

/* The path of the socket, "" without one. */
const char *server_socket_path(void);

/*
 * In a forked child, in its only thread: closes inherited descriptors of the parent's agent, except those that the host
 * has replaced, and forgets the parent's socket. Async-signal-safe.
 */
void server_abandon(void);

/* At exit, in any thread: removes the socket's file, and sees to it that none is made again. Never waits for the agent
 * thread. */
void server_leave(void);

#endif
