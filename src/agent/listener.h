/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket clients connect to: DIR/PID.STARTTIME.sock. DIR is $JESCOPE_SOCKET_DIR, or the first that can be used of
 * $XDG_RUNTIME_DIR/jescope, /tmp/.jescope-UID and, where another user has taken that name, a new directory
 * /tmp/.jescope-UID.RANDOM: a directory with mode 0700 and our owner, not reached through a link in its last component.
 * In the agent thread, except listener_remove().
 */
#ifndef JESCOPE_AGENT_LISTENER_H
#define JESCOPE_AGENT_LISTENER_H

#include "agent/descriptor.h"
#include "agent/environment.h"
#include "agent/process.h"

#include <sys/types.h>

enum {
    SOCKET_NAME_MAX = 64,
    SOCKET_PATH_MAX = DIRECTORY_MAX + SOCKET_NAME_MAX + 16,
};

typedef struct {
    Descriptor socket;
    char path[SOCKET_PATH_MAX]; /* set before `bound` */
    int bound;                  /* atomic: path exists and was created by this process */
    bool own_directory;         /* likewise, the directory was created for it and its descendants alone */
    uid_t user;                 /* effective user id when the socket was created, or creating it failed */
} Listener;

/* Creates the socket, replacing a stale one of the same name. False (with a line for JESCOPE_DEBUG) if no directory is
 * usable. */
bool listener_open(Listener *listener, const Environment *environment, const ProcessIdentity *process);

/* Whether the process has changed its user since and cannot change back: then neither the process nor its user's
 * jescope can reach the socket. */
bool listener_is_outdated(const Listener *listener);

/* Creates the socket for the process's new user, then removes the earlier one if permitted. If creating it fails, as in
 * a given directory, the earlier one stays. */
void listener_renew(Listener *listener, const Environment *environment, const ProcessIdentity *process);

/* A new non-blocking connection from root, or from the process's user if its real, effective and saved ids are equal;
 * -1 with errno if there is none. */
int listener_accept(const Listener *listener);

/* Removes the socket's file if there is one, and a directory created for it. Async-signal-safe, in any thread: an
 * exiting host does not wait for the agent's thread. */
void listener_remove(Listener *listener);

#endif
