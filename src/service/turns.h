/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is: threads are shared among the users that targets run as. A user's targets have at most PER_USER of
 * them at a time, and users take turns. The targets of one user, however many there are and however slowly they answer,
 * keep those of another user waiting for one piece of work at most.
 *
 * No locks of its own: Service.lock guards it.
 */
#ifndef JESCOPE_SERVICE_TURNS_H
#define JESCOPE_SERVICE_TURNS_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    guint threads;
    guint per_user;
    guint running;
    GHashTable *users; /* uid -> TurnsUser */
    GQueue ring;       /* of TurnsUser: those with something ready, the next one first */
} Turns;

void turns_init(Turns *turns, guint threads, guint per_user);

/* No job is ready or running, or will be submitted. */
void turns_clear(Turns *turns);

/* READY (the caller's, in no list) waits for a thread of user UID's, until turns_next() returns it or it is
 * withdrawn. */
void turns_enter(Turns *turns, uid_t uid, GList *ready);
void turns_withdraw(Turns *turns, uid_t uid, GList *ready);

/* Removes the next job from the queue; its user has one more thread until turns_done(). NULL: none may start. */
GList *turns_next(Turns *turns);
void turns_done(Turns *turns, uid_t uid);

#endif
