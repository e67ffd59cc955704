/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where agents listen: DIRECTORY/PID.STARTTIME.sock with DIRECTORY one of $JESCOPE_SOCKET_DIR, $XDG_RUNTIME_DIR/jescope
 * and /tmp/.jescope-UID, all as the target sees them (its environment, its root directory, its pid and user
 * namespaces).
 */
#ifndef JESCOPE_TARGET_DISCOVERY_H
#define JESCOPE_TARGET_DISCOVERY_H

#include "target/process.h"

/* The socket of PROCESS's agent, as a path for us (through /proc/PID/root if need be), or NULL: there is none that can
 * be trusted. Nobody has to listen on it any more. */
char *discovery_socket(const Process *process);

/* Opens the directory of a socket (O_PATH) if it can be trusted: really a directory, owned by root, us or, when we are
 * root, the user of PROCESS, and closed to others. -1 with errno otherwise. */
int discovery_open_directory(const char *path, const Process *process);

/* Where the agent of PROCESS may have put its socket, as the process sees it; the likeliest first, of char *. */
GPtrArray *discovery_directories(const Process *process);

/* Removes sockets from our own directories whose process has ended and on which nobody listens. */
void discovery_remove_dead(void);

#endif
