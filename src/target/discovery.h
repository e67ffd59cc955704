/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where agents listen: DIRECTORY/PID.STARTTIME.sock with DIRECTORY one of $JESCOPE_SOCKET_DIR, $XDG_RUNTIME_DIR/jescope
 * and /tmp/.jescope-UID, or /tmp/.jescope-UID.RANDOM where that name was taken; all as the target sees them (its
 * environment, its root directory, its pid and user namespaces).
 */
#ifndef JESCOPE_TARGET_DISCOVERY_H
#define JESCOPE_TARGET_DISCOVERY_H

#include "target/process.h"

/* The socket of PROCESS's agent, as a path for this process (through /proc/PID/root if necessary), or NULL if there is
 * no trusted one. It may be stale. */
char *discovery_socket(const Process *process);

/* Whether to look up names that PROCESS chooses may take for as long as its user likes (confine/aside.h). */
gboolean discovery_may_be_delayed(const Process *process);

/* The last component of it. */
char *discovery_socket_name(const Process *process);

/* Opens the directory of a socket (O_PATH) if it can be trusted: really a directory, owned by root, us or, when we are
 * root, the user of PROCESS, and closed to others. -1 with errno otherwise. */
int discovery_open_directory(const char *path, const Process *process);

/* Where the agent of PROCESS may have put its socket, as the process sees it; the likeliest first, of char *. */
GPtrArray *discovery_directories(const Process *process);

/* Adds the directories in which agents of our own user listen to an inotify descriptor, making those that are missing.
 */
void discovery_watch_own(int inotify);

/* Removes sockets on which no agent listens, and will not: from our own directories, and for root from every user's;
 * what half a second suffices for. */
void discovery_remove_dead(void);

#endif
