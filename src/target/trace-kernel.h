/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel interface of traced.h: ptrace(2), waitpid(2), proc(5). A table, so that a test can simulate the kernel. */
#ifndef JESCOPE_TARGET_TRACE_KERNEL_H
#define JESCOPE_TARGET_TRACE_KERNEL_H

#include "target/registers.h"
#include "target/threads.h"

#include <sys/ptrace.h>

typedef enum {
    TRACE_WAIT_NOTHING, /* no stop to report at the moment */
    TRACE_WAIT_STATUS,
    TRACE_WAIT_NONE, /* the thread can no longer be waited for */
} TraceWait;

typedef enum {
    TRACE_RESUME_ON,
    TRACE_RESUME_TO_SYSTEM_CALL,
    TRACE_RESUME_DETACHED,
} TraceResume;

/* DATA is the first argument of every call. FALSE with errno, unless noted. WRITE changes the memory of the program
 * that was examined: never that of another one which took the id of THREAD by an exec of another thread. SEIZE sets
 * errno to ESRCH if THREAD is not one of the process, and to ESTALE if that was found after it had been seized: it is
 * not stopped, and traced until our own thread ends. */
typedef struct {
    gboolean (*seize)(gpointer data, pid_t thread, guintptr options);
    gboolean (*set_options)(gpointer data, pid_t thread, guintptr options);
    gboolean (*interrupt)(gpointer data, pid_t thread);
    gboolean (*resume)(gpointer data, pid_t thread, TraceResume how, int signal);
    TraceWait (*wait)(gpointer data, pid_t thread, int *status); /* never blocks */
    gboolean (*call_info)(gpointer data, pid_t thread, struct __ptrace_syscall_info *info);
    gboolean (*read)(gpointer data, pid_t thread, Registers *registers);
    gboolean (*read_general)(gpointer data, pid_t thread, GeneralRegisters *general);
    gboolean (*write_general)(gpointer data, pid_t thread, const GeneralRegisters *general);
    gboolean (*write_extended)(gpointer data, pid_t thread, const Registers *registers);
    gboolean (*replace_call)(gpointer data, pid_t thread, GeneralRegisters *general, gint64 number);
    gboolean (*block)(gpointer data, pid_t thread, guint64 signals);
    gboolean (*write)(gpointer data, pid_t thread, guint64 address, const void *bytes, gsize length);
    guint64 (*caught)(gpointer data, pid_t thread);           /* signals with a handler */
    gboolean (*wants_processor)(gpointer data, pid_t thread); /* it is runnable */
    gint64 (*now)(gpointer data);                             /* microseconds */
    void (*pause)(gpointer data, gint64 passed); /* between two waits; PASSED: microseconds since the first */
} TraceKernel;

/* The DATA of trace_kernel_linux. */
typedef struct {
    pid_t pid;
    guint64 start_time; /* Process.start_time */
    int memory;         /* a descriptor of the program's /proc/PID/mem */
} TraceProgram;

extern const TraceKernel trace_kernel_linux;

#endif
