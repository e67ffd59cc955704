/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and mappings of a process that wants them to take long. */
#include "target/safe-point.h"

#include "target/cfi-cursor.h"
#include "target/loaded.h"
#include "target/remote-code.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* AddressSanitizer makes splitting a text into lines take the square of its length. */
#ifdef __SANITIZE_ADDRESS__
#define LOADERS 3000
#else
#define LOADERS 60000 /* of 65530 mappings that a process may have */
#endif

enum {
    STACK = 8 << 20,
    LOADERS_AT = 1 << 20,
    SEARCHED = 4 << 20,
    SEARCHED_TIMES = 5000,
};

static void
set_stack_pointer(Registers *registers, guint64 address)
{
#if defined(__x86_64__)
    registers->general.rsp = address;
#else
    registers->general.sp = address;
#endif
}

/* The verdict on this process, as if its stack were STACK bytes at WORDS and LOADERS pages were the dynamic loader's.
 */
static SafePoint
judge(guint64 *words, guint64 avoided)
{
    GString *maps = g_string_new(NULL);
    for (guint64 i = 0; i < LOADERS; i++)
        g_string_append_printf(maps,
                               "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp 0 08:01 %" G_GUINT64_FORMAT
                               " /lib/ld-%" G_GUINT64_FORMAT ".so\n",
                               LOADERS_AT + i * 0x2000, LOADERS_AT + i * 0x2000 + 0x1000, i + 1, i);
    const guint64 start = (guint64)(guintptr)words;
    g_string_append_printf(maps, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x rw-p 0 00:00 0 [stack]\n", start,
                           start + STACK);
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps->str);
    const RemoteCode code = {.back = 0x10};
    const CLibrary library = {0};
    SafePoints *points = safe_points_new(space, &code, &library, 0);
    Registers registers = {.call = -1, .restarts = -1};
    set_stack_pointer(&registers, start + (64 << 10));
    safe_points_avoid(points, avoided, avoided + 16);
    SafePoint point = safe_points_judge(points, getpid(), &registers);
    safe_points_free(points);
    g_string_free(maps, TRUE);
    return point;
}

/* A million words of stack beside thousands of ranges, of which none has them. */
static void
test_many_ranges(void)
{
    const clock_t begun = clock();
    guint64 *words = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_HERE);
    words[STACK / sizeof(*words) - 1] = LOADERS_AT + (LOADERS - 1) * G_GUINT64_CONSTANT(0x2000) + 0xfff;
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_IN_LOADER);
    words[STACK / sizeof(*words) - 1]++; /* between two of them */
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_HERE);
    words[STACK / sizeof(*words) - 1] = 0x100f;
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_IN_JEMALLOC);
    g_assert_cmpint(clock() - begun, <, 20 * CLOCKS_PER_SEC);
    munmap(words, STACK);
}

#if defined(__x86_64__)
/* The verdict on THREAD, whose stack pointer is in the middle of STACK bytes at WORDS and whose control block is BLOCK
 * bytes behind their start; GUARD is what the kernel shows of the page below. */
static SafePointVerdict
judge_thread(const guint64 *words, pid_t thread, guint64 block, const char *guard)
{
    const guint64 start = (guint64)(guintptr)words;
    g_autofree char *maps =
        g_strdup_printf("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x %s 0 00:00 0\n%" G_GINT64_MODIFIER
                        "x-%" G_GINT64_MODIFIER "x rw-p 0 00:00 0\n",
                        start - 0x1000, start, guard, start, start + STACK);
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps);
    const RemoteCode code = {.back = 0x10};
    const CLibrary library = {0};
    SafePoints *points = safe_points_new(space, &code, &library, 0);
    Registers registers = {.call = -1, .restarts = -1};
    set_stack_pointer(&registers, start + STACK / 2);
    registers.general.fs_base = start + block;
    SafePoint point = safe_points_judge(points, thread, &registers);
    safe_points_free(points);
    return point.verdict;
}

/* A coroutine's stack that the kernel has merged with the memory of the main thread's control block. */
static void
test_merged_stacks(void)
{
    guint64 *words = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const pid_t main_thread = getpid(), other = getpid() + 1;
    g_assert_cmpint(judge_thread(words, main_thread, STACK - 64, "r--p"), ==, SAFE_POINT_OTHER_STACK);
    g_assert_cmpint(judge_thread(words, other, 64, "---p"), ==, SAFE_POINT_OTHER_STACK);
    /* In a child that a thread has forked. */
    g_assert_cmpint(judge_thread(words, main_thread, STACK - 64, "---p"), ==, SAFE_POINT_HERE);
    g_assert_cmpint(judge_thread(words, other, STACK - 64, "---p"), ==, SAFE_POINT_HERE);
    munmap(words, STACK);
}

