/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: System V psABI (calls, red zone), arch/x86/kernel/signal_64.c and <asm/sigcontext.h> (frames). */
#include "target/registers.h"

#include "target/address-space.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

enum {
    /* Results of interrupted system calls (include/linux/errno.h). */
    RESTART = 512,
    RESTART_ALWAYS = 513,
    RESTART_NO_HANDLER = 514,
    RESTART_BLOCK = 516,

    FX_SIZE = 512,     /* size of the legacy area (FXSAVE) */
    FX_RESERVED = 464, /* offset of its bytes for software, struct _fpx_sw_bytes */
    XSAVE_HEADER = 64,
    XSAVE_ALIGNMENT = 64,
    XSAVE_LEAF = 0xd, /* of CPUID */
    XSAVE_COMPONENTS = 63,
    X87_AND_SSE = 3,
    MAGIC1 = 0x46505853, /* FP_XSTATE_MAGIC1 */
    MAGIC2 = 0x46505845, /* FP_XSTATE_MAGIC2, after the area */

    /* uc_flags of <asm/ucontext.h> */
    FLAG_FP_XSTATE = 1,
    FLAG_SIGCONTEXT_SS = 2,
    FLAG_STRICT_RESTORE_SS = 4,

    STACK_UNCHANGED = 0x70, /* no valid ss_flags: the kernel leaves the alternative signal stack alone */
    FLAG_DIRECTION = 1 << 10,
    STACK_ALIGNMENT = 16,
};

/* The kernel's struct ucontext; the C library's has a longer signal mask and further fields. */
typedef struct {
    guint64 flags;
    guint64 link;
    guint64 stack[3];
    guint64 registers[NGREG];
    guint64 extended; /* address of the extended state */
    guint64 reserved[8];
    guint64 blocked;
} SignalContext;

/* struct _fpx_sw_bytes */
typedef struct {
    guint32 magic1;
    guint32 extended_size;
    guint64 features;
    guint32 xstate_size;
    guint32 padding[7];
} SoftwareBytes;

_Static_assert(sizeof(SignalContext) == 304, "layout of the kernel's struct ucontext");
_Static_assert(sizeof(SoftwareBytes) == FX_SIZE - FX_RESERVED, "layout of struct _fpx_sw_bytes");

static const guint8 sigreturn_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15,%rax; syscall */
static const guint8 sigreturn_short[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};            /* mov $15,%eax; syscall */
static const guint8 system_code[] = {0x0f, 0x05, 0xc3};                               /* syscall; ret */
/* syscall; cmp $-4095,%rax; jae .+1; ret */
static const guint8 system_checked[] = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3};

const CodePattern registers_patterns[] = {
    {offsetof(RemoteCode, back), sizeof(sigreturn_code), sigreturn_code},
    {offsetof(RemoteCode, back), sizeof(sigreturn_short), sigreturn_short},
    {offsetof(RemoteCode, system), sizeof(system_code), system_code},
    {offsetof(RemoteCode, system), sizeof(system_checked), system_checked},
};
const gsize registers_n_patterns = G_N_ELEMENTS(registers_patterns);
const gboolean registers_needs_store = TRUE;
const gint64 registers_sigreturn = SYS_rt_sigreturn;
const guint32 registers_architecture = AUDIT_ARCH_X86_64;
const gboolean registers_entry_is_whole = TRUE;
const gsize registers_red_zone = 128;

enum {
    REX = 0x40, /* with these bits: */
    REX_W = 8,
    REX_R = 4,
    REX_B = 1,
    MOVE = 0x89,
    ADD_SHORT = 0x83,
    ADD_RSP = 0xc4,
    POP = 0x58,
    RETURN = 0xc3,
    RAX = 0,
    RBX = 3,
    RSP = 4,
    EPILOGUE_MAX = 16, /* instructions */
    POPPED_MAX = 32,
    NEAR_MAX = 112, /* bytes of the scratch memory, from the base upwards, that an epilogue may write */
};

/* mov %SOURCE,DISPLACEMENT(%BASE), or between registers if BASE is -1. */
typedef struct {
    guint source;
    gint base;
    gint displacement;
    gsize length;
} Move;

