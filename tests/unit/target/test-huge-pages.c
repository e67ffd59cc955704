/* SPDX-License-Identifier: Apache-2.0 */
#include "target/huge-pages.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    HUGE = 2 * MIB,
    BYTES = 48 * MIB,
    PAGE = 4096,
    LONG_US = 30 * G_USEC_PER_SEC,
};

/* Memory in huge pages as far as the kernel gives them, every page EACH bytes written to. */
static char *
make_memory(char **mapped, gsize each)
{
    *mapped = mmap(NULL, BYTES + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *memory = *mapped + (HUGE - (gsize)(guintptr)*mapped % HUGE);
    madvise(memory, BYTES, MADV_HUGEPAGE);
    for (gsize at = 0; at < BYTES; at += each)
        memory[at] = 1;
    return memory;
}

static gboolean
read_own(Mappings *mappings)
{
    Process self;
    g_assert_true(process_look(getpid(), &self));
    return mappings_read(&self, LONG_US, mappings) == MEMORY_MAP_READ &&
           mappings->kinds[MAPPING_ANONYMOUS].huge >= BYTES / 2;
}

static void
check(gsize each, double share)
{
    char *mapped;
    Mappings mappings;
    guint64 zeros[MAPPING_KINDS];
    make_memory(&mapped, each);
    if (read_own(&mappings) && huge_pages_read_zeros(getpid(), &mappings, LONG_US, zeros)) {
        double huge = (double)mappings.kinds[MAPPING_ANONYMOUS].huge;
        g_assert_cmpfloat((double)zeros[MAPPING_ANONYMOUS] / huge, >=, share - 0.1);
        g_assert_cmpfloat((double)zeros[MAPPING_ANONYMOUS] / huge, <=, share + 0.1);
    } else {
        g_test_skip("the kernel gives no huge pages, or the process may not read its own memory");
    }
    munmap(mapped, BYTES + HUGE);
}

static void
test_sparse(void)
{
    check(32 * PAGE, 31.0 / 32);
}

static void
test_half(void)
{
    check(2 * PAGE, 0.5);
}

static void
test_full(void)
{
    check(PAGE, 0);
}

static void
test_unreadable(void)
{
    Mappings mappings = {.huge = {.n = 1, .ranges = {{.start = 0, .end = HUGE, .bytes = HUGE}}}};
    guint64 zeros[MAPPING_KINDS] = {7};
    g_assert_false(huge_pages_read_zeros(G_MAXINT32, &mappings, LONG_US, zeros));
    g_assert_false(huge_pages_read_zeros(getpid(), &mappings, 0, zeros));
    g_assert_cmpuint(zeros[0], ==, 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/target/huge-pages/sparse", test_sparse);
    g_test_add_func("/target/huge-pages/half", test_half);
    g_test_add_func("/target/huge-pages/full", test_full);
    g_test_add_func("/target/huge-pages/unreadable", test_unreadable);
    return g_test_run();
}
