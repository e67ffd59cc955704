/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells a process that memory is short, by systemd's protocol (https://systemd.io/MEMORY_PRESSURE): its
 * environment has MEMORY_PRESSURE_WATCH, the path of a pressure file of the kernel or of a socket, and
 * MEMORY_PRESSURE_WRITE, what is to be written there. We listen beside it.
 */
#ifndef JESCOPE_TARGET_PRESSURE_H
#define JESCOPE_TARGET_PRESSURE_H

#include <glib.h>

typedef struct PressureWatch PressureWatch;

/*
 * Of process PID, whose user can choose both variables: a pressure file is used only if it is that of the control group
 * of the process or of the machine, with a trigger as the kernel takes it, and a socket only if the process is of our
 * own user and sees our files: root of a container is not root, and names another file by the same path. NULL: it has
 * none, or none that is used.
 */
PressureWatch *pressure_watch_new(int pid);
void pressure_watch_free(PressureWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PressureWatch, pressure_watch_free)

/* Whether memory was short since the call before. Does not block. */
gboolean pressure_watch_take(PressureWatch *watch);

#endif
