/* SPDX-License-Identifier: Apache-2.0 */
/* Our own stack, beside what the C library's unwinder makes of it. */
#include "target/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES_MAX = 64, DEPTH = 20 };

typedef struct {
    guint64 found[FRAMES_MAX];
    guint n;
    UnwindStep last;
    gboolean signal_frame;
} Walk;

static Walk walk;
static void *expected[FRAMES_MAX];
static int n_expected;

#if defined(__x86_64__)
static gboolean
read_own(gpointer data, guint64 address, void *bytes, gsize n)
{
    return remote_read(getpid(), address, bytes, n);
}

static GeneralRegisters
registers_of(const ucontext_t *context)
{
    const greg_t *from = context->uc_mcontext.gregs;
    return (GeneralRegisters){
        .rip = (guint64)from[REG_RIP],
        .rsp = (guint64)from[REG_RSP],
        .rbp = (guint64)from[REG_RBP],
        .rbx = (guint64)from[REG_RBX],
        .r12 = (guint64)from[REG_R12],
        .r13 = (guint64)from[REG_R13],
        .r14 = (guint64)from[REG_R14],
        .r15 = (guint64)from[REG_R15],
    };
}

static void
take_walk(const ucontext_t *context)
{
    g_autoptr(AddressSpace) space = address_space_new(getpid(), NULL);
    GeneralRegisters general = registers_of(context);
    Unwind unwind = {.memory = {.space = space, .read = read_own}};
    const Mapping *stack = address_space_find(space, general.rsp);
    memset(&walk, 0, sizeof(walk));
    unwind_begin(&unwind, &general);
    do {
        gboolean signal_frame = FALSE;
        walk.found[walk.n++] = unwind.pc;
        walk.last = unwind_step(&unwind, stack->end, &signal_frame);
        walk.signal_frame |= signal_frame;
    } while (walk.last == UNWIND_FRAME && walk.n < FRAMES_MAX);
}

static void
look(void)
{
    ucontext_t here;
    n_expected = backtrace(expected, FRAMES_MAX);
    g_assert_cmpint(getcontext(&here), ==, 0);
    take_walk(&here);
}

static int (*volatile descend_again)(int depth);

static int
descend(int depth)
{
    volatile char *room = g_alloca(100 + 10 * (gsize)depth); /* frames that only a table of %rbp's can tell */
    room[0] = (char)depth;
    if (depth == 0)
        look();
    else
        descend_again(depth - 1);
    return room[0];
}

#if defined(__SANITIZE_ADDRESS__)
#define ADDED 1 /* a sanitizer's backtrace() has a frame of its own, which is the innermost */
#else
#define ADDED 0
#endif

/* All but the innermost, where the two look from different places. */
static void
compare(void)
{
    g_assert_cmpint(walk.last, ==, UNWIND_END);
    g_assert_cmpint((int)walk.n + ADDED, ==, n_expected);
    for (guint i = 1; i < walk.n; i++)
        g_assert_cmphex(walk.found[i], ==, (guint64)(guintptr)expected[i + ADDED]);
}

static void
test_own_stack(void)
{
    descend_again = descend;
    descend(DEPTH);
    g_assert_cmpuint(walk.n, >, DEPTH);
    compare();
    g_assert_false(walk.signal_frame);
}

static void
handle(int number)
{
    descend(3);
}

static void
test_through_a_handler(void)
{
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    compare();
    g_assert_true(walk.signal_frame);
}

static int
compare_and_look(const void *a, const void *b)
{
    if (n_expected == 0)
        look();
    return 0;
}

/* Through code of the C library that calls back. */
static void
test_through_a_library(void)
{
    int numbers[] = {2, 1};
    n_expected = 0;
    qsort(numbers, G_N_ELEMENTS(numbers), sizeof(*numbers), compare_and_look);
    compare();
}

/* Where there are no tables. */
static void
test_unknown(void)
{
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), "1000-2000 r-xp 00000000 00:00 0 \n");
    ucontext_t here;
    gboolean signal_frame;
    g_assert_cmpint(getcontext(&here), ==, 0);
    GeneralRegisters general = registers_of(&here);
    Unwind unwind = {.memory = {.space = space, .read = read_own}};
    unwind_begin(&unwind, &general);
    g_assert_cmpint(unwind_step(&unwind, G_MAXUINT64, &signal_frame), ==, UNWIND_UNKNOWN);
    unwind.pc = 0x1800;
    g_assert_cmpint(unwind_step(&unwind, G_MAXUINT64, &signal_frame), ==, UNWIND_UNKNOWN);
}
#endif

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#if defined(__x86_64__)
    g_test_add_func("/unwind/own-stack", test_own_stack);
    g_test_add_func("/unwind/through-a-handler", test_through_a_handler);
    g_test_add_func("/unwind/through-a-library", test_through_a_library);
    g_test_add_func("/unwind/unknown", test_unknown);
#endif
    return g_test_run();
}
