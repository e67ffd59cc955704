/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls functions and system calls in one stopped thread of an unprepared process (ptrace(2)). docs/attach.md explains
 * why this is safe.
 *
 *   tracee_new()     examines the process from outside; nothing is stopped
 *   tracee_visit()   stops one thread at a safe point, while the others keep running, and resumes it afterwards
 *   tracee_call()    during a visit, as often as needed
 *
 * If jescope is killed during a visit, the target's thread finishes the current call and continues.
 */
#ifndef JESCOPE_TARGET_TRACEE_H
#define JESCOPE_TARGET_TRACEE_H

#include "target/process.h"
#include "target/traced.h"

typedef struct _Tracee Tracee;

enum {
    TRACEE_SCRATCH = 16 * 1024, /* bytes of memory in the target for the data of arguments */
};

/* Limits in milliseconds. */
typedef struct {
    guint attach; /* to find a thread at a safe point */
    guint call;   /* all calls of a visit; then the last one is left to finish by itself */
} TraceeDeadlines;

extern const TraceeDeadlines tracee_deadlines_default;

/* Finds the code that calls need. NULL with the reason why the process cannot be attached to, and what to change. */
Tracee *tracee_new(const Process *process, GError **error);

/* Detaches if necessary. */
void tracee_free(Tracee *tracee);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tracee, tracee_free)

void tracee_set_deadlines(Tracee *tracee, const TraceeDeadlines *deadlines);

/* During a visit: whether system calls may be made that the stopped thread itself may not make: FALSE under a seccomp
 * filter that this process cannot suspend for lack of CAP_SYS_ADMIN. */
gboolean tracee_may_call_system(const Tracee *tracee);

/* During a visit: whether a seccomp filter of the stopped thread is suspended while functions are called. */
gboolean tracee_suspends_filter(const Tracee *tracee);

/* Declares START to END as code of jemalloc: at a safe point, the stack has no address in it, or the thread waits for
 * an external event. The dynamic loader, fork() and signal handlers are checked in any case. */
void tracee_avoid(Tracee *tracee, guint64 start, guint64 end);

/* Uses, from now on, only a thread in a system call made by the program itself: a waiting one, or one that can be
 * followed to its next call. For functions that take locks of the C library, which are not held there. */
void tracee_require_wait(Tracee *tracee);

/* Permits the functions called from now on to make any system call while the thread's seccomp filter is suspended.
 * Only for an explicit request of the user, since the process controls these functions. */
void tracee_permit_all(Tracee *tracee);

/* For jemalloc code that cannot be distinguished from the program's: accepts only a thread that waits in a system call
 * which jemalloc never makes. */
void tracee_require_foreign_wait(Tracee *tracee);

/* Work while a thread is stopped; runs in a separate thread. */
typedef gboolean (*TraceeVisit)(Tracee *tracee, gpointer data, GError **error);

/* Stops one thread at a safe point, calls VISIT and always resumes the thread. FALSE: VISIT was not called or failed,
 * or the thread could not be restored. */
gboolean tracee_visit(Tracee *tracee, TraceeVisit visit, gpointer data, GError **error);

/* FALSE with OUTCOME_GONE: the process has ended, or executes another program now. Stops nothing. */
gboolean tracee_check_program(const Tracee *tracee, GError **error);

/* The program that was examined. */
ProcessProgram tracee_program(const Tracee *tracee);

/* The thread that is stopped. */
pid_t tracee_thread(const Tracee *tracee);

/* The address in the target of TRACEE_SCRATCH bytes, while attached; they are on the thread's own stack and keep their
 * contents between calls. */
guint64 tracee_scratch(const Tracee *tracee);

/* The memory of the program that was examined, even if the process executes another one meanwhile. */
gboolean tracee_read(Tracee *tracee, guint64 address, void *bytes, gsize length, GError **error);
gboolean tracee_write(Tracee *tracee, guint64 address, const void *bytes, gsize length, GError **error);

/* The string at ADDRESS, truncated to LIMIT bytes, to be freed; NULL with errno. */
char *tracee_read_string(const Tracee *tracee, guint64 address, gsize limit);

/* Calls a function with up to REGISTERS_ARGUMENTS integer or pointer arguments. On any error the thread has been
 * detached: OUTCOME_SILENT says that it has not returned in time and was left to finish. */
gboolean tracee_call(Tracee *tracee, guint64 function, const guint64 *arguments, guint n, guint64 *result,
                     GError **error);

/* A system call; *RESULT is negative, an errno, if it failed. Needs tracee_may_call_system(). */
gboolean tracee_system_call(Tracee *tracee, gint64 number, const guint64 *arguments, guint n, gint64 *result,
                            GError **error);

/* During a visit: until its end, pthread_cancel() does not end the thread in the functions that are called from now on,
 * for those with cancellation points: the thread would end with jemalloc's locks. No effect under a filter that is not
 * suspended, where each call ends the loan, and where the C library does not export pthread_setcancelstate(). */
gboolean tracee_disable_cancellation(Tracee *tracee, GError **error);

/* Sets the callbacks for every system call of the functions called from now on; NULL: none. WATCH is copied. */
void tracee_watch(Tracee *tracee, const TraceeWatch *watch);

/* Nanoseconds from the stop to the release in the last completed visit. */
guint64 tracee_pause_ns(const Tracee *tracee);

#endif
