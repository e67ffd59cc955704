/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and mappings of a process that wants them to take long. */
#include "target/safe-point.h"

#include "target/remote-code.h"

#include <string.h>
#include <sys/mman.h>
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
    SafePoints *points = safe_points_new(space, &code, &library);
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
    const gint64 begun = g_get_monotonic_time();
    guint64 *words = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_HERE);
    words[STACK / sizeof(*words) - 1] = LOADERS_AT + (LOADERS - 1) * G_GUINT64_CONSTANT(0x2000) + 0xfff;
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_IN_LOADER);
    words[STACK / sizeof(*words) - 1]++; /* between two of them */
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_HERE);
    words[STACK / sizeof(*words) - 1] = 0x100f;
    g_assert_cmpint(judge(words, 0x1000).verdict, ==, SAFE_POINT_IN_JEMALLOC);
    g_assert_cmpint(g_get_monotonic_time() - begun, <, 20 * G_USEC_PER_SEC);
    munmap(words, STACK);
}

/* Code without what is searched for, mapped thousands of times. */
static void
test_much_code(void)
{
    const gint64 begun = g_get_monotonic_time();
    char *bytes = mmap(NULL, SEARCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(bytes, 0x90, SEARCHED);
    GString *maps = g_string_new(NULL);
    for (guint i = 0; i < SEARCHED_TIMES; i++)
        g_string_append_printf(maps, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp 0 00:00 0\n",
                               (guint64)(guintptr)bytes, (guint64)(guintptr)bytes + SEARCHED);
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps->str);
    RemoteCode code;
    g_assert_false(remote_code_find(space, &code, NULL));
    g_assert_cmpint(g_get_monotonic_time() - begun, <, 20 * G_USEC_PER_SEC);
    munmap(bytes, SEARCHED);
    g_string_free(maps, TRUE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/safe-point/many-ranges", test_many_ranges);
    g_test_add_func("/safe-point/much-code", test_much_code);
    return g_test_run();
}
