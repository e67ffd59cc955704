/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one row of an unwind table in memory: DWARF 5, 6.4 (call frame information) and the Linux Standard Base
 * (.eh_frame, .eh_frame_hdr). An unknown construct ends the stack; no input makes it fault, loop or call anything but
 * the given function.
 */
#ifndef JESCOPE_AGENT_SAMPLER_CFI_H
#define JESCOPE_AGENT_SAMPLER_CFI_H

#include "agent/sampler-unwind.h"

typedef enum {
    UNWIND_END,      /* the outermost frame, or one whose caller is unknown */
    UNWIND_REGISTER, /* the CFA is a register and an offset */
    UNWIND_DEREF,    /* the CFA is in memory there (a function that has aligned its stack) */
    UNWIND_PLT,      /* procedure linkage table: one more word from byte cfa_register of a 16-byte entry on */
    UNWIND_SIGNAL,   /* the kernel's frame around a signal handler */
} UnwindCfa;

enum {
    UNWIND_SP = 0xff,        /* for cfa_register: the stack pointer */
    UNWIND_SAME = INT16_MAX, /* for an offset: the register is unchanged */
    UNWIND_LOST = INT16_MIN, /* for an offset: the value is unknown */
};

enum { CFI_PAGES = 8 };

/* The binary search table of an .eh_frame_hdr. */
typedef struct {
    uintptr_t header;
    uintptr_t entries;
    uint64_t n;
} CfiTable;

/* The memory that tables are read from, for one stack: no object is unloaded while a thread returns to it. */
typedef struct {
    bool (*is_readable)(uintptr_t address); /* whether its page can be read */
    uintptr_t pages[CFI_PAGES];             /* some that can; initially 0, which cannot */
    CfiTable table;                         /* the last one that was used */
} CfiMemory;

/* Finds the row for the instruction at PC in the table whose .eh_frame_hdr is at HEADER. False: there is none. */
bool cfi_find_row(uintptr_t header, uintptr_t pc, CfiMemory *memory, UnwindRow *row);

/* What the row for PC is computed from. False: unknown. */
bool cfi_find_origin(uintptr_t header, uintptr_t pc, CfiMemory *memory, UnwindOrigin *origin);

/* Whether the table at HEADER has this. */
bool cfi_has_origin(uintptr_t header, CfiMemory *memory, const UnwindOrigin *origin);

#endif
