/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AArch64: AAPCS64 (calls), arch/arm64/kernel/signal.c and <asm/sigcontext.h> (frames).
 *
 * When the kernel stops a thread in a system call that it will restart, it has already set the program counter back to
 * the call. A call that a stop makes fail with EINTR cannot be repeated, since its first argument is lost.
 */
#include "target/registers.h"

#if defined(__aarch64__)
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

enum {
    SVC = 0xd4000001, /* svc #0 */
    INSTRUCTION = 4,
    RECORD_MAGIC = 0x46508001,
    SVE_ACTIVE = 1, /* SVE_PT_REGS_SVE of <asm/ptrace.h> */
    STACK_ALIGNMENT = 16,
    NUMBER = 8,             /* the register that holds a system call's number */
    LINK = 30,              /* the register that holds the return address */
    STACK_UNCHANGED = 0x70, /* no valid ss_flags: the kernel leaves the alternative signal stack alone */
};

/* struct rt_sigframe; the kernel does not read its siginfo. */
typedef struct {
    guint8 siginfo[128];
    guint64 flags;
    guint64 link;
    guint64 stack[3];
    guint64 blocked;
    guint8 padding[120];
    guint64 alignment;
    guint64 fault_address;
    guint64 registers[31];
    guint64 sp;
    guint64 pc;
    guint64 state;
    guint64 more_alignment;
    guint8 records[4096];
} SignalFrame;

/* struct fpsimd_context, the record with the contents of NT_PRFPREG. */
typedef struct {
    guint32 magic;
    guint32 size;
    guint32 status;
    guint32 control;
    guint8 vectors[512];
} FpsimdRecord;

_Static_assert(offsetof(SignalFrame, fault_address) == 128 + 176, "struct sigcontext is aligned to 16");
_Static_assert(offsetof(SignalFrame, records) % 16 == 0, "and so are its records");
_Static_assert(sizeof(FpsimdRecord) == 528, "layout of struct fpsimd_context");

static const guint8 sigreturn_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* mov x8, #139; svc #0 */
static const guint8 system_code[] = {0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6};    /* svc #0; ret */
/* svc #0; cmn x0, #4095; b.cs .+8; ret */
static const guint8 system_checked[] = {0x01, 0, 0, 0xd4, 0x1f, 0xfc, 0x3f, 0xb1,
                                        0x42, 0, 0, 0x54, 0xc0, 0x03, 0x5f, 0xd6};

const CodePattern registers_patterns[] = {
    {offsetof(RemoteCode, back), sizeof(sigreturn_code), sigreturn_code},
    {offsetof(RemoteCode, system), sizeof(system_code), system_code},
    {offsetof(RemoteCode, system), sizeof(system_checked), system_checked},
};
const gsize registers_n_patterns = G_N_ELEMENTS(registers_patterns);
const gboolean registers_needs_store = FALSE;
const gint64 registers_sigreturn = SYS_rt_sigreturn;
const guint32 registers_architecture = AUDIT_ARCH_AARCH64;
const gboolean registers_entry_is_whole = FALSE; /* x7 is overwritten to indicate an entry */
const gsize registers_red_zone = 0;

/* BL and BLR (Arm Architecture Reference Manual, C6.2). */
gboolean
registers_ends_in_call(const guint8 before[REGISTERS_CALL_MAX])
{
    guint32 instruction;
    memcpy(&instruction, before + REGISTERS_CALL_MAX - sizeof(instruction), sizeof(instruction));
    return (instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfffffc1f) == 0xd63f0000;
}

void
registers_clear(Registers *registers)
{
    g_clear_pointer(&registers->extended, g_free);
}

void
registers_find_store(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code)
{
}

static gboolean
read_set(pid_t thread, int set, void *bytes, gsize *size)
{
    struct iovec part = {.iov_base = bytes, .iov_len = *size};
    if (ptrace(PTRACE_GETREGSET, thread, set, &part) != 0)
        return FALSE;
    *size = part.iov_len;
    return TRUE;
}

static gboolean
write_set(pid_t thread, int set, void *bytes, gsize size)
{
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    return ptrace(PTRACE_SETREGSET, thread, set, &part) == 0;
}

gboolean
registers_read_general(pid_t thread, GeneralRegisters *general)
{
    gsize size = sizeof(*general);
    return read_set(thread, NT_PRSTATUS, general, &size);
}

gboolean
registers_write_general(pid_t thread, const GeneralRegisters *general)
{
    GeneralRegisters copy = *general;
    return write_set(thread, NT_PRSTATUS, &copy, sizeof(copy));
}

