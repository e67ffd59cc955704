/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares threads fairly among users: those that targets run as, or the peers of a server. Work of one user takes at
 * most PER_USER threads at a time, and the user whose jobs have delayed others least comes next, so that the work of
 * one, however much and however slow, delays that of another by one job at most. Since any user may have thousands of
 * user ids, one without a record counts like one whose target has missed a deadline, and such users leave some threads
 * to others. Where work takes long by itself, some threads may be for the first job of a user alone.
 *
 * Times are monotonic. Not thread-safe.
 */
#ifndef JESCOPE_SERVICE_TURNS_H
#define JESCOPE_SERVICE_TURNS_H

#include <glib.h>

enum {
    TURNS_KEPT = 4096, /* users without work whose record is kept */
};

typedef struct {
    guint threads;
    guint per_user;
    guint firsts; /* of the threads, for users with nothing running; 0 by default */
    guint running;
    GHashTable *users; /* TurnsUser.id -> TurnsUser */
    GSequence *ring;   /* of TurnsUser: users with something ready, the next one first */
    GSequence *idle;   /* of TurnsUser: users with nothing ready or running, the most prompt first */
} Turns;

void turns_init(Turns *turns, guint threads, guint per_user);

/* To be called when no job is ready or running, and none will be submitted. */
void turns_clear(Turns *turns);

/* Queues READY (owned by the caller, in no list) for a thread of the user ID, a uid or a peer_id(), until turns_next()
 * returns it or it is withdrawn. A record outlives its work, so an ID must not be used for another user later. */
void turns_enter(Turns *turns, guint64 id, GList *ready, gint64 now_us);
void turns_withdraw(Turns *turns, guint64 id, GList *ready);

/* Removes and returns the next entry; its user occupies one more thread until turns_done(), after TOOK_US. NULL if none
 * may start. */
GList *turns_next(Turns *turns, gint64 now_us);
void turns_done(Turns *turns, guint64 id, gint64 took_us, gint64 now_us);

#endif
