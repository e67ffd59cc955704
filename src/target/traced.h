/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread under ptrace(2); only this file knows whether it runs.
 *
 * Registers belong to the stop at which they were read. When the program resumes, the stop ends and they are freed, so
 * that they cannot be written back later. The only exception is a loan. While the thread executes a called function,
 * the program itself does not run, so registers read before the loan stay valid until its end; and during a loan
 * nothing resumes the program. Both are asserted where the kernel is called.
 *
 *   traced_seize()     it runs
 *   traced_stop()      it is stopped, wherever that is
 *   traced_follow()    it is stopped where a system call begins
 *   traced_borrow()    at a stop; from here to the release its stack and registers are ours
 *   traced_call()      as often as needed
 *   traced_release()   from any of these: it goes on as if nothing had been
 *
 * All calls must be in one thread, whose end also detaches. That is the only way to release a thread that cannot be
 * stopped (TRACED_STUCK).
 */
#ifndef JESCOPE_TARGET_TRACED_H
#define JESCOPE_TARGET_TRACED_H

#include "target/trace-kernel.h"

typedef struct _Traced Traced;

typedef enum {
    TRACED_STOPPED,
    TRACED_GONE,  /* it has ended, or runs another program */
    TRACED_STUCK, /* it neither stops nor wants to run */
} TracedOutcome;

typedef enum {
    TRACED_AT_REQUEST,  /* where PTRACE_INTERRUPT caught it */
    TRACED_AT_JOB_STOP, /* the process is stopped, as by SIGSTOP */
    TRACED_AT_ENTRY,    /* of a system call */
    TRACED_AT_EXIT,     /* of a system call */
    TRACED_AT_SIGNAL,   /* that is about to be delivered */
    TRACED_AT_OTHER,
} TracedPlace;

/* How its seccomp filter is dealt with. */
typedef enum {
    TRACED_UNFILTERED,
    TRACED_FILTER_SUSPENDED, /* while it is traced */
    TRACED_FILTERED,         /* nothing but the program's own system calls may be made */
} TracedFilter;

/* NULL with errno. KERNEL's DATA must outlive it. */
Traced *traced_seize(const TraceKernel *kernel, gpointer data, pid_t thread, TracedFilter filter);

/* Without traced_release() it stays traced until our own thread ends. */
void traced_free(Traced *traced);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Traced, traced_free)

TracedOutcome traced_stop(Traced *traced);

/* Lets the program run until microsecond UNTIL of the kernel's clock, or to where SUITS() is content with the system
 * call that begins there: TRUE. Otherwise it may run, be stopped or have ended. */
gboolean traced_follow(Traced *traced, gint64 until, gboolean (*suits)(Traced *traced, gpointer data), gpointer data);

/* Of the stop that it is in. */
TracedPlace traced_place(const Traced *traced);

/* Its registers at this stop, with the system call that is about to be made as the one that was interrupted. They end
 * with the stop. NULL with errno. */
const Registers *traced_registers(Traced *traced);

/* Whether a loan may begin at this stop. */
gboolean traced_may_borrow(Traced *traced);

/* The way back is laid out below address TOP of its stack. FALSE with errno. */
gboolean traced_borrow(Traced *traced, guint64 top, const RemoteCode *code);

/* Whether a call is over, and the loan is not. */
gboolean traced_has_returned(const Traced *traced);

/* The state of the thread before the loan, and its return. NULL: no loan. */
const Registers *traced_home(const Traced *traced);
const ReturnPath *traced_path(const Traced *traced);

/* One system call that the called function makes. */
typedef struct {
    gint64 number;
    guint64 arguments[REGISTERS_ARGUMENTS];
    gint64 result; /* once made */
} TraceeSystemCall;

typedef enum {
    TRACEE_PROCEED, /* continue with the call; while the filter is suspended only if it is harmless (harmless-calls.h),
                       else the function gets EPERM */
    TRACEE_ALLOW,   /* the same of any call */
    TRACEE_REPLACE, /* with number and arguments as changed */
    TRACEE_SKIP,    /* do nothing; the function sees result. Under a seccomp filter it is made with the arguments as
                       changed, which must then do nothing */
} TraceeVerdict;

/* System calls permitted while the program's filter is suspended. */
typedef enum {
    TRACED_PERMIT_HARMLESS,
    TRACED_PERMIT_ALL,
} TracedPermit;

/* Asked about every system call of the function: BEFORE it and, if not NULL, AFTER it. */
typedef struct {
    TraceeVerdict (*before)(TraceeSystemCall *call, gpointer data);
    void (*after)(const TraceeSystemCall *call, gpointer data);
    gpointer data;
} TraceeWatch;

typedef enum {
    TRACED_RETURNED,
    TRACED_LEFT,    /* it did not return in time; it is released, and returns by itself */
    TRACED_CRASHED, /* *SIGNAL was raised; it is released where it was before the loan */
    TRACED_LOST,    /* errno; ESRCH: it has ended. It is released as far as that can be done */
} TracedReturn;

typedef struct {
    const GeneralRegisters *general;
    const TraceeWatch *watch; /* its functions may be NULL */
    gint64 until;             /* of the kernel's clock */
    TracedPermit permit;
} TracedCall;

/* The filter, if it is TRACED_FILTER_SUSPENDED, is so from the first call to the end of the loan. */
TracedReturn traced_call(Traced *traced, const TracedCall *call, int *signal);

/* Under TRACED_FILTERED, after a call: ends the loan and stops the thread again in its original system call. */
TracedOutcome traced_give_back(Traced *traced);

/* Ends the loan, resumes the thread and stops tracing it. FALSE with errno: it has ended or is stuck. */
gboolean traced_release(Traced *traced);

#endif
