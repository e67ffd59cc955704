/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an agent, a separate process keeps the lease: jescope, executed again in its own session. It ends the lease
 * at its deadline, or when the process that took it has ended, even by SIGKILL.
 */
#ifndef JESCOPE_TARGET_KEEPER_H
#define JESCOPE_TARGET_KEEPER_H

#include "target/process.h"
#include "wire/lease.h"

typedef struct _Keeper Keeper;

/* The lease of a process. */
typedef struct {
    pid_t pid;
    guint64 start_time;
    Lease lease; /* what it sets and restores; id and deadline are not looked at */
} KeptLease;

/* Until the first keeper_renew() only our end ends the lease. NULL with an error; also NULL, without one, if no program
 * was named by target_set_keeper(). */
Keeper *keeper_start(const KeptLease *lease, GError **error);

void keeper_renew(Keeper *keeper, guint64 remaining_ms);

typedef enum {
    KEEPER_DONE,   /* the lease has been ended */
    KEEPER_END_IT, /* that is left to the keeper */
} KeeperOrder;

/* Frees it. */
void keeper_dismiss(Keeper *keeper, KeeperOrder order);

/* In the keeper itself: returns when the lease is over; END() is tried until it returns TRUE or the process has ended.
 * FALSE: these are not the words that a keeper is given. */
gboolean keeper_run(char **words, gboolean (*end)(const KeptLease *lease));

#endif
