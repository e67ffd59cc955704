/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment says to the agent, read once in the constructor:
 *
 *   JESCOPE=off              do nothing at all
 *   JESCOPE_ONLY=NAME,NAME   do nothing except in these programs
 *   JESCOPE_SOCKET_DIR=DIR   where the socket goes, and nowhere else
 *   XDG_RUNTIME_DIR=DIR      otherwise it goes to DIR/jescope, or to /tmp/.jescope-UID
 *   JESCOPE_DEBUG=1          say what goes wrong on stderr
 *   MALLOC_CONF              what jemalloc was told, also with the prefix of its symbols: kept for whoever asks, since
 *                            programs that set their title overwrite what /proc has of it
 *
 * A process that gained privileges (AT_SECURE) was given its environment by somebody else: nothing of it counts there.
 */
#ifndef JESCOPE_AGENT_ENVIRONMENT_H
#define JESCOPE_AGENT_ENVIRONMENT_H

#include <stdbool.h>

enum { DIRECTORY_MAX = 1024 }; /* with the NUL; a directory that is longer, or not absolute, is not used */

typedef struct {
    bool wanted;
    bool debug;
    bool is_silent;                        /* no socket is wanted: what a program that links us may ask for */
    bool bad_socket_directory;             /* JESCOPE_SOCKET_DIR is set and cannot be used: nothing is wanted then */
    char socket_directory[DIRECTORY_MAX];  /* "": not given */
    char runtime_directory[DIRECTORY_MAX]; /* "": not given */
} Environment;

/* Not thread safe against setenv() in the host, which is why it runs in the constructor alone. Preserves errno. */
void environment_read(Environment *environment);

/* What somebody else read there instead: either may be NULL or "". False, @environment untouched, if a directory cannot
 * be used. Async-signal-safe. */
bool environment_given(Environment *environment, const char *socket_directory, const char *runtime_directory);

/* The directory that a program which links us wants the socket in. False, @environment untouched, if it cannot be used.
 */
bool environment_set_directory(Environment *environment, const char *socket_directory);

/* MALLOC_CONF as it was for a jemalloc whose symbols have @prefix, cut to 255 characters; NULL: it was not set. */
const char *environment_malloc_conf(const char *prefix);

/* Whether the comma-separated @list holds @name. */
bool environment_lists(const char *list, const char *name);

#endif
