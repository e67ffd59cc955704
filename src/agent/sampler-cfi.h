/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of an unwind table, read where the table lies in memory: DWARF 5, 6.4 (call frame information) and the Linux
 * Standard Base (.eh_frame, .eh_frame_hdr). What it does not understand ends a stack there; no input makes it fault,
 * loop or call anything but the MemoryReadable it is given.
 */
#ifndef JESCOPE_AGENT_SAMPLER_CFI_H
#define JESCOPE_AGENT_SAMPLER_CFI_H

#include "agent/sampler-unwind.h"

typedef enum {
    UNWIND_END,      /* the outermost frame, or one whose caller is not known */
    UNWIND_REGISTER, /* the CFA is a register and an offset */
    UNWIND_DEREF,    /* it is in memory there (a function that has aligned its stack) */
    UNWIND_PLT,      /* of a procedure linkage table: one word more from byte cfa_register of a 16-byte entry on */
    UNWIND_SIGNAL,   /* the kernel's frame around a signal handler */
} UnwindCfa;

enum {
    UNWIND_SP = 0xff,        /* as a cfa_register */
    UNWIND_SAME = INT16_MAX, /* as an offset: the register has its value still */
    UNWIND_LOST = INT16_MIN, /* its value is not known */
};

/* Whether the page with ADDRESS can be read. */
typedef bool (*MemoryReadable)(uintptr_t address);

/* The row for the instruction at PC by the tables whose .eh_frame_hdr is at HEADER. False: there is none. */
bool cfi_find_row(uintptr_t header, uintptr_t pc, MemoryReadable readable, UnwindRow *row);

#endif