/* Whether the kernel keeps the state of the call ("restart block"), so that its timeout does not start again. */
static gboolean
has_restart_block(const GeneralRegisters *general)
{
    switch (general->regs[NUMBER]) {
    case SYS_nanosleep:
        return TRUE;
    case SYS_clock_nanosleep:
        return (general->regs[1] & TIMER_ABSTIME) == 0;
    case SYS_futex:
        return (general->regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && general->regs[3] != 0;
    default:
        return FALSE;
    }
}

/* The system call that the thread is about to make. */
static gint64
interrupted_call(pid_t thread, const GeneralRegisters *general)
{
    errno = 0;
    guint64 code = (guint64)ptrace(PTRACE_PEEKTEXT, thread, general->pc, NULL);
    return errno == 0 && (guint32)code == SVC ? (gint64)general->regs[NUMBER] : -1;
}

/* Any system call discards vector registers of variable length, so only a thread outside of system calls can have
 * some. */
static gboolean
has_long_vectors(pid_t thread)
{
    struct {
        guint32 size;
        guint32 max_size;
        guint16 vector;
        guint16 max_vector;
        guint16 flags;
        guint16 reserved;
    } header = {0};
    gsize size = sizeof(header);
    return read_set(thread, NT_ARM_SVE, &header, &size) && (header.flags & SVE_ACTIVE) != 0;
}

gboolean
registers_read(pid_t thread, Registers *registers)
{
    Registers read = {0};
    struct user_fpsimd_struct extended;
    read.extended_size = sizeof(extended);
    if (!registers_read_general(thread, &read.general) ||
        ptrace(PTRACE_GETSIGMASK, thread, sizeof(read.blocked), &read.blocked) != 0 ||
        !read_set(thread, NT_PRFPREG, &extended, &read.extended_size))
        return FALSE;
    if (has_long_vectors(thread)) {
        errno = ENOTSUP;
        return FALSE;
    }
    read.call = interrupted_call(thread, &read.general);
    read.restarts = read.call >= 0 && has_restart_block(&read.general) ? SYS_restart_syscall : read.call;
    read.extended = g_memdup2(&extended, sizeof(extended));
    *registers = read;
    return TRUE;
}

gboolean
registers_write_extended(pid_t thread, const Registers *registers)
{
    return write_set(thread, NT_PRFPREG, registers->extended, registers->extended_size);
}

void
registers_dwarf(const GeneralRegisters *general, guint64 values[REGISTERS_DWARF])
{
    memcpy(values, general->regs, sizeof(general->regs));
    values[REGISTERS_DWARF_SP] = general->sp;
}

guint64
registers_pc(const GeneralRegisters *general)
{
    return general->pc;
}

guint64
registers_sp(const GeneralRegisters *general)
{
    return general->sp;
}

guint64
registers_result(const GeneralRegisters *general)
{
    return general->regs[0];
}

void
registers_set_result(GeneralRegisters *general, guint64 result)
{
    general->regs[0] = result;
}

void
registers_set_argument(GeneralRegisters *general, guint n, guint64 value)
{
    general->regs[n] = value;
}

gint64
registers_call_at_first(pid_t pid, const Registers *registers)
{
    return registers->call == SYS_restart_syscall ? -1 : registers->call;
}

/* A thread at the entry of a system call is treated as interrupted in it. */
gboolean
registers_is_restarting(const Registers *registers)
{
    return FALSE;
}

gboolean
registers_thread_pointer(pid_t thread, const GeneralRegisters *general, guint64 *pointer)
{
    guint64 registers[2] = {0};
    gsize size = sizeof(registers);
    if (!read_set(thread, NT_ARM_TLS, registers, &size))
        return FALSE;
    *pointer = registers[0];
    return TRUE;
}

static void
fill_record(guint8 *records, const Registers *saved)
{
    struct user_fpsimd_struct extended;
    FpsimdRecord record = {.magic = RECORD_MAGIC, .size = sizeof(record)};
    memcpy(&extended, saved->extended, sizeof(extended));
    record.status = extended.fpsr;
    record.control = extended.fpcr;
    memcpy(record.vectors, extended.vregs, sizeof(record.vectors));
    memcpy(records, &record, sizeof(record)); /* the zero record after it terminates the list */
}

ReturnPath
registers_return_path(const Registers *saved, guint64 top, const RemoteCode *code)
{
    ReturnPath path = {.bytes = g_byte_array_new()};
    path.bottom = (top - sizeof(SignalFrame)) & ~(guint64)(STACK_ALIGNMENT - 1);
    path.frame = path.bottom;
    g_byte_array_set_size(path.bytes, sizeof(SignalFrame));
    memset(path.bytes->data, 0, sizeof(SignalFrame));
    SignalFrame *frame = (SignalFrame *)(void *)path.bytes->data;
    frame->stack[1] = STACK_UNCHANGED;
    frame->blocked = saved->blocked;
    memcpy(frame->registers, saved->general.regs, sizeof(frame->registers));
    frame->sp = saved->general.sp;
    frame->pc = saved->general.pc;
    frame->state = saved->general.pstate;
    fill_record(frame->records, saved);
    return path;
}

static GeneralRegisters
prepared(const Registers *saved, const ReturnPath *path, guint64 pc)
{
    GeneralRegisters general = saved->general;
    general.pc = pc;
    general.sp = path->bottom;
    return general;
}

GeneralRegisters
registers_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code, guint64 function,
               const guint64 arguments[REGISTERS_ARGUMENTS])
{
    GeneralRegisters general = prepared(saved, path, function);
    memcpy(general.regs, arguments, REGISTERS_ARGUMENTS * sizeof(*arguments));
    general.regs[LINK] = code->back;
    return general;
}

GeneralRegisters
registers_system_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code, gint64 number,
                      const guint64 arguments[REGISTERS_ARGUMENTS])
{
    GeneralRegisters general = registers_call(saved, path, code, code->system, arguments);
    general.regs[NUMBER] = (guint64)number;
    return general;
}

GeneralRegisters
registers_restart(const Registers *saved)
{
    GeneralRegisters general = saved->general;
    general.pc += INSTRUCTION;
    return general;
}

GeneralRegisters
registers_home(const Registers *saved)
{
    return saved->general;
}

gboolean
registers_replace_call(pid_t thread, GeneralRegisters *general, gint64 number)
{
    int call = (int)number;
    return registers_write_general(thread, general) && write_set(thread, NT_ARM_SYSTEM_CALL, &call, sizeof(call));
}
#endif
