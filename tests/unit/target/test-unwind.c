/* SPDX-License-Identifier: Apache-2.0 */
/* Our own stack, beside what the C library's unwinder makes of it. */
#include "target/unwind.h"

#include <elf.h>
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

/* A program whose table has an expression as long as it may be, each operation of which reads memory, and whose frames
 * have no end. */
enum {
    BASE = 0x400000,
    HDR = 0x100,
    CIE = 0x200,
    FDE = 0x300,
    CODE = 0x8000,
    HERE = CODE + 8, /* each return address; the word there is its own address */
    SIZE = 0x9000,
    OPERATIONS = 16000,
    MOST_FRAMES = 256,
    READS_PER_FRAME = 64, /* of tables and registers */
};

typedef struct {
    guint8 bytes[SIZE];
    guint64 reads;
} Hostile;

static gboolean
read_hostile(gpointer data, guint64 address, void *bytes, gsize n)
{
    Hostile *hostile = data;
    const guint64 here = BASE + HERE;
    hostile->reads++;
    if (address >= BASE && address - BASE <= SIZE - n)
        memcpy(bytes, hostile->bytes + (address - BASE), n);
    else
        memcpy(bytes, &here, MIN(n, sizeof(here))); /* a word of the stack */
    return TRUE;
}

static void
put(Hostile *hostile, gsize at, const void *bytes, gsize n)
{
    memcpy(hostile->bytes + at, bytes, n);
}

static void
put_headers(Hostile *hostile)
{
    const Elf64_Phdr segments[] = {{.p_type = PT_LOAD}, {.p_type = PT_GNU_EH_FRAME, .p_vaddr = HDR}};
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                               .e_phoff = sizeof(header),
                               .e_phentsize = sizeof(*segments),
                               .e_phnum = G_N_ELEMENTS(segments)};
    const guint32 table[] = {0x3b031b01, 0, 1, CODE - HDR, FDE - HDR};
    put(hostile, 0, &header, sizeof(header));
    put(hostile, sizeof(header), segments, sizeof(segments));
    put(hostile, HDR, table, sizeof(table));
}

static void
put_tables(Hostile *hostile)
{
    /* The caller's frame is 16 bytes above, its address at the end of this one. */
    static const guint8 cie[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 16, 0x90, 1, 0, 0};
    const guint32 start[] = {28 + OPERATIONS - 4, FDE + 4 - CIE};
    const guint64 range[] = {BASE + CODE, SIZE - CODE}, here = BASE + HERE;
    const guint8 expression[] = {0x16, 3, (OPERATIONS & 0x7f) | 0x80, OPERATIONS >> 7}; /* of %rbx */
    put(hostile, CIE, cie, sizeof(cie));
    put(hostile, FDE, start, sizeof(start));
    put(hostile, FDE + 8, range, sizeof(range));
    put(hostile, FDE + 24, expression, sizeof(expression));
    memset(hostile->bytes + FDE + 28, 0x06 /* DW_OP_deref */, OPERATIONS);
    put(hostile, HERE, &here, sizeof(here));
}

static void
test_expressions_without_end(void)
{
    static Hostile program;
    Hostile *hostile = &program;
    g_autoptr(AddressSpace) space = address_space_parse(1, "400000-409000 r-xp 00000000 08:01 7 /bin/hostile\n");
    const GeneralRegisters general = {.rip = BASE + HERE, .rsp = 0x10000000};
    Unwind unwind = {.memory = {.space = space, .read = read_hostile, .data = hostile}};
    gboolean signal_frame;
    guint frames = 0;
    put_headers(hostile);
    put_tables(hostile);
    unwind_begin(&unwind, &general);
    while (frames < MOST_FRAMES && unwind_step(&unwind, G_MAXUINT64, &signal_frame) == UNWIND_FRAME)
        frames++;
    g_assert_cmpuint(frames, >=, 2);
    g_assert_cmpuint(hostile->reads, >, 2 * OPERATIONS);
    g_assert_cmpuint(hostile->reads, <=, CFI_WORK_MAX + MOST_FRAMES * READS_PER_FRAME);
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
    g_test_add_func("/unwind/expressions-without-end", test_expressions_without_end);
#endif
    return g_test_run();
}
