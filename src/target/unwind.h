/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the stack of a stopped thread with the unwind tables in the program's memory (.eh_frame and .eh_frame_hdr of
 * the Linux Standard Base, DWARF 5 section 6.4). Nothing is guessed: unwinding ends at code without a table, or with
 * one that is not supported. The memory may be hostile, so every length is bounded.
 *
 * libdw is not used: it needs files, which may be replaced, deleted or in another root, and it follows frame pointers
 * if tables are missing.
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
    guint work;           /* left for all its frames */
} Unwind;

/* Sets *UNWIND to the frame of a thread with these registers. */
void unwind_begin(Unwind *unwind, const GeneralRegisters *general);

/* The same at PC, with the stack pointer SP; other registers are unknown. */
void unwind_begin_at(Unwind *unwind, guint64 pc, guint64 sp);

typedef enum {
    UNWIND_FRAME,   /* UNWIND is the caller's frame now */
    UNWIND_END,     /* no caller: the thread started here */
    UNWIND_UNKNOWN, /* unknown */
} UnwindStep;

/* Moves to the caller of the current frame. LIMIT is the end of the stack. *SIGNAL_FRAME is set to whether the kernel
 * made the current frame for a signal handler, so that the next one is the interrupted code. */
UnwindStep unwind_step(Unwind *unwind, guint64 limit, gboolean *signal_frame);

/* Moves from a frame that the kernel made for a signal handler to the code that was interrupted, which may be on any
 * stack. FALSE: it is another frame. */
gboolean unwind_leave_handler(Unwind *unwind);

#endif
