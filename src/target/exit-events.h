/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit statuses of processes that are not our children, from the kernel's process connector (<linux/cn_proc.h>).
 * One subscription serves all processes that are followed; it begins with the first and ends with the last of them. The
 * kernel filters by pid, so exits of other processes are not delivered. A thread receives the events as they come,
 * while there is a subscription. Needs CAP_NET_ADMIN in the initial user, pid and network namespaces, or a process that
 * has it (reach.h). Thread-safe.
 */
#ifndef JESCOPE_TARGET_EXIT_EVENTS_H
#define JESCOPE_TARGET_EXIT_EVENTS_H

#include <glib.h>
#include <sys/types.h>

enum { EXIT_EVENTS_MOST = 128 }; /* processes followed at a time: net.core.optmem_max may not allow more */

/* Follows PID until exit_events_forget(). Without a subscription, or if too many of its user are followed, its status
 * stays unknown. */
void exit_events_follow(pid_t pid);
void exit_events_forget(pid_t pid);

/* Sets *STATUS to the status, as of waitpid(2), of PID, which is followed and has ended. FALSE if it is not known, or
 * not yet. */
gboolean exit_events_read(pid_t pid, int *status);

/* A new subscription, to be ended with exit_events_unsubscribe(); -1 with errno. It receives nothing until its owner
 * sets a filter. */
int exit_events_subscribe(void);

/* Ends and closes SUBSCRIPTION. If it were only closed, Linux before 6.6 would continue to generate events. */
void exit_events_unsubscribe(int subscription);

#endif
