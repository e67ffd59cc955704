/* SPDX-License-Identifier: Apache-2.0 */
#include "target/mappings.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    KIB = 1024,
    MIB = 1 << 20,
};

static Mappings
parse(const char *text, const MappingHints *hints)
{
    static const MappingHints none;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    MappingsReader *reader = mappings_reader_new(hints != NULL ? hints : &none);
    Mappings mappings;
    for (char **line = lines; *line != NULL; line++)
        mappings_reader_line(reader, *line);
    mappings_reader_end(reader, &mappings);
    return mappings;
}

/* A program and its .bss, as Linux 6.18 lists them. */
static const char program[] = "55c9093b5000-55c9093b6000 r--p 00000000 fe:00 18624          /usr/bin/my program\n"
                              "Rss:                   4 kB\nPss:                   2 kB\nAnonymous:             0 kB\n"
                              "VmFlags: rd mr mw me\n"
                              "55c9093b6000-55c9093b8000 r-xp 00001000 fe:00 18624          /usr/bin/my program\n"
                              "Rss:                   8 kB\nPss:                   8 kB\nAnonymous:             0 kB\n"
                              "VmFlags: rd ex mr mw me\n"
                              "55c9093b9000-55c9093bb000 rw-p 00003000 fe:00 18624          /usr/bin/my program\n"
                              "Rss:                   8 kB\nPss:                   6 kB\nAnonymous:             4 kB\n"
                              "VmFlags: rd wr mr mw me ac\n"
                              "55c9093bb000-55c9093bf000 rw-p 00000000 00:00 0 \n"
                              "Rss:                  12 kB\nPss:                  12 kB\nAnonymous:            12 kB\n"
                              "VmFlags: rd wr mr mw me ac\n"
                              "55c90a000000-55c90a100000 rw-p 00000000 00:00 0              [heap]\n"
                              "Rss:                 100 kB\nPss:                 100 kB\nAnonymous:           100 kB\n"
                              "VmFlags: rd wr mr mw me ac\n";

static void
test_program(void)
{
    Mappings mappings = parse(program, NULL);
    g_assert_cmpuint(mappings.kinds[MAPPING_TEXT].rss, ==, 16 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_TEXT].pss, ==, 12 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_DATA].rss, ==, (4 + 12) * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_BRK].rss, ==, 100 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_ANONYMOUS].count, ==, 0);
    g_assert_cmpuint(mappings.kinds[MAPPING_FILE].rss, ==, 0);
}

static void
test_files(void)
{
    Mappings mappings = parse("7f0000000000-7f0000100000 rw-p 00000000 fe:00 5   /var/cache/x\n"
                              "Rss:  60 kB\nAnonymous:  20 kB\n"
                              "7f0000100000-7f0000200000 rw-s 00000000 00:01 6   /memfd:ring (deleted)\nRss:  8 kB\n"
                              "7f0000200000-7f0000300000 rw-s 00000000 00:01 7   /dev/zero (deleted)\nRss:  16 kB\n"
                              "7f0000300000-7f0000301000 r-xp 00000000 00:00 0   [vdso]\nRss:  4 kB\n",
                              NULL);
    g_assert_cmpuint(mappings.kinds[MAPPING_FILE].rss, ==, 60 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_MEMORY_FILE].rss, ==, 8 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_SHARED].rss, ==, 16 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_TEXT].rss, ==, 4 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_DATA].rss, ==, 0);
}

static void
test_anonymous(void)
{
    Mappings mappings = parse("7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
                              "Rss:  4096 kB\nAnonymous: 4096 kB\nShared_Dirty: 1024 kB\nLazyFree: 12 kB\n"
                              "AnonHugePages: 2048 kB\nSwap: 8 kB\nVmFlags: rd wr mr mw me nr sd \n"
                              "7f0000400000-7f0000500000 rw-p 00000000 00:00 0 \n"
                              "Rss:  100 kB\nVmFlags: rd wr mr mw me ac \n"
                              "7f0000500000-7f0000600000 rw-p 00000000 00:00 0    [anon:scudo:primary]\n"
                              "Rss:  200 kB\nVmFlags: rd wr mr mw me ac \n",
                              NULL);
    const MappingSum *own = &mappings.kinds[MAPPING_NORESERVE];
    g_assert_cmpuint(own->size, ==, 4 * MIB);
    g_assert_cmpuint(own->rss, ==, 4 * MIB);
    g_assert_cmpuint(own->shared_anonymous, ==, MIB);
    g_assert_cmpuint(own->lazy_free, ==, 12 * KIB);
    g_assert_cmpuint(own->huge, ==, 2 * MIB);
    g_assert_cmpuint(own->swap, ==, 8 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_ANONYMOUS].rss, ==, 100 * KIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_ALLOCATOR].rss, ==, 200 * KIB);
}

