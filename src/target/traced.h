/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread under ptrace(2); only traced.c knows whether it runs.
 *
 * Registers belong to the stop at which they were read. When the program resumes, the stop ends and they are freed, so
 * that they cannot be written back later. The only exception is a loan: while the thread executes a called function,
 * the program itself does not run, so registers read before the loan stay valid until its end, and nothing resumes the
 * program during a loan. Both are asserted where the kernel is called.
 *
 *   traced_seize()     it runs
 *   traced_stop()      it is stopped at any place
 *   traced_follow()    it is stopped at the entry of a system call
 *   traced_borrow()    at a stop; until the release, its stack and registers are ours
 *   traced_call()      as often as needed
 *   traced_release()   in any of these states: it continues as if it had not been stopped
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
    TRACED_STUCK, /* it neither stops nor is runnable */
} TracedOutcome;

typedef enum {
    TRACED_AT_REQUEST,  /* by PTRACE_INTERRUPT */
    TRACED_AT_JOB_STOP, /* the process is stopped, as by SIGSTOP */
    TRACED_AT_ENTRY,    /* of a system call */
    TRACED_AT_EXIT,     /* of a system call */
    TRACED_AT_SIGNAL,   /* before the delivery of a signal */
    TRACED_AT_OTHER,
} TracedPlace;

/* The treatment of its seccomp filter. */
typedef enum {
    TRACED_UNFILTERED,
    TRACED_FILTER_SUSPENDED, /* while it is traced */
    TRACED_FILTERED,         /* only the program's own system calls may be made */
} TracedFilter;

/* Attaches to THREAD, which continues to run. NULL with errno. DATA, which is passed to KERNEL, must outlive the
 * result. */
Traced *traced_seize(const TraceKernel *kernel, gpointer data, pid_t thread);

/* Without traced_release(), the thread stays traced until our own thread ends. */
void traced_free(Traced *traced);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Traced, traced_free)

TracedOutcome traced_stop(Traced *traced);

/* Lets the program run until SUITS() accepts the entry of a system call, where it is then stopped: TRUE. FALSE at
 * microsecond UNTIL of the kernel's clock, or if the thread has ended; it may then be running or stopped. */
gboolean traced_follow(Traced *traced, gint64 until, gboolean (*suits)(Traced *traced, gpointer data), gpointer data);

/* The place of the current stop. */
TracedPlace traced_place(const Traced *traced);

/* The registers at the current stop, valid until it ends; a system call that is about to be made counts as interrupted.
 * NULL with errno. */
const Registers *traced_registers(Traced *traced);

/* To be called before a loan, TRACED_UNFILTERED otherwise. */
void traced_set_filter(Traced *traced, TracedFilter filter);

/* Whether a loan may begin at this stop. */
gboolean traced_may_borrow(Traced *traced);

/* Begins a loan. The return path is laid out below address TOP of its stack. FALSE with errno. */
gboolean traced_borrow(Traced *traced, guint64 top, const RemoteCode *code);

/* Whether a call has returned and the loan continues. */
gboolean traced_has_returned(const Traced *traced);

/* The registers of the thread before the loan, and its return path; NULL without a loan. */
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
                       otherwise the function gets EPERM */
    TRACEE_ALLOW,   /* the same of any call */
    TRACEE_REPLACE, /* make the call with the changed number and arguments */
    TRACEE_SKIP,    /* do not make the call; the function gets result. Under a seccomp filter, the call is made with the
                       changed arguments, with which it must have no effect */
} TraceeVerdict;

/* System calls permitted while the program's filter is suspended. */
typedef enum {
    TRACED_PERMIT_HARMLESS,
    TRACED_PERMIT_ALL,
} TracedPermit;

/* Called for every system call of the function: BEFORE it and, if not NULL, AFTER it. */
typedef struct {
    TraceeVerdict (*before)(TraceeSystemCall *call, gpointer data);
    void (*after)(const TraceeSystemCall *call, gpointer data);
    gpointer data;
} TraceeWatch;

typedef enum {
    TRACED_RETURNED,
    TRACED_LEFT,    /* it did not return in time, is released and returns by itself */
    TRACED_CRASHED, /* *SIGNAL was raised; the thread is released at its place before the loan */
    TRACED_LOST,    /* errno; ESRCH: it has ended. It is released as far as possible */
} TracedReturn;

typedef struct {
    const GeneralRegisters *general;
    const TraceeWatch *watch; /* its functions may be NULL */
    /* Called with DATA from time to time until the function returns: the signals that the program must handle before it
     * can. Others wait until the end of the loan. NULL: none. */
    guint64 (*awaited)(gpointer data);
    gpointer data;
    gint64 until; /* of the kernel's clock */
    TracedPermit permit;
} TracedCall;

/* Makes CALL. With TRACED_FILTER_SUSPENDED, the filter is suspended from the first call to the end of the loan. */
TracedReturn traced_call(Traced *traced, const TracedCall *call, int *signal);

/* Under TRACED_FILTERED, after a call: ends the loan and stops the thread again in its original system call. */
TracedOutcome traced_give_back(Traced *traced);

/* Ends the loan, resumes the thread and stops tracing it. FALSE with errno: it has ended or is stuck. */
gboolean traced_release(Traced *traced);

#endif
