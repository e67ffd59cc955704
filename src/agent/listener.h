/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket clients connect to: DIR/PID.STARTTIME.sock. DIR is $JESCOPE_SOCKET_DIR, or the first that can be used of
 * $XDG_RUNTIME_DIR/jescope and /tmp/.jescope-UID: a directory with mode 0700 and our owner, not reached through a link
 * in its last component. In the agent thread, except listener_remove().
 */
#ifndef JESCOPE_AGENT_LISTENER_H
#define JESCOPE_AGENT_LISTENER_H

#include "agent/descriptor.h"
#include "agent/environment.h"
#include "agent/process.h"

enum {
    SOCKET_NAME_MAX = 64,
    SOCKET_PATH_MAX = DIRECTORY_MAX + SOCKET_NAME_MAX + 16,
};

typedef struct {
    Descriptor socket;
    char path[SOCKET_PATH_MAX]; /* set once per process, before `bound` */
    int bound;                  /* atomic: path exists and is ours to remove */
} Listener;

/* Makes the socket anew, replacing a stale one of the same name. False (with a line for JESCOPE_DEBUG) if there is no
 * place for it. */
bool listener_open(Listener *listener, const Environment *environment, const ProcessIdentity *process);

/* A new connection from our own user or root, non-blocking; -1 with errno if there is none. */
int listener_accept(const Listener *listener);

/* Removes the socket's file if there is one. Async-signal-safe, from any thread: an exiting host does not wait for
 * ours. */
void listener_remove(Listener *listener);

#endif
