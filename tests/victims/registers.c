/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills every register it can, waits or spins, and looks whether they are as they were:
 *   registers sleep|spin
 * says "ready"; once stdin ends it says "rounds N changed M". x86-64: general, x87, vector and mask registers, MXCSR,
 * the direction flag and the red zone below the stack pointer; errno everywhere.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* registers_round() knows these offsets. */
typedef struct {
    uint8_t vectors[32][64]; /* 0 */
    uint64_t masks[8];       /* 2048 */
    uint64_t general[10];    /* 2112 */
    uint64_t red_zone[16];   /* 2192 */
    uint64_t direction;      /* 2320 */
    double x87[2];           /* 2328 */
    uint32_t mxcsr;          /* 2344 */
    uint32_t level;          /* 2348: 0 SSE, 1 AVX, 2 AVX-512 */
    uint64_t spins;          /* 2352; 0: sleep instead */
    int64_t time[2];         /* 2360 */
} State;

void registers_round(const State *from, State *to);

#if defined(__x86_64__)
_Static_assert(offsetof(State, time) == 2360, "registers_round() knows the offsets");

#define SIXTEEN                 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define UPPER                   ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define EACH(LIST, INSTRUCTION) ".irp n," LIST "\n" INSTRUCTION "\n.endr\n"

__asm__(
    ".text\n"
    ".globl registers_round\n"
    ".type registers_round, @function\n"
    "registers_round:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "push %rsi\n push %rdi\n"
    "mov 2348(%rdi), %eax\n"
    "cmp $2, %eax\n je 2f\n cmp $1, %eax\n je 1f\n" EACH(
        SIXTEEN,
        "movups \\n*64(%rdi), %xmm\\n") " jmp 3f\n"
                                        "1: " EACH(
                                            SIXTEEN,
                                            "vmovups \\n*64(%rdi), %ymm\\n") " jmp 3f\n"
                                                                             "2: " EACH(
                                                                                 SIXTEEN UPPER,
                                                                                 "vmovups \\n*64(%rdi), "
                                                                                 "%zmm\\n") ""
                                                                                            "kmovq "
                                                                                            "2056(%rdi), "
                                                                                            "%k1\n kmovq "
                                                                                            "2064(%rdi), "
                                                                                            "%k2\n kmovq "
                                                                                            "2072(%rdi), "
                                                                                            "%k3\n kmovq "
                                                                                            "2080(%rdi), "
                                                                                            "%k4\n"
                                                                                            "kmovq "
                                                                                            "2088(%rdi), "
                                                                                            "%k5\n kmovq "
                                                                                            "2096(%rdi), "
                                                                                            "%k6\n kmovq "
                                                                                            "2104(%rdi), "
                                                                                            "%k7\n"
                                                                                            "3: fldl "
                                                                                            "2328(%rdi)\n "
                                                                                            "fldl "
                                                                                            "2336(%rdi)\n "
                                                                                            "ldmxcsr "
                                                                                            "2344(%rdi)\n "
                                                                                            "std\n"
                                                                                            "mov "
                                                                                            "2112(%rdi), "
                                                                                            "%rbx\n mov "
                                                                                            "2120(%rdi), "
                                                                                            "%rbp\n mov "
                                                                                            "2128(%rdi), "
                                                                                            "%r12\n mov "
                                                                                            "2136(%rdi), "
                                                                                            "%r13\n"
                                                                                            "mov "
                                                                                            "2144(%rdi), "
                                                                                            "%r14\n mov "
                                                                                            "2152(%rdi), "
                                                                                            "%r15\n mov "
                                                                                            "2160(%rdi), "
                                                                                            "%r8\n mov "
                                                                                            "2168(%rdi), "
                                                                                            "%r9\n"
                                                                                            "mov "
                                                                                            "2176(%rdi), "
                                                                                            "%r10\n mov "
                                                                                            "2184(%rdi), "
                                                                                            "%rdx\n"
                                                                                            "movq $0x1111, "
                                                                                            "-8(%rsp)\n "
                                                                                            "movq $0x2222, "
                                                                                            "-64(%rsp)\n "
                                                                                            "movq $0x3333, "
                                                                                            "-128(%rsp)\n"
                                                                                            "mov "
                                                                                            "2352(%rdi), "
                                                                                            "%rcx\n test "
                                                                                            "%rcx, %rcx\n "
                                                                                            "jz 5f\n"
                                                                                            "4: dec %rcx\n "
                                                                                            "jnz 4b\n jmp "
                                                                                            "6f\n"
                                                                                            "5: lea "
                                                                                            "2360(%rdi), "
                                                                                            "%rdi\n xor "
                                                                                            "%esi, %esi\n "
                                                                                            "mov $35, "
                                                                                            "%eax\n "
                                                                                            "syscall\n" /* nanosleep
                                                                                                         */
                                                                                            "6: mov "
                                                                                            "8(%rsp), %rsi\n"
                                                                                            "mov -8(%rsp), "
                                                                                            "%rax\n mov "
                                                                                            "%rax, "
                                                                                            "2192(%rsi)\n "
                                                                                            "mov -64(%rsp), "
                                                                                            "%rax\n mov "
                                                                                            "%rax, "
                                                                                            "2200(%rsi)\n"
                                                                                            "mov "
                                                                                            "-128(%rsp), "
                                                                                            "%rax\n mov "
                                                                                            "%rax, "
                                                                                            "2208(%rsi)\n"
                                                                                            "mov %rbx, "
                                                                                            "2112(%rsi)\n "
                                                                                            "mov %rbp, "
                                                                                            "2120(%rsi)\n "
                                                                                            "mov %r12, "
                                                                                            "2128(%rsi)\n "
                                                                                            "mov %r13, "
                                                                                            "2136(%rsi)\n"
                                                                                            "mov %r14, "
                                                                                            "2144(%rsi)\n "
                                                                                            "mov %r15, "
                                                                                            "2152(%rsi)\n "
                                                                                            "mov %r8, "
                                                                                            "2160(%rsi)\n "
                                                                                            "mov %r9, "
                                                                                            "2168(%rsi)\n"
                                                                                            "mov %r10, "
                                                                                            "2176(%rsi)\n "
                                                                                            "mov %rdx, "
                                                                                            "2184(%rsi)\n"
                                                                                            "pushf\n pop "
                                                                                            "%rax\n and "
                                                                                            "$0x400, %eax\n "
                                                                                            "mov %rax, "
                                                                                            "2320(%rsi)\n "
                                                                                            "cld\n"
                                                                                            "fstpl "
                                                                                            "2336(%rsi)\n "
                                                                                            "fstpl "
                                                                                            "2328(%rsi)\n "
                                                                                            "stmxcsr "
                                                                                            "2344(%rsi)\n"
                                                                                            "pop %rdi\n pop "
                                                                                            "%rsi\n"
                                                                                            "mov "
                                                                                            "2348(%rdi), "
                                                                                            "%eax\n"
                                                                                            "cmp $2, %eax\n "
                                                                                            "je 2f\n cmp "
                                                                                            "$1, %eax\n je "
                                                                                            "1f\n" EACH(
                                                                                                SIXTEEN,
                                                                                                "movups "
                                                                                                "%xmm\\n, "
                                                                                                "\\n*64(%"
                                                                                                "rsi)") " jm"
                                                                                                        "p "
                                                                                                        "3f"
                                                                                                        "\n"
                                                                                                        "1:"
                                                                                                        " " EACH(
                                                                                                            SIXTEEN,
                                                                                                            "vmovups "
                                                                                                            "%ymm\\n, "
                                                                                                            "\\n*64(%"
                                                                                                            "rsi)") " v"
                                                                                                                    "ze"
                                                                                                                    "ro"
                                                                                                                    "up"
                                                                                                                    "pe"
                                                                                                                    "r"
                                                                                                                    "\n"
                                                                                                                    " j"
                                                                                                                    "mp"
                                                                                                                    " 3"
                                                                                                                    "f"
                                                                                                                    "\n"
                                                                                                                    "2:"
                                                                                                                    " " EACH(
                                                                                                                        SIXTEEN
                                                                                                                            UPPER,
                                                                                                                        "vmovups %zmm\\n, \\n*64(%rsi)") ""
                                                                                                                                                         "kmovq %k1, 2056(%rsi)\n kmovq %k2, 2064(%rsi)\n kmovq %k3, 2072(%rsi)\n kmovq %k4, 2080(%rsi)\n"
                                                                                                                                                         "kmovq %k5, 2088(%rsi)\n kmovq %k6, 2096(%rsi)\n kmovq %k7, 2104(%rsi)\n vzeroupper\n"
                                                                                                                                                         "3: push $0x1f80\n ldmxcsr (%rsp)\n pop %rax\n"
                                                                                                                                                         "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
                                                                                                                                                         ".size registers_round, .-registers_round\n");

