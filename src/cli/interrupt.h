/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the signals that end jescope, so that it can restore the earlier state before it exits. */
#ifndef JESCOPE_CLI_INTERRUPT_H
#define JESCOPE_CLI_INTERRUPT_H

#include <glib.h>
#include <signal.h>

typedef struct {
    sigset_t signals;
    int descriptor;
} Interrupt;

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only make interrupt_wait() return. */
gboolean interrupt_catch(Interrupt *interrupt, GError **error);

/* Waits at most MS milliseconds; TRUE: a signal was received. */
gboolean interrupt_wait(const Interrupt *interrupt, guint64 ms);

/* Whether a signal has been received that interrupt_wait() has not returned. */
gboolean interrupt_is_pending(const Interrupt *interrupt);

/* Restores the default actions; a signal received meanwhile ends jescope immediately. */
void interrupt_release(Interrupt *interrupt);

#endif