/* glibc's arenas have the flag too. */
static void
test_glibc_arena(void)
{
    Mappings mappings = parse("7f0004000000-7f0004800000 rw-p 00000000 00:00 0 \nRss: 8192 kB\nVmFlags: rd wr nr \n"
                              "7f0004800000-7f0008000000 ---p 00000000 00:00 0 \nRss: 0 kB\nVmFlags: mr nr \n"
                              "7f000c000000-7f000c800000 rw-p 00000000 00:00 0 \nRss: 4 kB\nVmFlags: rd wr nr \n"
                              "7f0010000000-7f0014000000 ---p 00000000 00:00 0 \nRss: 0 kB\nVmFlags: mr nr \n",
                              NULL);
    g_assert_cmpuint(mappings.kinds[MAPPING_GLIBC_ARENA].rss, ==, 8 * MIB);
    g_assert_cmpuint(mappings.kinds[MAPPING_NORESERVE].rss, ==, 4 * KIB);
}

#define GUARD "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \nRss: 0 kB\nVmFlags: mr mw me \n"
#define STACK "7f0000001000-7f0000800000 rw-p 00000000 00:00 0 \nRss: 40 kB\nVmFlags: rd wr mr mw me ac "

static void
test_stacks(void)
{
    static const guint64 pointers[] = {0x1000, 0x7f00007ff000};
    const MappingHints size = {.stack_size = 8 * MIB};
    const MappingHints pointer = {.stack_pointers = pointers, .n_stack_pointers = 2};
    const MappingHints other = {.stack_pointers = pointers, .n_stack_pointers = 1, .stack_size = 4 * MIB};
    g_assert_cmpuint(parse(GUARD STACK "nh \n", NULL).kinds[MAPPING_STACK].rss, ==, 40 * KIB);
    g_assert_cmpuint(parse(GUARD STACK "\n", &size).kinds[MAPPING_STACK].rss, ==, 40 * KIB);
    g_assert_cmpuint(parse(GUARD STACK "\n", &pointer).kinds[MAPPING_STACK].rss, ==, 40 * KIB);
    g_assert_cmpuint(parse(STACK "\n", &pointer).kinds[MAPPING_STACK].rss, ==, 40 * KIB);
    g_assert_cmpuint(parse(GUARD STACK "\n", &other).kinds[MAPPING_STACK].rss, ==, 0);
    g_assert_cmpuint(parse(STACK "\n", &size).kinds[MAPPING_ANONYMOUS].rss, ==, 40 * KIB);
}

static void
test_odd_lines(void)
{
    Mappings mappings = parse("\nRss: 5 kB\nnonsense\n7f00-\n9-1 rw-p\n7f0000001000-7f0000000000 rw-p 0 0:0 0 \n"
                              "7f0000000000-7f0000001000 rw-p\nRss: 99999999999999999999 kB\n",
                              NULL);
    guint64 count = 0;
    for (MappingKind kind = 0; kind < MAPPING_KINDS; kind++)
        count += mappings.kinds[kind].count;
    g_assert_cmpuint(count, ==, 0);
}

static MemoryMapEnd
read_own(gint64 time_us, Mappings *mappings)
{
    Process self;
    g_assert_true(process_look(getpid(), &self));
    return mappings_read(&self, time_us, mappings);
}

/* Of this process: what is mapped and touched shows up, and its resident set is what the kernel says. */
static void
test_own(void)
{
    const gsize size = 24 * MIB;
    Mappings before, after;
    if (read_own(10 * G_USEC_PER_SEC, &before) != MEMORY_MAP_READ) {
        g_test_skip("/proc/PID/smaps cannot be read");
        return;
    }
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 1, size);
    g_assert_cmpint(read_own(10 * G_USEC_PER_SEC, &after), ==, MEMORY_MAP_READ);
    g_assert_cmpuint(after.kinds[MAPPING_ANONYMOUS].rss, >=, before.kinds[MAPPING_ANONYMOUS].rss + size);
    g_assert_cmpuint(after.kinds[MAPPING_STACK].rss, >, 0);
    g_assert_cmpuint(after.kinds[MAPPING_TEXT].rss, >, 0);
    g_assert_cmpuint(after.unread, ==, 0);
    munmap(pages, size);
}

static void
test_no_time(void)
{
    Mappings mappings;
    for (int i = 0; i < 200; i++) /* of two kinds, so that they are not merged */
        g_assert_true(mmap(NULL, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                      MAP_FAILED);
    MemoryMapEnd end = read_own(0, &mappings);
    if (end == MEMORY_MAP_DENIED) {
        g_test_skip("/proc/PID/smaps cannot be read");
        return;
    }
    g_assert_cmpint(end, ==, MEMORY_MAP_STOPPED);
    g_assert_cmpuint(mappings.unread, >, 0);
}

static void
test_gone(void)
{
    Mappings mappings;
    g_assert_cmpint(mappings_read(&(Process){.pid = G_MAXINT32}, G_USEC_PER_SEC, &mappings), ==, MEMORY_MAP_GONE);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*run)(void);
    } tests[] = {
        {"/target/mappings/program", test_program},
        {"/target/mappings/files", test_files},
        {"/target/mappings/anonymous", test_anonymous},
        {"/target/mappings/glibc-arena", test_glibc_arena},
        {"/target/mappings/stacks", test_stacks},
        {"/target/mappings/odd-lines", test_odd_lines},
        {"/target/mappings/own", test_own},
        {"/target/mappings/no-time", test_no_time},
        {"/target/mappings/gone", test_gone},
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].path, tests[i].run);
    return g_test_run();
}
