/* SPDX-License-Identifier: Apache-2.0 */
/*
 * void registers_round(const State *from, State *to): fills every register from *from, waits or spins, stores what they hold
 * then in *to. The numbers are offsets in State (registers.c).
 */
#if defined(__x86_64__)
    .text
    .globl registers_round
    .type registers_round, @function
registers_round:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push %rsi
    push %rdi
    mov 2348(%rdi), %eax
    cmp $2, %eax
    je 2f
    cmp $1, %eax
    je 1f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movups \n*64(%rdi), %xmm\n
    .endr
    jmp 3f
1:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups \n*64(%rdi), %ymm\n
    .endr
    jmp 3f
2:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovups \n*64(%rdi), %zmm\n
    .endr
    kmovq 2056(%rdi), %k1
    kmovq 2064(%rdi), %k2
    kmovq 2072(%rdi), %k3
    kmovq 2080(%rdi), %k4
    kmovq 2088(%rdi), %k5
    kmovq 2096(%rdi), %k6
    kmovq 2104(%rdi), %k7
3:
    fldl 2328(%rdi)
    fldl 2336(%rdi)
    ldmxcsr 2344(%rdi)
    std
    mov 2112(%rdi), %rbx
    mov 2120(%rdi), %rbp
    mov 2128(%rdi), %r12
    mov 2136(%rdi), %r13
    mov 2144(%rdi), %r14
    mov 2152(%rdi), %r15
    mov 2160(%rdi), %r8
    mov 2168(%rdi), %r9
    mov 2176(%rdi), %r10
    mov 2184(%rdi), %rdx
    movq $0x1111, -8(%rsp)
    movq $0x2222, -64(%rsp)
    movq $0x3333, -128(%rsp)
    mov 2352(%rdi), %rcx
    test %rcx, %rcx
    jz 5f
4:
    dec %rcx
    jnz 4b
    jmp 6f
5:
    lea 2360(%rdi), %rdi
    xor %esi, %esi
    mov $35, %eax
    syscall
6:
    mov 8(%rsp), %rsi
    mov -8(%rsp), %rax
    mov %rax, 2192(%rsi)
    mov -64(%rsp), %rax
    mov %rax, 2200(%rsi)
    mov -128(%rsp), %rax
    mov %rax, 2208(%rsi)
    mov %rbx, 2112(%rsi)
    mov %rbp, 2120(%rsi)
    mov %r12, 2128(%rsi)
    mov %r13, 2136(%rsi)
    mov %r14, 2144(%rsi)
    mov %r15, 2152(%rsi)
    mov %r8, 2160(%rsi)
    mov %r9, 2168(%rsi)
    mov %r10, 2176(%rsi)
    mov %rdx, 2184(%rsi)
    pushf
    pop %rax
    and $0x400, %eax
    mov %rax, 2320(%rsi)
    cld
    fstpl 2336(%rsi)
    fstpl 2328(%rsi)
    stmxcsr 2344(%rsi)
    pop %rdi
    pop %rsi
    mov 2348(%rdi), %eax
    cmp $2, %eax
    je 2f
    cmp $1, %eax
    je 1f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movups %xmm\n, \n*64(%rsi)
    .endr
    jmp 3f
1:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups %ymm\n, \n*64(%rsi)
    .endr
    vzeroupper
    jmp 3f
2:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovups %zmm\n, \n*64(%rsi)
    .endr
    kmovq %k1, 2056(%rsi)
    kmovq %k2, 2064(%rsi)
    kmovq %k3, 2072(%rsi)
    kmovq %k4, 2080(%rsi)
    kmovq %k5, 2088(%rsi)
    kmovq %k6, 2096(%rsi)
    kmovq %k7, 2104(%rsi)
    vzeroupper
3:
    push $0x1f80
    ldmxcsr (%rsp)
    pop %rax
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size registers_round, .-registers_round
    .section .note.GNU-stack,"",@progbits
#endif
