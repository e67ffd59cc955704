/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's environment variables, read once in the constructor:
 *
 *   JESCOPE=off              do nothing at all
 *   JESCOPE_ONLY=NAME,NAME   do nothing except in these programs
 *   JESCOPE_CHILDREN=off     no thread, and so no agent, in forked children
 *   JESCOPE_SOCKET_DIR=DIR   where the socket goes, and nowhere else
 *   XDG_RUNTIME_DIR=DIR      otherwise it goes to DIR/jescope if DIR is the process's user's, or to /tmp/.jescope-UID
 *   JESCOPE_DEBUG=1           report problems on stderr
 *   JESCOPE_SAMPLER=WORDS    jescope's sampler from the start (WIRE_SAMPLER_VARIABLE)
 *   MALLOC_CONF              jemalloc's settings, also with the prefix of its symbols: kept for clients, since
 *                            programs that set their title overwrite /proc/PID/environ
 *
 * A process that gained privileges (AT_SECURE) got its environment from another user: it is ignored there.
 */
#ifndef JESCOPE_AGENT_ENVIRONMENT_H
#define JESCOPE_AGENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { DIRECTORY_MAX = 1024 }; /* with the NUL; a longer or relative path is not used */

/* The settings of JESCOPE_SAMPLER; period and memory are 0 if not given. */
typedef struct {
    bool active;
    unsigned period; /* 1 + its binary logarithm, as in a lease */
    size_t memory;
} SamplerWish;

typedef struct {
    bool wanted;
    bool childless; /* without an agent in forked children */
    bool debug;
    bool is_silent;   /* no socket: an option of a program that links libjescope */
    bool bad_sampler; /* JESCOPE_SAMPLER is invalid and ignored */
    SamplerWish sampler;
    bool bad_socket_directory; /* JESCOPE_SOCKET_DIR is set and cannot be used: then the agent does nothing */
    char socket_directory[DIRECTORY_MAX];  /* "": not given */
    char runtime_directory[DIRECTORY_MAX]; /* "": not given */
} Environment;

/* Not thread safe against setenv() in the host, so it is called in the constructor only. Preserves errno. */
void environment_read(Environment *environment);

/* Sets the directories from values that another process has read: either may be NULL or "". False, ENVIRONMENT
 * untouched, if a directory cannot be used. Async-signal-safe. */
bool environment_given(Environment *environment, const char *socket_directory, const char *runtime_directory);

/* Sets the socket directory that a program which links the agent chose. False, ENVIRONMENT untouched, if it cannot be
 * used. */
bool environment_set_directory(Environment *environment, const char *socket_directory);

/* The value of MALLOC_CONF for a jemalloc whose symbols have PREFIX, cut to 255 characters; NULL: it was not set. */
const char *environment_malloc_conf(const char *prefix);

/* Parses JESCOPE_SAMPLER. False, and nothing is set, if a word is unknown. */
bool environment_sampler(const char *text, SamplerWish *wish);

/* Whether the comma-separated LIST contains NAME. */
bool environment_lists(const char *list, const char *name);

#endif