static gboolean
decode_move(const guint8 *bytes, gsize left, Move *move)
{
    if (left < 4 || (bytes[0] & 0xf0) != REX || (bytes[0] & REX_W) == 0 || bytes[1] != MOVE)
        return FALSE;
    guint mode = bytes[2] >> 6;
    guint low = bytes[2] & 7;
    *move = (Move){.source = (bytes[2] >> 3 & 7) + ((bytes[0] & REX_R) != 0 ? 8 : 0),
                   .base = (gint)(low + ((bytes[0] & REX_B) != 0 ? 8 : 0)),
                   .length = mode == 1 ? 4 : 3};
    if (mode == 3) {
        gboolean harmless = move->base != RSP;
        move->base = -1;
        return harmless;
    }
    if (mode == 1)
        move->displacement = (gint8)bytes[3];
    return mode != 2 && low != RSP && (mode == 1 || low != 5); /* neither indexed nor relative to the program counter */
}

/* The number of words that the code up to its ret pops; -1 if it does anything else but write near BASE. */
static gint
measure_epilogue(const guint8 *bytes, gsize left, gint base)
{
    gint popped = 0;
    gboolean has_base = TRUE;
    for (guint i = 0; i < EPILOGUE_MAX && left > 0 && popped <= POPPED_MAX; i++) {
        gsize length = 1;
        Move move = {.base = -1};
        if (bytes[0] == RETURN)
            return popped;
        if (decode_move(bytes, left, &move) &&
            (move.base < 0 ||
             (has_base && move.base == base && move.displacement >= 0 && move.displacement < NEAR_MAX)))
            length = move.length;
        else if ((bytes[0] & 0xf8) == POP && bytes[0] != POP + RSP)
            popped++;
        else if (left > 1 && bytes[0] == (REX | REX_B) && (bytes[1] & 0xf8) == POP) {
            length = 2;
            popped++;
        } else if (left > 4 && bytes[0] == (REX | REX_W) && bytes[1] == ADD_SHORT && bytes[2] == ADD_RSP &&
                   bytes[3] % 8 == 0 && bytes[3] < 0x80) {
            length = 4;
            popped += bytes[3] / 8;
        } else if (left > 1 && bytes[0] == 0x31 && bytes[1] == 0xc0) { /* xor %eax,%eax */
            length = 2;
        } else {
            return -1;
        }
        has_base = has_base && length == move.length && move.base == base;
        bytes += length;
        left -= length;
    }
    return -1;
}

/* Whether NUMBER is a callee-saved register, which has its initial value when the function returns. */
static gboolean
is_kept(gint number)
{
    return number == RBX || number == 5 || (number >= 12 && number <= 15);
}

void
registers_find_store(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code)
{
    for (gsize at = 0; code->store == 0 && at < length; at++) {
        Move move;
        if (!decode_move(bytes + at, length - at, &move) || move.source != RAX || !is_kept(move.base) ||
            move.displacement < 0 || move.displacement >= NEAR_MAX)
            continue;
        gint popped = measure_epilogue(bytes + at + move.length, length - at - move.length, move.base);
        if (popped < 0)
            continue;
        code->store = address + at;
        code->offset = (gint8)move.displacement;
        code->base = (guint8)move.base;
        code->popped = (guint8)popped;
    }
}

/* call rel32, or an indirect one with a ModRM byte and what this says to follow (Intel SDM, volume 2, "CALL"). */
gboolean
registers_ends_in_call(const guint8 before[REGISTERS_CALL_MAX])
{
    enum { CALL = 0xe8, INDIRECT = 0xff, DIRECT_LENGTH = 5 };
    if (before[REGISTERS_CALL_MAX - DIRECT_LENGTH] == CALL)
        return TRUE;
    for (guint length = 2; length <= REGISTERS_CALL_MAX; length++)
        if (before[REGISTERS_CALL_MAX - length] == INDIRECT && (before[REGISTERS_CALL_MAX - length + 1] >> 3 & 7) == 2)
            return TRUE;
    return FALSE;
}

