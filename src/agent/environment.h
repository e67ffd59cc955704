/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's environment variables, read once in the constructor:
 *
 *   JESCOPE=off              do nothing at all
 *   JESCOPE_ONLY=NAME,NAME   do nothing except in these programs
 *   JESCOPE_SOCKET_DIR=DIR   where the socket goes, and nowhere else
 *   XDG_RUNTIME_DIR=DIR      otherwise it goes to DIR/jescope, or to /tmp/.jescope-UID
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

enum { DIRECTORY_MAX = 1024 }; /* with the NUL; a directory that is longer, or not absolute, is not used */

/* What JESCOPE_SAMPLER asks for; period and memory are 0 if it does not say. */
typedef struct {
    bool active;
    unsigned period; /* 1 + its binary logarithm, as in a lease */
    size_t memory;
} SamplerWish;

typedef struct {
    bool wanted;
    bool debug;
    bool is_silent;   /* no socket: an option of a program that links libjescope */
    bool bad_sampler; /* JESCOPE_SAMPLER cannot be understood: it is ignored */
    SamplerWish sampler;
    bool bad_socket_directory;             /* JESCOPE_SOCKET_DIR is set and cannot be used: nothing is wanted then */
    char socket_directory[DIRECTORY_MAX];  /* "": not given */
    char runtime_directory[DIRECTORY_MAX]; /* "": not given */
} Environment;

/* Not thread safe against setenv() in the host, which is why it runs in the constructor alone. Preserves errno. */
void environment_read(Environment *environment);

/* Values that another process has read: either may be NULL or "". False, @environment untouched, if a directory cannot
 * be used. Async-signal-safe. */
bool environment_given(Environment *environment, const char *socket_directory, const char *runtime_directory);

/* The directory that a program which links us wants the socket in. False, @environment untouched, if it cannot be used.
 */
bool environment_set_directory(Environment *environment, const char *socket_directory);

/* MALLOC_CONF as it was for a jemalloc whose symbols have @prefix, cut to 255 characters; NULL: it was not set. */
const char *environment_malloc_conf(const char *prefix);

/* The words of JESCOPE_SAMPLER. False, and nothing is wished for, if one of them is unknown. */
bool environment_sampler(const char *text, SamplerWish *wish);

/* Whether the comma-separated @list holds @name. */
bool environment_lists(const char *list, const char *name);

#endif
