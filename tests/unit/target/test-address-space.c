/* SPDX-License-Identifier: Apache-2.0 */
#include "target/address-space.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static const char maps[] = "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon (deleted)\n"
                           "00651000-00652000 rw-p 00051000 08:02 173521      /usr/bin/dbus daemon (deleted)\n"
                           "nonsense\n"
                           "00e03000-00e02000 rw-p 00000000 00:00 0           [heap]\n"
                           "7ffe0000-7fff0000 rw-p 00000000 00:00 0           [stack]\n"
                           "7fff1000-7fff2000 ---p 00000000 00:00 0 \n";

static void
test_parse(void)
{
    g_autoptr(AddressSpace) space = address_space_parse(1, maps);
    g_assert_cmpuint(space->mappings->len, ==, 4);
    const Mapping *first = &g_array_index(space->mappings, Mapping, 0);
    g_assert_cmphex(first->start, ==, 0x400000);
    g_assert_cmphex(first->end, ==, 0x452000);
    g_assert_cmphex(first->offset, ==, 0x1000);
    g_assert_cmpuint(first->inode, ==, 173521);
    g_assert_true(first->device == makedev(8, 2));
    g_assert_cmpuint(first->flags, ==, MAPPING_READ | MAPPING_EXECUTE);
    g_assert_cmpstr(first->path, ==, "/usr/bin/dbus daemon (deleted)");
    g_autofree char *name = mapping_name(first);
    g_assert_cmpstr(name, ==, "dbus daemon");
    g_assert_cmpstr(g_array_index(space->mappings, Mapping, 3).path, ==, "");
    g_assert_cmpuint(g_array_index(space->mappings, Mapping, 3).flags, ==, 0);
}

static void
test_find(void)
{
    g_autoptr(AddressSpace) space = address_space_parse(1, maps);
    g_assert_null(address_space_find(space, 0x3fffff));
    g_assert_cmphex(address_space_find(space, 0x400000)->start, ==, 0x400000);
    g_assert_cmphex(address_space_find(space, 0x451fff)->start, ==, 0x400000);
    g_assert_null(address_space_find(space, 0x452000));
    g_assert_cmpstr(address_space_find(space, 0x7ffe8000)->path, ==, "[stack]");
    g_assert_null(address_space_find(space, G_MAXUINT64));
}

static void
test_memory(void)
{
    const gsize page = (gsize)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char bytes[16];
    g_assert_cmpint(mprotect(pages + page, page, PROT_NONE), ==, 0);
    memcpy(pages + page - 6, "short", 6);
    guint64 address = (guint64)(guintptr)pages + page;
    g_assert_false(remote_read(getpid(), address - 6, bytes, sizeof(bytes)));
    g_assert_cmpuint(remote_read_some(getpid(), address - 6, bytes, sizeof(bytes)), ==, 6);
    munmap(pages, 2 * page);
}

static void
test_descriptor(void)
{
    const gsize page = (gsize)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const guint64 end = (guint64)(guintptr)pages + page;
    char bytes[8];
    int memory = address_space_open(getpid());
    g_assert_cmpint(memory, >=, 0);
    g_assert_cmpint(munmap(pages + page, page), ==, 0);
    g_assert_true(address_space_write(memory, end - 6, "short", 6));
    g_assert_cmpstr(pages + page - 6, ==, "short");
    g_assert_false(address_space_write(memory, end - 1, "xy", 2));
    g_assert_true(address_space_read(memory, end - 6, bytes, 6));
    g_assert_false(address_space_read(memory, end - 6, bytes, 7));
    pages[page - 1] = '\0';
    g_autofree char *text = address_space_read_string(memory, end - 6, 100);
    g_assert_cmpstr(text, ==, "short");
    g_autofree char *cut = address_space_read_string(memory, end - 6, 3);
    g_assert_cmpstr(cut, ==, "sho");
    pages[page - 1] = 'x';
    g_assert_null(address_space_read_string(memory, end - 6, 100));
    g_assert_null(address_space_read_string(memory, end, 100));
    g_assert_null(address_space_read_string(memory, G_MAXUINT64 - 2, 100));
    close(memory);
    munmap(pages, page);
}

/* Names of files that a process maps, all with the same value of g_str_hash(): each letter pair "aB" or "b!". */
static void
append_colliding(GString *text, guint n)
{
    g_string_append_printf(text, "%x000-%x000 r--p 00000000 fe:00 %u /tmp/", n + 1, n + 2, n + 1);
    for (guint bit = 0; bit < 16; bit++)
        g_string_append(text, (n >> bit & 1) != 0 ? "b!" : "aB");
    g_string_append_c(text, '\n');
}

static void
test_colliding_names(void)
{
#ifdef __SANITIZE_ADDRESS__
    enum { MAPPINGS = 3000, MOST_S = 10 }; /* it makes splitting a text into lines take the square of its length */
#else
    enum { MAPPINGS = 65530, MOST_S = 10 };
#endif
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint n = 0; n < MAPPINGS; n++)
        append_colliding(text, n);
    const clock_t begun = clock();
    g_autoptr(AddressSpace) space = address_space_parse(getpid(), text->str);
    g_assert_cmpuint(space->mappings->len, ==, MAPPINGS);
    g_assert_cmpuint(g_str_hash(g_array_index(space->mappings, Mapping, 0).path), ==,
                     g_str_hash(g_array_index(space->mappings, Mapping, 1).path));
    g_assert_cmpint(clock() - begun, <, MOST_S * CLOCKS_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/address-space/parse", test_parse);
    g_test_add_func("/address-space/find", test_find);
    g_test_add_func("/address-space/colliding-names", test_colliding_names);
    g_test_add_func("/address-space/memory", test_memory);
    g_test_add_func("/address-space/descriptor", test_descriptor);
    return g_test_run();
}
