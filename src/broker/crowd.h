/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the sessions of the broker, each a process of root, so that a compromised server, or processes that delay
 * their sessions, cannot use up root's processes, and so that those of some users leave room for others. A session is
 * stuck once its process has delayed it for longer than its client waits, or what it has started for longer than its
 * answer; what waits for a file system's answer does not end by SIGKILL.
 *
 * Times are monotonic. Not thread-safe.
 */
#ifndef JESCOPE_BROKER_CROWD_H
#define JESCOPE_BROKER_CROWD_H

#include "broker/protocol.h"

enum {
    CROWD_MAX = 1024,       /* sessions that are not stuck */
    CROWD_OF_USER = 64,     /* for processes of one account, except TARGETS */
    CROWD_TARGETS = 256,    /* BROKER_TARGET; the session checks whether the operator has named the process */
    CROWD_STUCK = 3,        /* of one account */
    CROWD_STUCK_MAX = 64,   /* of all; then only accounts that are known to be prompt, or root, begin others */
    CROWD_PROMPT_KEPT = 256 /* accounts that are known to be prompt: no session was stuck since one ended in time */
};

typedef struct Crowd Crowd;

typedef struct {
    pid_t pid;
    guint64 account; /* crowd_account() of the session's process; 0, root's, if it has none */
    BrokerKind kind;
    gint64 begun_us;
} CrowdSession;

/* Who answers for a process: the user who has made the namespace that it is in, since its user ids are as many as that
 * user likes, otherwise account_of() its real user. */
guint64 crowd_account(const Process *process);

Crowd *crowd_new(void);
void crowd_free(Crowd *crowd);

typedef enum {
    CROWD_RUNS,
    CROWD_LINGERS, /* it has answered, and only waits for processes that it has started and killed */
    CROWD_ENDED,
} CrowdState;

/* Forgets the sessions that have ended, and calls GIVE_UP once for each that has become stuck and does not linger. */
void crowd_look(Crowd *crowd, CrowdState (*state_of)(pid_t pid), void (*give_up)(pid_t pid), gint64 now_us);

/* Whether SESSION, whose pid does not count, may begin. */
gboolean crowd_has_room(const Crowd *crowd, const CrowdSession *session);

void crowd_add(Crowd *crowd, const CrowdSession *session);

#endif
