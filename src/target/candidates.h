/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that a name means, and how each can be reached.
 *
 * A process matches by its kernel name (completed if the kernel truncated it), by the name in its first argument
 * ("traffic_server", whose kernel name is "[TS_MAIN]"), or by its executable file ("varnishd", whose worker calls
 * itself "cache-main"). A process can choose all of these: a name is not an identity.
 *
 * All functions examine processes from outside; none is stopped or contacted.
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
    char *socket;      /* REACH_AGENT: the path of the agent's socket */
    gboolean hidden;   /* not permitted to see whether it uses jemalloc */
    char *obstacle;    /* REACH_NOT: the reason, and what to change */
    gboolean left_out; /* REACH_NOT: not examined for lack of time (aside_set_end()) */
} Candidate;

/* Examines one process; never NULL. */
Candidate *candidate_new(const Process *process);

/* The same for an array of Process. Returns a GPtrArray of Candidate: first those that no other user can delay, then
 * those of other users in turns (aside_each()). A process whose user delays its examination is REACH_NOT after 3 s
 * (confine/aside.h); after three of a user, all its processes are REACH_NOT for a minute. */
GPtrArray *candidates_look(const GArray *processes);

void candidate_free(Candidate *candidate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Candidate, candidate_free)

typedef enum {
    CANDIDATES_NAMED = 0,          /* the meaning of the name */
    CANDIDATES_FAMILY = 1u << 0,   /* and all their descendants, of any name */
    CANDIDATES_JEMALLOC = 1u << 1, /* without those that do not use jemalloc, unless nothing is left then */
} CandidatesFlags;

/* All living processes that match NAME, a pid, a process_operand() or a name, as a GPtrArray of Candidate in the order
 * of their pids. A name matches the caller's own processes if there are any, and for root those of every user. NULL
 * with OUTCOME_NO_PROCESS, with a suggestion, if no process matches. The calling process is never included. */
GPtrArray *candidates_find(const char *name, CandidatesFlags flags, GError **error);

/* The same among ALL and GAPS, which process_list() returned. */
GPtrArray *candidates_find_among(const GArray *all, const ProcessListGaps *gaps, const char *name,
                                 CandidatesFlags flags, GError **error);

/* Selects the process that NAME means from ALL, the result of candidates_find() with CANDIDATES_NAMED: the only one, or
 * the only one that uses jemalloc if all belong to one user. Otherwise NULL with OUTCOME_AMBIGUOUS, whose message of
 * several lines describes the candidates. The result is borrowed from ALL. */
const Candidate *candidates_choose(const GPtrArray *all, const char *name, GError **error);

/* Whether NAME is one of the names of PROCESS. */
gboolean process_goes_by(const Process *process, const char *name);

#endif
