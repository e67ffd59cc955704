/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a host pushes, and what. Time is divided into rounds of one length, the same for all hosts; each host begins its
 * rounds at a moment that a hash of its name gives, so that a thousand hosts do not push at once, and so that the same
 * host pushes at the same distances, also after a restart. Pure.
 */
#ifndef JESCOPE_EXPORT_SCHEDULE_H
#define JESCOPE_EXPORT_SCHEDULE_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    const char *host;
    gint64 every_us;
    guint per_service; /* processes of one name and user that are dumped in a round; 0: all */
    guint dump_share;  /* percent of its time that a process may spend in dumps, 1 to 100 */
} Schedule;

/* A process that may be dumped. */
typedef struct {
    pid_t pid;
    guint64 start;
    const char *service;
    uid_t user; /* any user's process may have any name */
    guint idle; /* rounds in which it is to be left alone still */
} ScheduleProcess;

/* The number of the round that the moment NOW_US (since 1970) belongs to, and the begin of the next one. */
gint64 schedule_round(const Schedule *schedule, gint64 now_us);
gint64 schedule_next_us(const Schedule *schedule, gint64 now_us);

/* How many rounds a process is left alone after a dump that took TOOK_US. */
guint schedule_idle_rounds(const Schedule *schedule, gint64 took_us);

/*
 * CHOSEN[i]: process i is dumped in ROUND. Of the processes of one service and user that are not idle, those
 * per_service with the lowest hashes of host, pid, start and round: other ones in each round, by chance.
 */
void schedule_choose(const Schedule *schedule, gint64 round, const ScheduleProcess *processes, guint n,
                     gboolean *chosen);

/* Turns of users, among those of processes that are to be dumped. */
typedef struct ScheduleTurns ScheduleTurns;

ScheduleTurns *schedule_turns_new(void);
void schedule_turns_free(ScheduleTurns *turns);

/* The index of the one of N users (at least 1) that has had the fewest turns, those that are at their turn after all
 * others; its turn begins. A user whom it did not see before has had as few as any. */
guint schedule_turn_next(ScheduleTurns *turns, const uid_t *users, guint n);
void schedule_turn_end(ScheduleTurns *turns, uid_t user);

#endif
