/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills as many registers as possible, waits or spins, and checks that they are unchanged:
 *   registers sleep|spin
 * prints "ready", and at the end of stdin "rounds N changed M errno E": the numbers of all rounds, of those in which a
 * register has changed, and of those in which errno has. x86-64: general, x87, vector and mask registers, MXCSR, the
 * direction flag and the red zone below the stack pointer (registers-round.S); errno everywhere.
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
    long other_errno = 0;
    if (argc != 2)
        return 2;
    fill(&from, best_level());
    from.spins = strcmp(argv[1], "spin") == 0 ? 2000000 : 0;
    from.time[1] = 2000000;
    puts("ready");
    fflush(stdout);
    for (; poll(&in, 1, 0) == 0; rounds++) {
        to = from;
        memset(&to, 0, offsetof(State, level));
        errno = ENOTNAM;
        registers_round(&from, &to);
        other_errno += errno != ENOTNAM;
        changed += memcmp(&from, &to, sizeof(from)) != 0;
    }
    printf("rounds %ld changed %ld errno %ld\n", rounds, changed, other_errno);
    return 0;
}
