/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers of a stopped thread, and two operations on them: a call, and the return. One implementation per
 * architecture (registers-x86_64.c, registers-aarch64.c); all functions are pure except those that take a thread or
 * pid.
 *
 * The return uses a signal frame, as the kernel writes it before it runs a signal handler (arch/ARCH/kernel/signal.c,
 * <asm/sigcontext.h>), and the C library's rt_sigreturn code as the return address. With or without a tracer, the
 * thread resumes with every register restored.
 */
#ifndef JESCOPE_TARGET_REGISTERS_H
#define JESCOPE_TARGET_REGISTERS_H

#include <glib.h>
#include <sys/types.h>
#include <sys/user.h>

enum {
    REGISTERS_ARGUMENTS = 6,
    REGISTERS_CALL_MAX = 7,             /* bytes of an instruction that calls a function */
    REGISTERS_EXTENDED_MAX = 64 * 1024, /* more than any processor's extended state */
};

typedef struct user_regs_struct GeneralRegisters;

/* The registers in unwind tables, by the numbers of the processor's DWARF supplement. */
#if defined(__aarch64__)
enum { REGISTERS_DWARF = 32, REGISTERS_DWARF_SP = 31 };
#else
enum { REGISTERS_DWARF = 17, REGISTERS_DWARF_SP = 7 };
#endif

typedef struct {
    GeneralRegisters general; /* NT_PRSTATUS */
    guint64 blocked;          /* signals */
    gint64 call;              /* the interrupted system call; -1: none */
    gint64 restarts;          /* the system call that resumes the interrupted one; -1: none was interrupted */
    gboolean entering;        /* CALL was not interrupted but is about to begin */
    gsize extended_size;
    guint8 *extended; /* NT_X86_XSTATE or NT_PRFPREG, of the size that the kernel reports; owned */
} Registers;

/* Addresses of code in the process that a call needs. */
typedef struct {
    guint64 back;   /* the system call rt_sigreturn */
    guint64 system; /* any system call, then return */
    guint64 store;  /* saves a function's result before BACK overwrites it; unused on aarch64 */
    gint8 offset;   /* displacement of STORE from BASE */
    guint8 base;    /* number of the register with the address that STORE writes to */
    guint8 popped;  /* words that STORE pops before it returns */
} RemoteCode;

/* Instruction patterns to find in executable memory. Several patterns may provide one field, the best first. */
typedef struct {
    gsize field; /* offset in RemoteCode */
    gsize length;
    const guint8 *bytes;
} CodePattern;

extern const CodePattern registers_patterns[];
extern const gsize registers_n_patterns;

/* Finds the end of a function that stores its result relative to a callee-saved register. Sets store, offset, base and
 * popped, unless STORE is set. */
void registers_find_store(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code);

extern const gboolean registers_needs_store;

/* The number of the system call that returns from a signal handler. */
extern const gint64 registers_sigreturn;

/* AUDIT_ARCH_* of system calls with our numbers. A program may make others, such as those of i386 by int 0x80. */
extern const guint32 registers_architecture;

/* Whether all registers that a tracer sees at a system call's entry are the program's own. */
extern const gboolean registers_entry_is_whole;

/* Bytes below the stack pointer that belong to the interrupted function. */
extern const gsize registers_red_zone;

/* Whether the code before an address, BEFORE, may end in an instruction that calls a function, so that the address is
 * where it returns to. */
gboolean registers_ends_in_call(const guint8 before[REGISTERS_CALL_MAX]);

void registers_clear(Registers *registers);

/* Read the registers of a thread that we stopped. FALSE with errno; *REGISTERS is then unchanged. */
gboolean registers_read(pid_t thread, Registers *registers);
gboolean registers_read_general(pid_t thread, GeneralRegisters *general);

/* Set registers of a stopped thread. FALSE with errno. */
gboolean registers_write_general(pid_t thread, const GeneralRegisters *general);
gboolean registers_write_extended(pid_t thread, const Registers *registers);

void registers_dwarf(const GeneralRegisters *general, guint64 values[REGISTERS_DWARF]);
guint64 registers_pc(const GeneralRegisters *general);
guint64 registers_sp(const GeneralRegisters *general);
guint64 registers_result(const GeneralRegisters *general);
void registers_set_result(GeneralRegisters *general, guint64 result);
void registers_set_argument(GeneralRegisters *general, guint n, guint64 value);

/* The system call that was interrupted originally, even if it has been resumed since; -1: none or unknown. */
gint64 registers_call_at_first(pid_t pid, const Registers *registers);

/* Whether the thread is between the end of an interrupted call and its repetition, to which the kernel has set it back:
 * a return from a signal frame would prevent restart_syscall, and a handler of a signal would not end another call.
 * TRUE also for a call that has just returned its own number. */
gboolean registers_is_restarting(const Registers *registers);

/* Sets *POINTER to the thread pointer (%fs, tpidr_el0). FALSE with errno. */
gboolean registers_thread_pointer(pid_t thread, const GeneralRegisters *general, guint64 *pointer);

/* The data for the return, to be written at address BOTTOM. */
typedef struct {
    guint64 bottom;   /* the initial stack pointer of the called function */
    guint64 result;   /* address where a function's result is stored; 0: it stays in its register */
    guint64 store_to; /* the register value for STORE */
    guint64 frame;    /* the stack pointer when the thread has returned and calls rt_sigreturn */
    GByteArray *bytes;
} ReturnPath;

/* Lays out the return to SAVED below address TOP. The caller frees BYTES. */
ReturnPath registers_return_path(const Registers *saved, guint64 top, const RemoteCode *code);

/* Whether a stop makes this system call fail with EINTR, without a signal, and the kernel does not restart it
 * (signal(7), "Interruption of system calls and library functions by stop signals"). For Registers.restarts, on every
 * architecture. */
gboolean registers_stop_ends(gint64 number);

/* Whether a stop can end this system call, in which a thread waits, when a part of it is done, as if a handler of a
 * signal had run: write() returns how much was written until then, and close() does not linger. The kernel does not
 * tell how far a call is, and makes no such call again. */
gboolean registers_stop_cuts_short(gint64 number, const guint64 arguments[REGISTERS_ARGUMENTS]);

/* Whether the C library makes this system call only on behalf of the program, without holding a lock of its own:
 * waiting, reading, writing. On every architecture. */
gboolean registers_is_programs(gint64 number);

/* Registers that put a thread, at a stop before it returns to user mode, back to where SAVED were read. The kernel then
 * decides about a system call that was interrupted there, as it does without a tracer: it fails with EINTR if a handler
 * of a signal runs first and the call is one that this ends, and is repeated otherwise. A call that was about to begin
 * begins. Not for the exit of a system call, after which the kernel looks for no interrupted one. */
GeneralRegisters registers_home(const Registers *saved);

/* Registers with which the thread calls FUNCTION and returns through PATH, which must be laid out with CODE. */
GeneralRegisters registers_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code,
                                guint64 function, const guint64 arguments[REGISTERS_ARGUMENTS]);

/* The same for a system call. */
GeneralRegisters registers_system_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code,
                                       gint64 number, const guint64 arguments[REGISTERS_ARGUMENTS]);

/* Resumes the system call in which SAVED was interrupted, in a thread that is about to make a system call. */
GeneralRegisters registers_restart(const Registers *saved);

/* Replaces the system call that the thread is about to make by NUMBER, -1 for none, also in *GENERAL. FALSE with
 * errno. */
gboolean registers_replace_call(pid_t thread, GeneralRegisters *general, gint64 number);

#endif
