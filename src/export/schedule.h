/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a host pushes and which processes it dumps. Time is divided into rounds of equal length. Each host's
 * rounds have an offset derived from a hash of its name: a thousand hosts do not push at once, and a host keeps its
 * intervals across restarts. Pure.
 */
#ifndef JESCOPE_EXPORT_SCHEDULE_H
#define JESCOPE_EXPORT_SCHEDULE_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    const char *host;
    gint64 every_us;
    guint per_service; /* maximum number of processes of one name and user dumped per round; 0: all */
    guint dump_share;  /* maximum share of its time that a process spends in dumps, 1 to 100 percent */
} Schedule;

/* A process that may be dumped. */
typedef struct {
    pid_t pid;
    guint64 start;
    const char *service;
    uid_t user;    /* part of the identity: any user can choose any name */
    uid_t account; /* to whom the time of its dump is charged (confine/account.h) */
    guint idle;    /* rounds left in which it must not be dumped */
} ScheduleProcess;

/* The number of the round at NOW_US (since 1970), and the start of the next round. */
gint64 schedule_round(const Schedule *schedule, gint64 now_us);
gint64 schedule_next_us(const Schedule *schedule, gint64 now_us);

/* The number of rounds to skip a process after a dump that took TOOK_US. */
guint schedule_idle_rounds(const Schedule *schedule, gint64 took_us);

/*
 * Sets CHOSEN[i] if process i is to be dumped in ROUND. Among the eligible (idle 0) processes of one service and user,
 * the per_service ones with the lowest hash of host, pid, start and round are chosen: a random selection in each round.
 */
void schedule_choose(const Schedule *schedule, gint64 round, const ScheduleProcess *processes, guint n,
                     gboolean *chosen);

/*
 * The next of N processes of which those are WAITING that have not been dumped in this round, or N: one of the account
 * for which SPENT (account -> guint64 microseconds; it lasts for all rounds) has least. An account for which it has a
 * whole round's time waits for the next round, unless all N are of one, so that others' dumps are not late.
 */
guint schedule_next(const Schedule *schedule, const ScheduleProcess *processes, guint n, const gboolean *waiting,
                    GHashTable *spent);

/* Adds a dump that took TOOK_US to the time of ACCOUNT in SPENT, made by schedule_spent_new(): one that took longer
 * than a round and 10 s, ten times, since it made those of others late. */
GHashTable *schedule_spent_new(void);
void schedule_spend(const Schedule *schedule, GHashTable *spent, uid_t account, gint64 took_us);

/* Begins a round: takes its time off that of each account. */
void schedule_begin_round(const Schedule *schedule, GHashTable *spent);

/* Fair turns between the users whose processes are to be dumped. */
typedef struct ScheduleTurns ScheduleTurns;

ScheduleTurns *schedule_turns_new(void);
void schedule_turns_free(ScheduleTurns *turns);

/* Begins the turn of one of N users (at least 1) and returns its index: of the users with the fewest running turns, the
 * one whose turns have taken the least time. A new user begins with the time of the one whose turns have taken most,
 * since any user may have thousands of user ids. */
guint schedule_turn_next(ScheduleTurns *turns, const uid_t *users, guint n);

/* Ends a turn of USER, which has taken TOOK_US; 0: it did not begin. */
void schedule_turn_end(ScheduleTurns *turns, uid_t user, gint64 took_us);

#endif
