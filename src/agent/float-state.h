/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of floating-point arithmetic (SSE, or AArch64's FP) in a thread of the program: rounding, the traps that
 * the program has enabled and the flags that it tests are its own. Between entering and leaving there must be a call of
 * a function in another file, so that the compiler moves no arithmetic across.
 */
#ifndef JESCOPE_AGENT_FLOAT_STATE_H
#define JESCOPE_AGENT_FLOAT_STATE_H

#include <stdint.h>

typedef struct {
    uint64_t control;
    uint64_t status;
} FloatState;

#if defined(__x86_64__)
/* MXCSR has both (Intel SDM, volume 1, 10.2.3); the default masks all exceptions. */
static inline FloatState
float_state_enter(void)
{
    const uint32_t usual = 0x1f80;
    uint32_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(control) : : "memory");
    __asm__ volatile("ldmxcsr %0" : : "m"(usual) : "memory");
    return (FloatState){.control = control};
}

static inline void
float_state_leave(FloatState state)
{
    const uint32_t control = (uint32_t)state.control;
    __asm__ volatile("ldmxcsr %0" : : "m"(control) : "memory");
}
#elif defined(__aarch64__)
static inline FloatState
float_state_enter(void)
{
    FloatState state;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(state.control), "=r"(state.status) : : "memory");
    __asm__ volatile("msr fpcr, xzr\n\tmsr fpsr, xzr" : : : "memory");
    return state;
}

static inline void
float_state_leave(FloatState state)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(state.control), "r"(state.status) : "memory");
}
#else
static inline FloatState
float_state_enter(void)
{
    return (FloatState){0};
}

static inline void
float_state_leave(FloatState state)
{
    (void)state;
}
#endif

#endif
