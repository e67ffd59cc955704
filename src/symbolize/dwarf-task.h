/* SPDX-License-Identifier: Apache-2.0 */
/* The debug information of one object, with the work of answering from it divided into tasks that can run in
 * parallel. */
#ifndef JESCOPE_SYMBOLIZE_DWARF_TASK_H
#define JESCOPE_SYMBOLIZE_DWARF_TASK_H

#include "symbolize/object.h"

typedef struct DwarfTask DwarfTask;

/*
 * Opens the debug information of image and assigns each unanswered address of work to the unit that covers it. NULL:
 * there is none.
 */
DwarfJob *dwarf_job_new(ObjectWork *work, Image *image);

/* The tasks: DwarfTask. Each may run in any thread, and must run once. */
const GPtrArray *dwarf_job_tasks(const DwarfJob *job);
void dwarf_task_run(DwarfTask *task);

/* After the tasks have run: the number of missing files that the debug information refers to (.dwo, dwz). */
guint dwarf_job_missing(const DwarfJob *job);

/* Likewise: whether all files that were read belong to root or the caller. */
gboolean dwarf_job_is_trusted(const DwarfJob *job);

void dwarf_job_free(DwarfJob *job);

#endif
