/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of progress on stderr with the elapsed time, for work that takes over half a second, if stderr is a terminal.
 * It never wraps, and is removed at the end. A separate thread draws it, also while the work blocks.
 *
 *     g_autoptr(Progress) progress = progress_begin("reading %s", path);
 *     ...
 *     progress_show(progress, "naming %u addresses", n);
 *     ...
 *     progress_end(g_steal_pointer(&progress));      before anything else is printed on a terminal
 *
 * Without a terminal, or if no thread can be created, progress_begin() returns NULL, which all functions accept. Calls
 * may come from any thread. A fork waits while a line is drawn, so that a child inherits no lock of the drawing thread.
 */
#ifndef JESCOPE_CLI_PROGRESS_H
#define JESCOPE_CLI_PROGRESS_H

#include <glib.h>

typedef struct _Progress Progress;

Progress *progress_begin(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Changes the text of the line, followed by the time since progress_begin(), "3 s", unless the text contains its own
 * (progress_show_timed()). */
void progress_show(Progress *progress, const char *format, ...) G_GNUC_PRINTF(2, 3);
void progress_show_timed(Progress *progress, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Sets the completed share, shown as a percentage after the text. WHOLE 0: unknown. */
void progress_share(Progress *progress, guint64 done, guint64 whole);

/* The stage of a report. */
typedef enum {
    PROGRESS_BEGINS,
    PROGRESS_READS,  /* dumps */
    PROGRESS_NAMES,  /* functions: objects done, and their number */
    PROGRESS_WRITES, /* the report */
    PROGRESS_N_PHASES,
} ProgressPhase;

/* From now on the line shows the stages set by progress_phase(), also in children forked from now on. For one Progress
 * at a time. */
void progress_follow_phases(Progress *progress);
/* May be called anywhere; has no effect if no line follows the stages. WHOLE 0: not counted. */
void progress_phase(ProgressPhase phase, guint done, guint whole);

/* Erases the line and frees. */
void progress_end(Progress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Progress, progress_end)

#endif
