/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures the call stack of the calling thread from the unwind tables of the loaded objects (.eh_frame), for a hook
 * that runs in any thread at any moment: takes no lock, allocates nothing, needs 1.5 KiB of stack, and reads only
 * addresses that it has checked to be readable: of tables, and of the thread's stack.
 * docs/decisions/0016-a-sampler-of-our-own.md has the argument.
 */
#ifndef JESCOPE_AGENT_SAMPLER_UNWIND_H
#define JESCOPE_AGENT_SAMPLER_UNWIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { UNWIND_SAVED = 6 }; /* registers that functions preserve: rbx rbp r12 r13 r14 r15 */
#elif defined(__aarch64__)
enum { UNWIND_SAVED = 12 }; /* x19 to x29, x30 */
#else
enum { UNWIND_SAVED = 1 };
#endif

/* A thread's registers at one instruction. */
typedef struct {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t saved[UNWIND_SAVED];
} UnwindRegisters;

/* How to compute the caller's frame from a frame: one row of an unwind table. */
typedef struct {
    int32_t cfa_offset;
    uint8_t cfa_kind;     /* UnwindCfa */
    uint8_t cfa_register; /* index into saved, or UNWIND_SP */
    uint16_t by_register; /* bit i: saved[i] is at its offset from the frame register, not from the CFA */
    int16_t return_offset;
    int16_t offsets[UNWIND_SAVED];
} UnwindRow;

/* What a row was computed from. Another version of an object that is loaded later may have the same addresses. */
typedef struct {
    uint32_t entry;    /* in the table of the object; UNWIND_LASTING: the object stays as long as the program */
    uint32_t checksum; /* of the FDE and its CIE */
} UnwindOrigin;

#define UNWIND_LASTING UINT32_MAX

enum { UNWIND_CACHED = 4096 }; /* rows; a power of two */

/* Rows by address, shared by all threads; all zero is empty. */
typedef struct {
    struct {
        atomic_uintptr_t pc; /* 0: empty, 1: being written */
        UnwindRow row;
        UnwindOrigin origin;
    } entries[UNWIND_CACHED];
} UnwindCache;

/* Whether a hook can find the tables with this architecture and C library (_dl_find_object(), glibc 2.35). */
bool unwind_is_possible(void);

/* The memory range of the loaded object that contains ADDRESS. */
bool unwind_find_object(uintptr_t address, uintptr_t *begin, uintptr_t *end);

/* Identifies the running thread; also in a thread without a C library of its own. */
__attribute__((always_inline)) static inline uintptr_t
unwind_thread_pointer(void)
{
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#else
    pointer = 1;
#endif
    return pointer;
}

/* The current registers; the stack begins with the function that uses this. */
#define UNWIND_HERE(registers) unwind_capture(registers)

#if defined(__x86_64__)
__attribute__((always_inline)) static inline void
unwind_capture(UnwindRegisters *registers)
{
    __asm__ volatile(
        "leaq 0(%%rip), %%rax\n\tmovq %%rax, 0(%0)\n\tmovq %%rsp, 8(%0)\n\tmovq %%rbx, 16(%0)\n\tmovq %%rbp, "
        "24(%0)\n\tmovq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)"
        :
        : "D"(registers)
        : "rax", "memory");
}
#elif defined(__aarch64__)
__attribute__((always_inline)) static inline void
unwind_capture(UnwindRegisters *registers)
{
    __asm__ volatile(
        "adr x9, .\n\tmov x10, sp\n\tstp x9, x10, [%0]\n\tstp x19, x20, [%0, #16]\n\tstp x21, x22, [%0, #32]\n\tstp "
        "x23, x24, [%0, #48]\n\tstp x25, x26, [%0, #64]\n\tstp x27, x28, [%0, #80]\n\tstp x29, x30, [%0, #96]"
        :
        : "r"(registers)
        : "x9", "x10", "memory");
}
#else
static inline void
unwind_capture(UnwindRegisters *registers)
{
    *registers = (UnwindRegisters){0};
}
#endif

/*
 * Writes the return addresses of the stack at REGISTERS, innermost first, at most MAX of them, to FRAMES; those before
 * FROM are omitted (if FROM does not occur, all are). Returns their number. Changes errno.
 */
size_t unwind_stack(UnwindCache *cache, UnwindRegisters *registers, uintptr_t from, uintptr_t *frames, size_t max);

#endif
