/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a stopped thread may call jemalloc (docs/attach.md has the reasoning). */
#ifndef JESCOPE_TARGET_SAFE_POINT_H
#define JESCOPE_TARGET_SAFE_POINT_H

#include "target/address-space.h"
#include "target/c-library.h"
#include "target/registers.h"

typedef struct _SafePoints SafePoints;

typedef enum {
    SAFE_POINT_HERE,
    SAFE_POINT_MOVING,      /* it cannot be examined at the moment */
    SAFE_POINT_IN_LOADER,   /* ADDRESS is in the dynamic loader */
    SAFE_POINT_IN_FORK,     /* ADDRESS is in fork(), which runs handlers */
    SAFE_POINT_IN_HOLDER,   /* ADDRESS is in a function of the C library that may hold one of its locks */
    SAFE_POINT_IN_WRAPPER,  /* ADDRESS is in code of the program's that replaces functions of the C library */
    SAFE_POINT_IN_JEMALLOC, /* ADDRESS is in jemalloc */
    SAFE_POINT_IN_HANDLER,  /* it runs a signal handler */
    SAFE_POINT_IN_TRANSFER, /* it waits in a system call that a stop would cut short; it was not stopped */
    SAFE_POINT_NO_WAIT,     /* it is not waiting in a system call for an external event */
    SAFE_POINT_OTHER_STACK, /* it runs on a coroutine's stack or an alternative signal stack */
    SAFE_POINT_NO_ROOM,     /* too little stack is left */
    SAFE_POINT_SEQUENCE,    /* it is in a restartable sequence */
    SAFE_POINT_SUSPENDED,   /* another thread is suspended by a signal and may hold a lock (suspension.h) */
    SAFE_POINT_DISPATCH, /* its system calls may be dispatched to the program (prctl(2), PR_SET_SYSCALL_USER_DISPATCH)
                          */
} SafePointVerdict;

typedef struct {
    SafePointVerdict verdict;
    guint64 pc;      /* where the thread was */
    guint64 address; /* the address that decided it */
    guint64 unknown; /* code with an unknown caller, so ADDRESS may be a stale word on the stack; 0: ADDRESS is that of
                        a frame */
    gboolean waits;  /* it was in an unfinished system call, or the process is stopped: it may stay there */
    guint64 top;     /* SAFE_POINT_HERE: the highest unused address on its stack */
} SafePoint;

/* SPACE must outlive it. MAIN_STACK: where the frames of the main thread begin (ProcessProgram.stack); 0: unknown. */
SafePoints *safe_points_new(const AddressSpace *space, const RemoteCode *code, const CLibrary *library,
                            guint64 main_stack);
void safe_points_free(SafePoints *points);

/* Excludes threads in code from START to END, which is jemalloc's. */
void safe_points_avoid(SafePoints *points, guint64 start, guint64 end);

/* Excludes threads in functions of the C library that may hold a lock which dlopen() and pthread_create() take. */
void safe_points_avoid_holders(SafePoints *points, const CLibrary *library);

/* Excludes threads in REPLACED, of c_library_find_replaced(). */
void safe_points_avoid_replaced(SafePoints *points, const GArray *replaced);

/* Like tracee_require_foreign_wait() and tracee_require_wait(). */
void safe_points_require_foreign_wait(SafePoints *points);
void safe_points_require_wait(SafePoints *points, gboolean required);

SafePoint safe_points_judge(SafePoints *points, pid_t thread, const Registers *registers);

/* Whether a thread that waits, with stack pointer SP, runs a signal handler that has interrupted code from which
 * threads are excluded: it may hold a lock until the handler ends. It need not be stopped. *WORK, at first
 * CFI_WORK_MAX, is the number of unwind instructions and operations that may still be executed, and is reduced by those
 * executed; TRUE if it is exhausted. Not thread-safe. */
gboolean safe_points_holds(SafePoints *points, guint64 sp, guint *work);

#endif