static uint32_t
best_level(void)
{
    if (__builtin_cpu_supports("avx512bw"))
        return 2;
    return __builtin_cpu_supports("avx") ? 1 : 0;
}
#else
void
registers_round(const State *from, State *to)
{
    *to = *from;
}

static uint32_t
best_level(void)
{
    return 0;
}
#endif

static void
fill(State *state, uint32_t level)
{
    static const size_t widths[] = {16, 32, 64};
    const size_t vectors = level == 2 ? 32 : 16;
    memset(state, 0, sizeof(*state));
    for (size_t i = 0; i < vectors; i++)
        for (size_t j = 0; j < widths[level]; j++)
            state->vectors[i][j] = (uint8_t)(i * 7 + j + 1);
    for (size_t i = 1; level == 2 && i < 8; i++)
        state->masks[i] = 0x0123456789abcdefull * i;
    for (size_t i = 0; i < 10; i++)
        state->general[i] = 0xfedcba9876543210ull + i;
    state->red_zone[0] = 0x1111;
    state->red_zone[1] = 0x2222;
    state->red_zone[2] = 0x3333;
    state->direction = 0x400;
    state->x87[0] = 3.25;
    state->x87[1] = -7.5;
    state->mxcsr = 0x7f80; /* towards zero */
    state->level = level;
}

int
main(int argc, char **argv)
{
    static State from;
    static State to;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    long rounds = 0;
    long changed = 0;
    if (argc != 2)
        return 2;
    fill(&from, best_level());
    from.spins = strcmp(argv[1], "spin") == 0 ? 2000000 : 0;
    from.time[1] = 2000000;
    puts("ready");
    fflush(stdout);
    errno = ENOTNAM;
    for (; poll(&in, 1, 0) == 0; rounds++) {
        to = from;
        memset(&to, 0, offsetof(State, level));
        registers_round(&from, &to);
        changed += memcmp(&from, &to, sizeof(from)) != 0 || errno != ENOTNAM;
    }
    printf("rounds %ld changed %ld\n", rounds, changed);
    return 0;
}
