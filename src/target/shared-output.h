/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory file that a target writes to while this process has it too. A hostile target may keep its descriptor, write
 * without limit, set a size without writing, continue to write, or move the offset that both descriptors share. Nothing
 * is read before shared_output_take().
 *
 * A thread of the target can also hold the lock of the file without end: write() holds it while it reads memory that
 * may be behind a file system that does not answer, and fallocate(), ftruncate() and F_ADD_SEALS wait for it, not even
 * ended by SIGKILL. So a child does all of this, which is given up (AsideHelper), and which allocates pages ahead of
 * the target meanwhile (output-pages.h). fstat() and pread() do not wait for the lock.
 */
#ifndef JESCOPE_TARGET_SHARED_OUTPUT_H
#define JESCOPE_TARGET_SHARED_OUTPUT_H

#include "confine/aside.h"
#include "target/output-file.h"
#include "target/output-pages.h"

/* To be called so often while the target writes. */
enum { SHARED_OUTPUT_LOOK_US = 10000 };

typedef struct {
    int fd;              /* -1: none */
    uid_t account;       /* who answers for the writer */
    guint64 most;        /* bytes to be allocated by the child */
    guint64 granted;     /* of these, as long as there is memory */
    guint64 held;        /* bytes that count as the account's (own-room.h) */
    guint64 allowed;     /* OutputPlan.allowed */
    guint64 overtaken;   /* OutputPages.overtaken, as last told by the child */
    gboolean is_stopped; /* the same */
    AsideHelper *helper; /* the child */
    gint64 helper_until_us;
    gboolean given_up; /* the child does not answer */
} SharedOutput;

/* Takes ownership of FD, which a process of USER writes to or is about to get, and allocates its first pages: not
 * for a user whose processes kept pages that were allocated before, and once there are 16 such users, only for our own
 * processes.
 * LABEL is the writer's name for messages. FALSE with OUTCOME_SILENT if the user's processes have delayed this too
 * often; OUTPUT is to be discarded then, too. */
gboolean shared_output_begin(SharedOutput *output, int fd, const OutputPlan *plan, uid_t user, const char *label,
                             GError **error);

/* While WRITER may be writing: FALSE with OUTCOME_TOO_LARGE above its limit. Pages are allocated as long as memory is
 * left. */
gboolean shared_output_watch(SharedOutput *output, const OutputWriter *writer, GError **error);

/* While the writer is stopped: allocates the pages that it reaches next. FALSE with OUTCOME_NO_HEADROOM if more is
 * charged to it than allowed; it can then write no more. */
gboolean shared_output_advance(SharedOutput *output, const char *label, GError **error);

/* Makes the file empty, for another attempt. */
gboolean shared_output_restart(SharedOutput *output, const char *label, GError **error);

/* Takes ownership of OUTPUT, to which WRITER reports to have written BYTES bytes: checks its size, and moves its
 * content to a new memory file, which is returned. WRITER keeps an empty file: the pages were allocated by this
 * process, and would otherwise stay charged to it for as long as WRITER likes. -1 on error. */
int shared_output_take(SharedOutput *output, guint64 bytes, const OutputWriter *writer, GError **error);

/* Frees the content; the writer can write no more. Returns FALSE with OUTCOME_NO_HEADROOM if the writer was stopped
 * because more was charged to it than allowed. */
gboolean shared_output_discard(SharedOutput *output, const char *label, GError **error);

#endif