void
registers_clear(Registers *registers)
{
    g_clear_pointer(&registers->extended, g_free);
}

gboolean
registers_read_general(pid_t thread, GeneralRegisters *general)
{
    struct iovec part = {.iov_base = general, .iov_len = sizeof(*general)};
    return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &part) == 0;
}

gboolean
registers_write_general(pid_t thread, const GeneralRegisters *general)
{
    GeneralRegisters copy = *general;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof(copy)};
    return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &part) == 0;
}

static gint64
interrupted_call(const GeneralRegisters *general)
{
    gint64 result = -(gint64)general->rax;
    gboolean interrupted = (result >= RESTART && result <= RESTART_NO_HANDLER) || result == RESTART_BLOCK ||
                           (result == EINTR && registers_stop_ends((gint64)general->orig_rax));
    return interrupted && (gint64)general->orig_rax >= 0 ? (gint64)general->orig_rax : -1;
}

static gint64
restarting_call(const Registers *registers)
{
    gboolean block = -(gint64)registers->general.rax == RESTART_BLOCK;
    return registers->call >= 0 && block ? SYS_restart_syscall : registers->call;
}

gboolean
registers_read(pid_t thread, Registers *registers)
{
    Registers read = {0};
    g_autofree guint8 *extended = g_malloc(REGISTERS_EXTENDED_MAX);
    struct iovec part = {.iov_base = extended, .iov_len = REGISTERS_EXTENDED_MAX};
    if (!registers_read_general(thread, &read.general) ||
        ptrace(PTRACE_GETSIGMASK, thread, sizeof(read.blocked), &read.blocked) != 0)
        return FALSE;
    if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &part) != 0)
        part.iov_len = 0;
    if (part.iov_len < FX_SIZE + XSAVE_HEADER) {
        errno = ENOTSUP; /* a processor without XSAVE */
        return FALSE;
    }
    read.call = interrupted_call(&read.general);
    read.restarts = restarting_call(&read);
    read.extended_size = part.iov_len;
    read.extended = g_memdup2(extended, part.iov_len);
    *registers = read;
    return TRUE;
}

gboolean
registers_write_extended(pid_t thread, const Registers *registers)
{
    struct iovec part = {.iov_base = registers->extended, .iov_len = registers->extended_size};
    return ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &part) == 0;
}

void
registers_dwarf(const GeneralRegisters *general, guint64 values[REGISTERS_DWARF])
{
    const guint64 all[REGISTERS_DWARF] = {general->rax, general->rdx, general->rcx, general->rbx, general->rsi,
                                          general->rdi, general->rbp, general->rsp, general->r8,  general->r9,
                                          general->r10, general->r11, general->r12, general->r13, general->r14,
                                          general->r15, general->rip};
    memcpy(values, all, sizeof(all));
}

guint64
registers_pc(const GeneralRegisters *general)
{
    return general->rip;
}

guint64
registers_sp(const GeneralRegisters *general)
{
    return general->rsp;
}

/* The kernel does not keep the number of the original call, but the code there is "mov $NUMBER,%eax; syscall". */
gint64
registers_call_at_first(pid_t pid, const Registers *registers)
{
    guint8 code[7];
    guint32 number;
    if (registers->call != SYS_restart_syscall)
        return registers->call;
    if (!remote_read(pid, registers->general.rip - sizeof(code), code, sizeof(code)) || code[0] != 0xb8 ||
        code[5] != 0x0f || code[6] != 0x05)
        return -1;
    memcpy(&number, code + 1, sizeof(number));
    return number;
}

gboolean
registers_is_restarting(const Registers *registers)
{
    const GeneralRegisters *general = &registers->general;
    return registers->call < 0 && (general->rax == SYS_restart_syscall ||
                                   ((gint64)general->orig_rax >= 0 && general->rax == general->orig_rax));
}

gboolean
registers_thread_pointer(pid_t thread, const GeneralRegisters *general, guint64 *pointer)
{
    *pointer = general->fs_base;
    return TRUE;
}

guint64
registers_result(const GeneralRegisters *general)
{
    return general->rax;
}

