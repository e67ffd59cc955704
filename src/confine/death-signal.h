/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal that a child gets at the end of its parent (PR_SET_PDEATHSIG). It belongs to the thread, and the kernel
 * clears it whenever the thread changes its user or group, for files alone as well (setfsuid(2)), or gains a
 * capability: each such change is between death_signal_get() and death_signal_keep().
 */
#ifndef JESCOPE_CONFINE_DEATH_SIGNAL_H
#define JESCOPE_CONFINE_DEATH_SIGNAL_H

#include <sys/types.h>

/* Makes the calling child end with its parent; ends it immediately if the parent has ended. */
void death_signal_bind(pid_t parent);

typedef struct {
    int number; /* 0: none */
    pid_t parent;
} DeathSignal;

DeathSignal death_signal_get(void);

/* Sets the signal again; raises it if the parent has ended meanwhile. */
void death_signal_keep(const DeathSignal *before);

#endif
