/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the stack of a stopped thread with the unwind tables in the program's memory (.eh_frame and .eh_frame_hdr of
 * the Linux Standard Base, DWARF 5 section 6.4). Nothing is guessed: where there is no table, or one says what is not
 * understood, unwinding ends. Everything may be hostile: every length is bounded.
 *
 * Read out of memory, and not with libdw, since that wants files, which may be replaced, deleted or in another root;
 * and since it follows frame pointers where tables are missing.
 */
#ifndef JESCOPE_TARGET_UNWIND_H
#define JESCOPE_TARGET_UNWIND_H

#include "target/cfi-table.h"
#include "target/registers.h"

typedef struct {
    CfiMemory memory;
    guint64 values[REGISTERS_DWARF]; /* by their DWARF numbers */
    guint64 pc;
    guint64 sp;
    gboolean interrupted; /* PC is an interrupted instruction, not a return address */
} Unwind;

/* The frame of a thread with these registers. */
void unwind_begin(Unwind *unwind, const GeneralRegisters *general);

typedef enum {
    UNWIND_FRAME,   /* UNWIND is the caller's frame now */
    UNWIND_END,     /* no caller: the thread started here */
    UNWIND_UNKNOWN, /* unknown */
} UnwindStep;

/* Moves to the caller of the present frame. LIMIT: the end of the stack. *SIGNAL_FRAME: whether the kernel made the
 * present frame for a signal handler, so that the next one is the interrupted code. */
UnwindStep unwind_step(Unwind *unwind, guint64 limit, gboolean *signal_frame);

#endif
