/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process is still the one that was found (decision 25). A pid says nothing of that: the process may have
 * ended, and another one have its pid, or it may have executed a set-user-ID program, while a child of it goes on to
 * answer for it. What was read of a process by its pid is used only after this was asked: until it has ended, its pid
 * is not another one's, and it gets no rights of others but by executing such a program. Some of these leave it its
 * ids: those with capabilities, those that give up their rights and cannot take them back, and those that its user may
 * not read. The kernel then keeps its memory from its user (Process.closed).
 */
#ifndef JESCOPE_TARGET_PROCESS_CHANGE_H
#define JESCOPE_TARGET_PROCESS_CHANGE_H

#include "target/process.h"

/* 0 if the process FOUND runs, with its start time and its user and group ids, and not closed unless it was; in any way
 * if it was root's, of the machine or of its user namespace, and so could take any ids there. ESRCH if it has ended,
 * EPERM if it has other ids or is closed now; another errno if that cannot be said. */
int process_change_check(const Process *found);

/* The same of the process whose directory in /proc is open as DIRECTORY: what is opened there later is its own. */
int process_change_check_in(int directory, const Process *found);

/* Whether OTHER, as of process_look(), could be what FOUND has become, but for its pid and start time. */
gboolean process_change_has_no_more(const Process *other, const Process *found);

#endif