void
registers_set_result(GeneralRegisters *general, guint64 result)
{
    general->rax = result;
}

void
registers_set_argument(GeneralRegisters *general, guint n, guint64 value)
{
    unsigned long long *const places[REGISTERS_ARGUMENTS] = {&general->rdi, &general->rsi, &general->rdx,
                                                             &general->r10, &general->r8,  &general->r9};
    *places[n] = value;
}

/* The components of the extended state that are in use; the others have their initial values. */
static guint64
features_of(const Registers *saved)
{
    guint64 features;
    memcpy(&features, saved->extended + FX_SIZE, sizeof(features));
    return features | X87_AND_SSE;
}

/* The size of the area up to its last component in use. NT_X86_XSTATE has room for all components of the processor, but
 * the kernel accepts no larger area than the thread may use (tile registers must be requested). */
static gsize
size_in_use(const Registers *saved)
{
    guint64 features = features_of(saved);
    gsize size = FX_SIZE + XSAVE_HEADER;
    for (unsigned component = 2; component < XSAVE_COMPONENTS; component++) {
        unsigned length;
        unsigned offset;
        unsigned c;
        unsigned d;
        if ((features >> component & 1) != 0 && __get_cpuid_count(XSAVE_LEAF, component, &length, &offset, &c, &d) &&
            length != 0)
            size = MAX(size, (gsize)offset + length);
    }
    return MIN(size, saved->extended_size);
}

static void
fill_extended(guint8 *area, const Registers *saved, gsize size)
{
    SoftwareBytes software = {
        .magic1 = MAGIC1,
        .extended_size = (guint32)(size + sizeof(guint32)),
        .features = features_of(saved),
        .xstate_size = (guint32)size,
    };
    const guint32 magic2 = MAGIC2;
    memcpy(area, saved->extended, size);
    memcpy(area + FX_RESERVED, &software, sizeof(software));
    memcpy(area + size, &magic2, sizeof(magic2));
}

static void
fill_registers(guint64 registers[NGREG], const GeneralRegisters *general)
{
    registers[REG_R8] = general->r8;
    registers[REG_R9] = general->r9;
    registers[REG_R10] = general->r10;
    registers[REG_R11] = general->r11;
    registers[REG_R12] = general->r12;
    registers[REG_R13] = general->r13;
    registers[REG_R14] = general->r14;
    registers[REG_R15] = general->r15;
    registers[REG_RDI] = general->rdi;
    registers[REG_RSI] = general->rsi;
    registers[REG_RBP] = general->rbp;
    registers[REG_RBX] = general->rbx;
    registers[REG_RDX] = general->rdx;
    registers[REG_RAX] = general->rax;
    registers[REG_RCX] = general->rcx;
    registers[REG_RSP] = general->rsp;
    registers[REG_RIP] = general->rip;
    registers[REG_EFL] = general->eflags;
    registers[REG_CSGSFS] = (general->cs & G_MAXUINT16) | (general->gs & G_MAXUINT16) << 16 |
                            (general->fs & G_MAXUINT16) << 32 | (general->ss & G_MAXUINT16) << 48;
}

enum {
    SYSCALL_LENGTH = 2,
};

static void
fill_context(SignalContext *context, const Registers *saved, guint64 extended)
{
    GeneralRegisters general = saved->general;
    /* Repeats the call, as the kernel does on delivery with SA_RESTART, for a thread that returns without a tracer. A
     * timeout then starts again. */
    if (saved->restarts >= 0) {
        general.rax = general.orig_rax;
        general.rip -= SYSCALL_LENGTH;
    }
    context->flags = FLAG_FP_XSTATE | FLAG_SIGCONTEXT_SS | FLAG_STRICT_RESTORE_SS;
    context->stack[1] = STACK_UNCHANGED;
    fill_registers(context->registers, &general);
    context->extended = extended;
    context->blocked = saved->blocked;
}

/* The layout from the bottom: STORE, the values that it pops, its return address, the signal frame (which the kernel
 * finds at the stack pointer; siginfo is never read), space around the result that STORE may write, the extended
 * state. */
