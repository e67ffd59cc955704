/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes that are not our children have ended, by the process connector of the kernel (<linux/cn_proc.h>). One
 * subscription of this program serves all processes that are followed; it begins with the first and ends with the last
 * of them. The kernel filters by their pids, so exits of other processes, however many, do not reach us. Needs
 * CAP_NET_ADMIN and the initial namespaces of users, pids and networks, or a process that has them (reach.h).
 * Thread-safe.
 */
#ifndef JESCOPE_TARGET_EXIT_EVENTS_H
#define JESCOPE_TARGET_EXIT_EVENTS_H

#include <glib.h>
#include <sys/types.h>

enum { EXIT_EVENTS_MOST = 128 }; /* processes followed at a time: for more, net.core.optmem_max may lack room */

/* To be followed by exit_events_forget(). Where there is no subscription, or too many are followed, nothing will be
 * known of PID. */
void exit_events_follow(pid_t pid);
void exit_events_forget(pid_t pid);

/* The status, as of waitpid(2), of PID, which is followed and has ended. FALSE: it was not told, or not yet. */
gboolean exit_events_read(pid_t pid, int *status);

/* A subscription that receives nothing before its owner has set a filter, to be ended; -1 with errno. */
int exit_events_subscribe(void);

/* Also closes it. Closing it alone has the kernel compose events for nobody, before Linux 6.6. */
void exit_events_unsubscribe(int subscription);

#endif
