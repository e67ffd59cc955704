/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renews the leases of several recordings on a thread of its own. They would end while a dump of one of them is taken,
 * or while a process does not answer, which may be another user's than the others.
 *
 * A recording that was added is not to be used, except what is set at its start, unless it was taken.
 */
#ifndef JESCOPE_CLI_RENEWING_H
#define JESCOPE_CLI_RENEWING_H

#include "cli/recording.h"

typedef struct Renewing Renewing;

/* NULL with an error: there is no thread. */
Renewing *renewing_new(GError **error);
void renewing_free(Renewing *renewing);

/* Ends the thread: from now on all recordings are the caller's alone. */
void renewing_stop(Renewing *renewing);

/* The leases end at END_US (monotonic) at the latest; G_MAXINT64, the default: not before. */
void renewing_set_end(Renewing *renewing, gint64 end_us);

/* RECORDING is not taken then. */
void renewing_add(Renewing *renewing, Recording *recording);

/* Waits while the lease of RECORDING is being renewed, which its process may delay by some seconds. Until it is given
 * back, its lease is not renewed. */
void renewing_take(Renewing *renewing, Recording *recording);

/* The same without waiting. FALSE: it is being renewed. */
gboolean renewing_try_take(Renewing *renewing, Recording *recording);

void renewing_give_back(Renewing *renewing, Recording *recording);

/* RECORDING was taken. */
void renewing_remove(Renewing *renewing, Recording *recording);

/* Whether the lease of RECORDING, which was taken, could be renewed so far; FALSE with the error: it is not renewed any
 * more. */
gboolean renewing_goes_on(Renewing *renewing, Recording *recording, GError **error);

#endif
