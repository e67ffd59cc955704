/* SPDX-License-Identifier: Apache-2.0 */
#include "target/loaded.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    DYNAMIC_AT = 0x200,
    DEBUG_AT = 0x300,
    MAP_AT = 0x400,
};

/* As in <link.h>, as far as they are read. */
typedef struct {
    guint64 bias, name, dynamic, next;
} LinkMap;

/* A program in the first page, whose link map holds one library, that in the second page, and itself again. */
static char *
make_endless_map(void)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const guint64 base = (guint64)(guintptr)pages;
    const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                               .e_type = ET_DYN,
                               .e_phoff = sizeof(header),
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = 2};
    const Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD, .p_memsz = PAGE},
        {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC_AT, .p_memsz = 2 * sizeof(Elf64_Dyn)},
    };
    const Elf64_Dyn debug = {.d_tag = DT_DEBUG, .d_un.d_ptr = base + DEBUG_AT};
    const guint64 list[] = {1, base + MAP_AT};
    const LinkMap map = {.dynamic = base + PAGE + 8, .next = base + MAP_AT};
    g_assert_true(pages != MAP_FAILED);
    memcpy(pages, &header, sizeof(header));
    memcpy(pages + sizeof(header), segments, sizeof(segments));
    memcpy(pages + DYNAMIC_AT, &debug, sizeof(debug));
    memcpy(pages + DEBUG_AT, list, sizeof(list));
    memcpy(pages + MAP_AT, &map, sizeof(map));
    return pages;
}

static void
test_a_map_that_leads_in_circles(void)
{
    char *pages = make_endless_map();
    const guint64 base = (guint64)(guintptr)pages;
    g_autofree char *maps = g_strdup_printf("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r--p 0 08:01 7 /program\n"
                                            "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r--p 0 08:01 8 /library\n",
                                            base, base + PAGE, base + PAGE, base + 2 * PAGE);
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), maps);
    g_autoptr(GArray) objects = loaded_objects_from(space, base + sizeof(Elf64_Ehdr));
    g_assert_cmpuint(objects->len, ==, 2);
    munmap(pages, 2 * PAGE);
}

/* The first object of this process that has a function. */
static gboolean
find_function(const AddressSpace *space, const char *name)
{
    g_autoptr(GArray) objects = loaded_objects(space);
    gboolean found = FALSE;
    for (guint i = 0; i < objects->len && !found; i++) {
        Dynamic dynamic;
        found = loaded_dynamic(space, &g_array_index(objects, LoadedObject, i), &dynamic) &&
                dynamic_function(&dynamic, name) != 0;
    }
    return found;
}

static void
test_reads_are_counted(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AddressSpace) space = address_space_new(getpid(), &error);
    g_assert_no_error(error);
    g_assert_true(find_function(space, "mmap"));
    g_assert_cmpuint(space->reads_left, <, ADDRESS_SPACE_READS);
    g_assert_cmpuint(space->reads_left, >, ADDRESS_SPACE_READS - ADDRESS_SPACE_READS / 20);
    space->reads_left = 10;
    g_assert_false(find_function(space, "mmap"));
    g_assert_cmpuint(space->reads_left, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/target/loaded/a-map-that-leads-in-circles", test_a_map_that_leads_in_circles);
    g_test_add_func("/target/loaded/reads-are-counted", test_reads_are_counted);
    return g_test_run();
}
