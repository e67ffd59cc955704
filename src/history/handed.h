/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a confined process (confine/confined.h), which cannot open files, read a history file: SQLite there asks the
 * parent for the file, its log and its other auxiliary files, and gets no others.
 */
#ifndef JESCOPE_HISTORY_HANDED_H
#define JESCOPE_HISTORY_HANDED_H

#include <glib.h>
#include <sys/types.h>

/* To be called by the parent before it forks: the child may read the history file at PATH, which need not exist, with
 * the parent's rights. The links of another user on the way lead only to files of his own (confine/input-file.h). A
 * file that takes its place later is refused (ESTALE). */
void history_hand_over(const char *path);

/* The user who can write that file and the auxiliary files that children have been given so far, and so decides what
 * they read; RIGHTS_NOBODY if several can. */
uid_t history_handed_author(void);

/* The processor time in seconds that a child may take to read that file; 0: as the sandbox allows. A file of another
 * author may have any schema, so how long a query takes is his choice. */
guint history_handed_seconds(void);

/* To be called by the child: from now on history_open() of that PATH for reading, and SQLite, ask the parent. */
void history_take_handed(void);

#endif
