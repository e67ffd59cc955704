/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For how long a confined child waits for files, which a file system of another user may answer late, or never: such
 * waits may take 30 s longer than everything else together, whatever call they are in. Time counts as waiting if a
 * thread waits for a file and none runs, and little has been read from disks meanwhile. Works for root alone, who may
 * look at the child's calls. Not thread-safe.
 */
#ifndef JESCOPE_CONFINE_FILE_WAITS_H
#define JESCOPE_CONFINE_FILE_WAITS_H

#include <glib.h>
#include <sys/types.h>

enum { FILE_WAITS_S = 30 };

typedef struct FileWaits FileWaits;

/* PID is a child that has the n descriptors at KEPT from this process, which has them, too; KEPT must stay. */
FileWaits *file_waits_new(pid_t pid, const int *kept, guint n);
void file_waits_free(FileWaits *waits);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileWaits, file_waits_free)

/* Milliseconds until the next look, at random times, so that no file system can avoid them. */
int file_waits_due_ms(const FileWaits *waits);

/* Looks if that is due. FALSE: the child has waited for too long. */
gboolean file_waits_look(FileWaits *waits);

#endif
