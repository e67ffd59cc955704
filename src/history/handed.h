/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history file that is read in a confined process (confine/confined.h), which may open nothing itself: SQLite there
 * asks the parent for the file, its log and what else it keeps beside it, and is given no other.
 */
#ifndef JESCOPE_HISTORY_HANDED_H
#define JESCOPE_HISTORY_HANDED_H

#include <glib.h>

/* In the parent, before it forks: the child may read the history file at PATH, which need not exist, with our rights.
 */
void history_hand_over(const char *path);

/* In the child: from now on history_open() of that PATH for reading, and SQLite, ask the parent. */
void history_take_handed(void);

#endif
