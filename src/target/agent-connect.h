/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to the sockets of agents, which hostile processes may have made. */
#ifndef JESCOPE_TARGET_AGENT_CONNECT_H
#define JESCOPE_TARGET_AGENT_CONNECT_H

#include "target/process.h"

/* Connects to PATH: the socket of the agent of PROCESS, which must be in a trusted directory (discovery.h), or any
 * socket if PROCESS is NULL. Returns a descriptor, or -1 with errno. The caller must check which process listens. */
int agent_connect(const Process *process, const char *path);

/* Closes FD, a connection to a process of the user PEER. Descriptors that it has sent and that were not received are
 * closed with it, which a hostile peer can delay without end: then another process does it (aside_close()). */
void agent_hang_up(int fd, uid_t peer);

#endif