/* A stack without a guard, which the kernel has merged with the data below, begins where the C library says. */
static void
test_stack_without_guard(void)
{
    enum { BLOCK = STACK - 4096, MIDDLE = STACK / 2 };
    guint64 *words = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    guint64 *block = words + BLOCK / sizeof(*words), *recorded = block + 1680 / sizeof(*words);
    const guint64 start = (guint64)(guintptr)words;
    const pid_t other = getpid() + 1;
    const struct {
        guint64 start, guard;
        SafePointVerdict without, with; /* a guard below the whole mapping */
    } cases[] = {
        {start, 0, SAFE_POINT_HERE, SAFE_POINT_HERE},
        {start + MIDDLE - (64 << 10), 0, SAFE_POINT_HERE, SAFE_POINT_HERE},
        {start + MIDDLE - (64 << 10), 4096, SAFE_POINT_NO_ROOM, SAFE_POINT_NO_ROOM},
        {start + MIDDLE - (16 << 10), 0, SAFE_POINT_NO_ROOM, SAFE_POINT_NO_ROOM},
        {start + MIDDLE + (16 << 10), 0, SAFE_POINT_OTHER_STACK, SAFE_POINT_OTHER_STACK},
        {start + BLOCK + 8, 0, SAFE_POINT_OTHER_STACK, SAFE_POINT_HERE}, /* not that of this stack */
    };
    block[2] = (guint64)(guintptr)block; /* glibc's header.self and header.multiple_threads are no extent */
    block[3] = 1;
    g_assert_cmpint(judge_thread(words, other, BLOCK, "rw-p"), ==, SAFE_POINT_OTHER_STACK);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        recorded[0] = cases[i].start;
        recorded[1] = start + STACK - cases[i].start;
        recorded[2] = cases[i].guard;
        g_assert_cmpint(judge_thread(words, other, BLOCK, "rw-p"), ==, cases[i].without);
        g_assert_cmpint(judge_thread(words, other, BLOCK, "---p"), ==, cases[i].with);
        g_assert_cmpint(judge_thread(words, getpid(), BLOCK, "rw-p"), ==, SAFE_POINT_OTHER_STACK);
    }
    munmap(words, STACK);
}
#endif

/* Code without what is searched for, mapped thousands of times. */
static void
test_much_code(void)
{
    const clock_t begun = clock();
    char *bytes = mmap(NULL, SEARCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(bytes, 0x90, SEARCHED);
    GString *maps = g_string_new(NULL);
    for (guint i = 0; i < SEARCHED_TIMES; i++)
        g_string_append_printf(maps, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp 0 00:00 0\n",
                               (guint64)(guintptr)bytes, (guint64)(guintptr)bytes + SEARCHED);
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps->str);
    RemoteCode code;
    g_autoptr(GArray) objects = loaded_objects(space);
    g_assert_false(remote_code_find(space, objects, &code, NULL));
    g_assert_cmpint(clock() - begun, <, 20 * CLOCKS_PER_SEC);
    munmap(bytes, SEARCHED);
    g_string_free(maps, TRUE);
}

/* What a handler of this process sees. */
static struct {
    guint64 avoided;         /* the code that no thread must be in */
    guint work;              /* that may be done */
    guint stale;             /* words as if another frame began there */
    volatile gboolean holds; /* raise() is declared to call nothing of this file */
} handler;

enum { CODE = 256 /* bytes that a function has at most */ };

/* Below the kernel's frame there are words as if another one began there, which has ended. */
static void
look(int number)
{
    enum { STALE = 100 };
    const RemoteCode code = {.back = (guint64)(guintptr)__builtin_return_address(0)};
    const CLibrary library = {0};
    guint64 *stale = __builtin_alloca(STALE * sizeof(*stale));
    g_autofree char *maps = NULL;
    memset(stale, 1, STALE * sizeof(*stale));
    for (guint i = 0; i < handler.stale; i++)
        stale[i] = code.back;
    g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps);
    SafePoints *points = safe_points_new(space, &code, &library, 0);
    safe_points_avoid(points, handler.avoided, handler.avoided + CODE);
    guint work = handler.work;
    handler.holds = safe_points_holds(points, (guint64)(guintptr)stale, &work);
    safe_points_free(points);
}

__attribute__((noinline, aligned(CODE))) static void
interrupt_here(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

__attribute__((noinline, aligned(CODE))) static void
interrupt_there(void)
{
    raise(SIGUSR1);
    __asm__ volatile("" ::"r"(1));
}

/* A handler that runs on the stack of the code that it has interrupted, or on its own. */
static void
test_handlers(gconstpointer data)
{
    enum { SIZE = 256 << 10 };
    const int flags = GPOINTER_TO_INT(data);
    g_autofree guint8 *memory = g_malloc(SIZE);
    const stack_t own = {.ss_sp = memory, .ss_size = SIZE}, none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = look, .sa_flags = flags};
    g_assert_cmpint(sigaltstack(&own, NULL), ==, 0);
    g_assert_cmpint(sigaction(SIGUSR1, &action, NULL), ==, 0);
    handler.avoided = (guint64)(guintptr)interrupt_here;
    handler.work = CFI_WORK_MAX;
    handler.stale = 1;
    interrupt_here();
    g_assert_true(handler.holds);
    interrupt_there();
    g_assert_false(handler.holds);
    handler.work = 10; /* not enough */
    interrupt_there();
    g_assert_true(handler.holds);
    handler.work = CFI_WORK_MAX;
    handler.stale = 90; /* too many */
    interrupt_there();
    g_assert_true(handler.holds);
    g_assert_cmpint(sigaltstack(&none, NULL), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/safe-point/many-ranges", test_many_ranges);
#if defined(__x86_64__)
    g_test_add_func("/safe-point/merged-stacks", test_merged_stacks);
    g_test_add_func("/safe-point/stack-without-guard", test_stack_without_guard);
#endif
    g_test_add_func("/safe-point/much-code", test_much_code);
    g_test_add_data_func("/safe-point/handlers", GINT_TO_POINTER(0), test_handlers);
    g_test_add_data_func("/safe-point/handlers-with-a-stack", GINT_TO_POINTER(SA_ONSTACK), test_handlers);
    return g_test_run();
}