ReturnPath
registers_return_path(const Registers *saved, guint64 top, const RemoteCode *code)
{
    SignalContext context = {0};
    gsize size = size_in_use(saved);
    guint64 extended = (top - size - sizeof(guint32)) & ~(guint64)(XSAVE_ALIGNMENT - 1);
    guint64 store_to = extended - NEAR_MAX - sizeof(guint64);
    const gsize before = sizeof(guint64) * (2 + (gsize)code->popped);
    /* At a function's entry, its return address is 8 below a multiple of 16. */
    guint64 bottom = ((store_to - before - sizeof(context)) & ~(guint64)(STACK_ALIGNMENT - 1)) - sizeof(guint64);
    ReturnPath laid = {
        .bottom = bottom, .result = store_to + (guint64)code->offset, .store_to = store_to, .frame = bottom + before};
    laid.bytes = g_byte_array_new();
    g_byte_array_set_size(laid.bytes, (guint)(extended + size + sizeof(guint32) - bottom));
    memset(laid.bytes->data, 0, laid.bytes->len);
    fill_context(&context, saved, extended);
    memcpy(laid.bytes->data, &code->store, sizeof(code->store));
    memcpy(laid.bytes->data + before - sizeof(code->back), &code->back, sizeof(code->back));
    memcpy(laid.bytes->data + before, &context, sizeof(context));
    fill_extended(laid.bytes->data + (extended - bottom), saved, size);
    return laid;
}

static void
set_base(GeneralRegisters *general, const RemoteCode *code, guint64 value)
{
    unsigned long long *const bases[] = {[RBX] = &general->rbx, [5] = &general->rbp,  [12] = &general->r12,
                                         [13] = &general->r13,  [14] = &general->r14, [15] = &general->r15};
    *bases[code->base] = value;
}

static GeneralRegisters
prepared(const Registers *saved, const ReturnPath *path, guint64 pc)
{
    GeneralRegisters general = saved->general;
    general.rip = pc;
    general.rsp = path->bottom;
    general.eflags &= ~(unsigned long long)FLAG_DIRECTION;
    general.orig_rax = ~0ULL; /* nothing to restart */
    return general;
}

GeneralRegisters
registers_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code, guint64 function,
               const guint64 arguments[REGISTERS_ARGUMENTS])
{
    GeneralRegisters general = prepared(saved, path, function);
    general.rdi = arguments[0];
    general.rsi = arguments[1];
    general.rdx = arguments[2];
    general.rcx = arguments[3];
    general.r8 = arguments[4];
    general.r9 = arguments[5];
    general.rax = 0; /* no vector registers among the arguments */
    set_base(&general, code, path->store_to);
    return general;
}

GeneralRegisters
registers_system_call(const Registers *saved, const ReturnPath *path, const RemoteCode *code, gint64 number,
                      const guint64 arguments[REGISTERS_ARGUMENTS])
{
    GeneralRegisters general = prepared(saved, path, code->system);
    general.rax = (guint64)number;
    set_base(&general, code, path->store_to);
    for (guint n = 0; n < REGISTERS_ARGUMENTS; n++)
        registers_set_argument(&general, n, arguments[n]);
    return general;
}

GeneralRegisters
registers_restart(const Registers *saved)
{
    GeneralRegisters general = saved->general;
    general.orig_rax = (guint64)saved->restarts;
    general.rax = (guint64)-ENOSYS;
    return general;
}

/* The kernel repeats the call after ERESTARTNOHAND if no handler of a signal runs, and after ERESTARTNOINTR always. */
GeneralRegisters
registers_home(const Registers *saved)
{
    GeneralRegisters general = saved->general;
    const gint64 result = -(gint64)general.rax;
    if (saved->restarts >= 0 && result == EINTR)
        general.rax = (guint64)-RESTART_NO_HANDLER;
    else if (saved->restarts >= 0 && result == ENOSYS)
        general.rax = (guint64)-RESTART_ALWAYS;
    return general;
}

gboolean
registers_replace_call(pid_t thread, GeneralRegisters *general, gint64 number)
{
    general->orig_rax = (guint64)number;
    return registers_write_general(thread, general);
}
#endif
