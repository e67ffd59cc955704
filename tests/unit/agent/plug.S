/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug(rbp, function, argument) calls function(argument). Versions of equal code size: OLD has its frame's address in
 * rbp, and its table says so; the others have the caller's value there. NEW has a table that does not depend on it,
 * WRONG the table of OLD.
 */
#if defined(OLD)
#define FRAME %rsp
#else
#define FRAME %rdi
#endif
    .text
    .globl plug
    .type plug, @function
plug:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov FRAME, %rbp
#if !defined(NEW)
    .cfi_def_cfa_register 6
#endif
    mov %rdx, %rdi
    call *%rsi
    pop %rbp
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .size plug, . - plug
    .section .note.GNU-stack, "", @progbits
