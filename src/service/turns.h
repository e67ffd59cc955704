/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares threads fairly among the users that targets run as. A user's targets use at most PER_USER threads at a time,
 * and users take turns, so that the targets of one user, however many and however slow, delay those of another by one
 * job at most.
 *
 * Not thread-safe: guarded by Service.lock.
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
    GQueue ring;       /* of TurnsUser: users with something ready, the next one first */
} Turns;

void turns_init(Turns *turns, guint threads, guint per_user);

/* To be called when no job is ready or running, and none will be submitted. */
void turns_clear(Turns *turns);

/* Queues READY (owned by the caller, in no list) for a thread of user UID, until turns_next() returns it or it is
 * withdrawn. */
void turns_enter(Turns *turns, uid_t uid, GList *ready);
void turns_withdraw(Turns *turns, uid_t uid, GList *ready);

/* Removes and returns the next entry; its user occupies one more thread until turns_done(). NULL if none may start. */
GList *turns_next(Turns *turns);
void turns_done(Turns *turns, uid_t uid);

#endif
