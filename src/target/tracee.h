/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling functions and system calls in one stopped thread of a process that was not prepared for it (ptrace(2)).
 * Why this is safe, and what remains: docs/attach.md.
 *
 *   tracee_new()     looks at the process from outside; nothing is stopped
 *   tracee_attach()  stops one thread at a safe point; the others keep running
 *   tracee_call()    as often as needed
 *   tracee_detach()  the thread goes on as if nothing had happened
 *
 * From tracee_attach() to tracee_detach() everything must happen in one thread of ours, whose end detaches as well: the
 * kernel sees to that. If we are killed in between, the target's thread finishes the call that is under way and goes
 * on.
 */
#ifndef JESCOPE_TARGET_TRACEE_H
#define JESCOPE_TARGET_TRACEE_H

#include "target/process.h"
#include "target/registers.h"

typedef struct _Tracee Tracee;

enum {
    TRACEE_SCRATCH = 16 * 1024, /* bytes of memory in the target for what arguments point to */
};

/* Limits in milliseconds. */
typedef struct {
    guint attach; /* to find a thread at a safe point */
    guint call;   /* one call; after that it is left to finish by itself */
} TraceeDeadlines;

extern const TraceeDeadlines tracee_deadlines_default;

/* Looks for the code that calls need. The error says why the process cannot be attached to and what to change. */
Tracee *tracee_new(const Process *process, GError **error);

/* Detaches if need be. */
void tracee_free(Tracee *tracee);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tracee, tracee_free)

void tracee_set_deadlines(Tracee *tracee, const TraceeDeadlines *deadlines);

/* Whether it may make system calls that the program itself may not: FALSE where a seccomp filter is in force that we
 * cannot suspend (that takes CAP_SYS_ADMIN). */
gboolean tracee_may_call_system(const Tracee *tracee);

/* From START to END lies code of jemalloc: a safe point is one whose stack holds no address of it, or a wait for
 * something outside; the dynamic loader, fork() and signal handlers are known. */
void tracee_avoid(Tracee *tracee, guint64 start, guint64 end);

/* Only a thread in a system call that the program itself wanted will do from now on: one that waits, or that can be
 * followed to where one begins. For functions that take locks of the C library: nobody is there who holds them. */
void tracee_require_wait(Tracee *tracee);

/* Where jemalloc's own code cannot be told from the program's: only a thread that waits in a system call which jemalloc
 * never makes is at a safe point. */
void tracee_require_foreign_wait(Tracee *tracee);

/* Stops one thread at a safe point. */
gboolean tracee_attach(Tracee *tracee, GError **error);

/* The thread that is stopped. */
pid_t tracee_thread(const Tracee *tracee);

/* The address in the target of TRACEE_SCRATCH bytes, while attached; they are on the thread's own stack and keep their
 * contents between calls. */
guint64 tracee_scratch(const Tracee *tracee);

gboolean tracee_read(Tracee *tracee, guint64 address, void *bytes, gsize length, GError **error);
gboolean tracee_write(Tracee *tracee, guint64 address, const void *bytes, gsize length, GError **error);

/* Calls a function with up to REGISTERS_ARGUMENTS integer or pointer arguments. On any error the thread has been
 * detached: TARGET_ERROR_SILENT says that it has not returned in time and was left to finish. */
gboolean tracee_call(Tracee *tracee, guint64 function, const guint64 *arguments, guint n, guint64 *result,
                     GError **error);

/* A system call; *RESULT is negative, an errno, if it failed. Needs tracee_may_call_system(). */
gboolean tracee_system_call(Tracee *tracee, gint64 number, const guint64 *arguments, guint n, gint64 *result,
                            GError **error);

/* One system call that the called function makes. */
typedef struct {
    gint64 number;
    guint64 arguments[REGISTERS_ARGUMENTS];
    gint64 result; /* once made */
} TraceeSystemCall;

typedef enum {
    TRACEE_PROCEED, /* with the call as it is */
    TRACEE_REPLACE, /* with number and arguments as changed */
    TRACEE_SKIP,    /* do nothing; the function sees result. Under a seccomp filter it is made with the arguments as
                       changed, which must then do nothing */
} TraceeVerdict;

/* Asked about every system call of the functions called from now on: BEFORE it and, if not NULL, AFTER it. */
typedef struct {
    TraceeVerdict (*before)(TraceeSystemCall *call, gpointer data);
    void (*after)(const TraceeSystemCall *call, gpointer data);
    gpointer data;
} TraceeWatch;

/* NULL: none. Copied. */
void tracee_watch(Tracee *tracee, const TraceeWatch *watch);

/* Lets the thread go on where it was. Does nothing if it is not attached. */
gboolean tracee_detach(Tracee *tracee, GError **error);

/* Nanoseconds from the stop to the release of the last attach that is over. */
guint64 tracee_pause_ns(const Tracee *tracee);

#endif
