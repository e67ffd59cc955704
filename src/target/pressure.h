/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives the same notifications of memory pressure as a process, by systemd's protocol
 * (https://systemd.io/MEMORY_PRESSURE): its environment has MEMORY_PRESSURE_WATCH, the path of a pressure file of the
 * kernel or of a socket, and MEMORY_PRESSURE_WRITE, the data to write there.
 */
#ifndef JESCOPE_TARGET_PRESSURE_H
#define JESCOPE_TARGET_PRESSURE_H

#include <glib.h>

typedef struct PressureWatch PressureWatch;

/*
 * Watches the notifications of process PID. Its user can choose both variables, so a pressure file is accepted only if
 * it belongs to the control group of the process or to the machine and the trigger is valid; a socket only if the
 * process belongs to our own user and sees our files, since a container has a root user and paths of its own. NULL if
 * PID has none that is accepted.
 */
PressureWatch *pressure_watch_new(int pid);
void pressure_watch_free(PressureWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PressureWatch, pressure_watch_free)

/* Whether memory pressure was reported since the previous call. Does not block. */
gboolean pressure_watch_take(PressureWatch *watch);

#endif
