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
    ProcessProgram program; /* it changes nothing in another one */
    Lease lease;            /* what it sets and restores; id and deadline are ignored */
} KeptLease;

/* Starts a keeper of LEASE. Until the first keeper_renew(), it ends the lease only when this process ends. NULL with an
 * error, or without one if target_set_keeper() has named no program. */
Keeper *keeper_start(const KeptLease *lease, GError **error);

void keeper_renew(Keeper *keeper, guint64 remaining_ms);

typedef enum {
    KEEPER_DONE,   /* the lease has been ended */
    KEEPER_END_IT, /* the keeper is to end the lease */
} KeeperOrder;

/* Frees KEEPER after giving it ORDER. */
void keeper_dismiss(Keeper *keeper, KeeperOrder order);

/* The main function of the keeper: returns when the lease is over; END() is retried until it returns TRUE or the
 * process has ended. FALSE if WORDS are not the arguments of a keeper. */
gboolean keeper_run(char **words, gboolean (*end)(const KeptLease *lease));

#endif
