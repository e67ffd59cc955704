/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small requests about untrusted files, answered by a child without privileges (sandbox.h) that is kept for further
 * files of the same owner and file system. Each thread has its own worker, which ends with the thread, so that a slow
 * file delays only one thread. The caller must check the answer: the author of the file may have taken over the child.
 */
#ifndef JESCOPE_CONFINE_WORKER_H
#define JESCOPE_CONFINE_WORKER_H

#include <glib.h>

enum { WORKER_MAX_MESSAGE = 64 * 1024 }; /* bytes of a request and of an answer */

/*
 * Called in the child: examines the file open as fd, which is read with pread() only, stores up to WORKER_MAX_MESSAGE
 * bytes of answer and returns their number. It has no descriptors and memory but these.
 */
typedef gsize WorkerAnswers(int fd, gconstpointer question, gpointer answer);

typedef struct {
    WorkerAnswers *answers;
    int fd; /* remains owned by the caller */
    gconstpointer data;
    gsize length;
} WorkerQuestion;

/*
 * Sends a request to this thread's worker, which is started if necessary. Returns the size of the answer; -1 with
 * G_IO_ERROR: a file that takes more than WORKER_MAX_CPU_MS of processor time (or WORKER_MAX_MS in all) is
 * G_IO_ERROR_TIMED_OUT, one that kills the worker G_IO_ERROR_PARTIAL_INPUT; the next request starts a new worker. Such
 * a file is not read again for a minute, and after WORKER_MAX_SLOW of them no file of the same owner: G_IO_ERROR_BUSY.
 */
#define WORKER_MAX_CPU_MS 3000
#define WORKER_MAX_MS     60000
#define WORKER_MAX_SLOW   3
gssize worker_ask(const WorkerQuestion *question, gpointer answer, gsize room, GError **error);

/* Ends this thread's worker, if it has one; needed before an exec, after which no process would wait for it. */
void worker_end(void);

#endif
