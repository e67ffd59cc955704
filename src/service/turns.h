/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares threads fairly among users: those that targets run as, or the peers of a server. Work of one user takes at
 * most PER_USER threads at a time, and users take turns, so that the work of one, however much and however slow, delays
 * that of another by one job at most.
 *
 * Not thread-safe.
 */
#ifndef JESCOPE_SERVICE_TURNS_H
#define JESCOPE_SERVICE_TURNS_H

#include <glib.h>

typedef struct {
    guint threads;
    guint per_user;
    guint running;
    GHashTable *users; /* TurnsUser.id -> TurnsUser */
    GQueue ring;       /* of TurnsUser: users with something ready, the next one first */
} Turns;

void turns_init(Turns *turns, guint threads, guint per_user);

/* To be called when no job is ready or running, and none will be submitted. */
void turns_clear(Turns *turns);

/* Queues READY (owned by the caller, in no list) for a thread of the user ID, a uid or an address of what stands for a
 * peer, until turns_next() returns it or it is withdrawn. */
void turns_enter(Turns *turns, gsize id, GList *ready);
void turns_withdraw(Turns *turns, gsize id, GList *ready);

/* Removes and returns the next entry; its user occupies one more thread until turns_done(). NULL if none may start. */
GList *turns_next(Turns *turns);
void turns_done(Turns *turns, gsize id);

#endif
