/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end jescope, as something to wait for: what was switched on is switched back before it ends. */
#ifndef JESCOPE_CLI_INTERRUPT_H
#define JESCOPE_CLI_INTERRUPT_H

#include <glib.h>
#include <signal.h>

typedef struct {
    sigset_t signals;
    int descriptor;
} Interrupt;

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT only make interrupt_wait() return. */
gboolean interrupt_catch(Interrupt *interrupt, GError **error);

/* Waits at most MS milliseconds; TRUE: a signal wants the end. */
gboolean interrupt_wait(const Interrupt *interrupt, guint64 ms);

/* They end jescope as usual again, and at once if one has come since. */
void interrupt_release(Interrupt *interrupt);

#endif
