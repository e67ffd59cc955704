/* SPDX-License-Identifier: Apache-2.0 */
/* The debug information of one object, and the work of answering from it cut into pieces that can run at the same time.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_TASK_H
#define JESCOPE_SYMBOLIZE_DWARF_TASK_H

#include "symbolize/object.h"

typedef struct DwarfTask DwarfTask;

/*
 * Opens the debug information of image and assigns each open address of work to the unit that covers it. NULL: none.
 */
DwarfJob *dwarf_job_new(ObjectWork *work, Image *image);

/* The pieces: DwarfTask. Each can run in any thread; run each once. */
const GPtrArray *dwarf_job_tasks(const DwarfJob *job);
void dwarf_task_run(DwarfTask *task);

/* After the tasks have run: how many files that the debug information leans on (.dwo, dwz) were missed. */
guint dwarf_job_missing(const DwarfJob *job);

/* The same: whether all of them, and those it read, belong to root or the caller. */
gboolean dwarf_job_is_trusted(const DwarfJob *job);

void dwarf_job_free(DwarfJob *job);

#endif
