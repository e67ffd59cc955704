/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes a name means, and how each can be reached.
 *
 * A process goes by the name that the kernel has for it (whole, also where the kernel cut it), by the name its first
 * argument gives it ("traffic_server", whose kernel name is "[TS_MAIN]"), or that of its executable file ("varnishd",
 * whose worker calls itself "cache-main"). Any process may choose these: a name is not an identity.
 *
 * Everything here looks from outside; no process is stopped or asked.
 */
#ifndef JESCOPE_TARGET_CANDIDATES_H
#define JESCOPE_TARGET_CANDIDATES_H

#include "target/process.h"

typedef enum {
    REACH_AGENT,  /* its agent has a socket, which may or may not answer */
    REACH_ATTACH, /* uses jemalloc, has no agent that listens, and may be attached to */
    REACH_NOT,    /* uses jemalloc or hides its allocator, but cannot be reached; the reason is in Candidate.obstacle */
    REACH_NO_JEMALLOC, /* does not use jemalloc, as far as visible from outside */
} Reach;

typedef struct {
    Process process;
    Reach reach;
    char *socket;      /* REACH_AGENT: where its agent listens */
    gboolean hidden;   /* not permitted to see whether it uses jemalloc */
    char *obstacle;    /* REACH_NOT: why, and what to change */
    gboolean left_out; /* REACH_NOT: there was no time left to look at it (aside_set_end()) */
} Candidate;

/* Looks at one process; never NULL. */
Candidate *candidate_new(const Process *process);

/* The same for an array of Process: a GPtrArray of Candidate, first those that no other user can delay, then one of
 * each user, then the second of each, and so on. A process whose user delays the look at it is REACH_NOT after 3 s
 * (confine/aside.h); three of a user, and its others are too, for a minute. */
GPtrArray *candidates_look(const GArray *processes);

void candidate_free(Candidate *candidate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Candidate, candidate_free)

typedef enum {
    CANDIDATES_NAMED = 0,          /* the meaning of the name */
    CANDIDATES_FAMILY = 1u << 0,   /* and all their descendants, whatever their names */
    CANDIDATES_JEMALLOC = 1u << 1, /* without those that do not use jemalloc, unless nothing is left then */
} CandidatesFlags;

/* All living processes that match NAME, as a GPtrArray of Candidate in the order of their pids: for a pid that process;
 * for a name those that have it: the caller's own if there are any, and for root those of every user.
 * OUTCOME_NO_PROCESS, with a suggestion, if there is none. The calling process is never included. */
GPtrArray *candidates_find(const char *name, CandidatesFlags flags, GError **error);

/* The one of ALL (candidates_find() of NAME with CANDIDATES_NAMED) that NAME means. It is the only one, or the only one
 * that uses jemalloc among processes of one user; otherwise OUTCOME_AMBIGUOUS; its message of several lines lists and
 * describes them all, also those that cannot be reached. Borrowed from ALL. */
const Candidate *candidates_choose(const GPtrArray *all, const char *name, GError **error);

/* Whether PROCESS has NAME. */
gboolean process_goes_by(const Process *process, const char *name);

#endif
