/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sockets of agents: DIRECTORY/PID.STARTTIME.sock, where DIRECTORY is $JESCOPE_SOCKET_DIR,
 * $XDG_RUNTIME_DIR/jescope or /tmp/.jescope-UID, or /tmp/.jescope-UID.RANDOM if that name was taken; all as the target
 * sees them (its environment, root directory, pid and user namespaces).
 */
#ifndef JESCOPE_TARGET_DISCOVERY_H
#define JESCOPE_TARGET_DISCOVERY_H

#include "target/process.h"

/* The socket of PROCESS's agent, as a path for this process (through /proc/PID/root if necessary), or NULL if there is
 * no trusted one. It may be stale. */
char *discovery_socket(const Process *process);

/* Whether the list of sockets in the network namespace of PROCESS is too long to be read to its end, so that an agent
 * whose directory is not known otherwise may not be found. */
gboolean discovery_is_cut(const Process *process);

/* Whether the user of PROCESS can delay the lookup of names that PROCESS chooses without limit (confine/aside.h). */
gboolean discovery_may_be_delayed(const Process *process);

/* The file name of the socket, to be freed. */
char *discovery_socket_name(const Process *process);

/* Opens the directory PATH of a socket (O_PATH) if it is trusted: a real directory without access for others, owned by
 * root, by the caller or, if the caller is root, by the user of PROCESS. -1 with errno otherwise. */
int discovery_open_directory(const char *path, const Process *process);

/* The directories in which the agent of PROCESS may have created its socket, as the process sees them, the likeliest
 * first; of char *. */
GPtrArray *discovery_directories(const Process *process);

/* Adds the directories in which agents of the caller's user listen to INOTIFY; creates missing ones. */
void discovery_watch_own(int inotify);

/* Removes stale sockets from the caller's directories, and for root from those of every user, for half a second at
 * most. */
void discovery_remove_dead(void);

#endif
