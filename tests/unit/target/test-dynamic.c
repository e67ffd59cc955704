/* SPDX-License-Identifier: Apache-2.0 */
#include "target/dynamic.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

static const char *agent_path;

static gboolean
read_memory(gpointer data, guint64 address, void *bytes, gsize n)
{
    int *memory = data;
    return pread(*memory, bytes, n, (off_t)address) == (ssize_t)n;
}

static int
find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    guint64 *base = data;
    if (strstr(info->dlpi_name, "libc.so.6") == NULL)
        return 0;
    *base = info->dlpi_addr;
    return 1;
}

/* The C library of this process, out of its memory. */
static Dynamic
open_libc(int *memory)
{
    Dynamic image = {.read = read_memory, .data = memory};
    *memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    dl_iterate_phdr(find_libc, &image.base);
    g_assert_true(dynamic_open(&image));
    return image;
}

static GBytes *
agent_bytes(void)
{
    char *contents;
    gsize length;
    g_assert_true(g_file_get_contents(agent_path, &contents, &length, NULL));
    return g_bytes_new_take(contents, length);
}

static void
test_in_memory(void)
{
    int memory;
    Dynamic image = open_libc(&memory);
    g_assert_cmphex(dynamic_function(&image, "gnu_get_libc_version"), ==, (guint64)(guintptr)gnu_get_libc_version);
    g_assert_cmphex(dynamic_function(&image, "dlopen"), !=, 0);
    g_assert_cmphex(dynamic_function(&image, "jescope_no_such_function"), ==, 0);
    g_assert_cmphex(dynamic_function(&image, "environ"), ==, 0); /* no function */
    close(memory);
}

static void
test_versions_given(void)
{
    int memory;
    Dynamic image = open_libc(&memory);
    g_autofree char *own = g_strdup_printf("GLIBC_%s", gnu_get_libc_version());
    g_assert_true(dynamic_gives(&image, own));
    g_assert_false(dynamic_gives(&image, "GLIBC_9.99"));
    g_assert_false(dynamic_gives(&image, ""));
    close(memory);
}

static void
test_file(void)
{
    g_autoptr(GBytes) bytes = agent_bytes();
    Dynamic agent = {.read = dynamic_read_file, .data = bytes};
    g_assert_true(dynamic_open(&agent));
    g_assert_cmphex(dynamic_function(&agent, "jescope_agent_enter"), !=, 0);
    g_auto(GStrv) needs = dynamic_needs(&agent, "libc.so.6");
    g_assert_cmpuint(g_strv_length(needs), >, 1);
    int memory;
    Dynamic libc = open_libc(&memory);
    for (char **need = needs; *need != NULL; need++)
        g_assert_true(dynamic_gives(&libc, *need));
    g_auto(GStrv) none = dynamic_needs(&agent, "libnothing.so.1");
    g_assert_cmpuint(g_strv_length(none), ==, 0);
    close(memory);
}

/* Whatever is missing or wrong, the answer is no. */
static void
test_broken(void)
{
    g_autoptr(GBytes) whole = agent_bytes();
    gsize size;
    const char *data = g_bytes_get_data(whole, &size);
    for (gsize length = 0; length < size; length += length < 1024 ? 1 : 997) {
        g_autoptr(GBytes) part = g_bytes_new(data, length);
        Dynamic image = {.read = dynamic_read_file, .data = part};
        if (!dynamic_open(&image))
            continue;
        dynamic_function(&image, "jescope_agent_enter");
        g_strfreev(dynamic_needs(&image, "libc.so.6"));
    }
    for (gsize at = 0; at < 1024; at++) {
        g_autofree char *copy = g_memdup2(data, size);
        copy[at] ^= 0x55;
        g_autoptr(GBytes) changed = g_bytes_new_take(g_steal_pointer(&copy), size);
        Dynamic image = {.read = dynamic_read_file, .data = changed};
        if (dynamic_open(&image))
            dynamic_function(&image, "jescope_agent_enter");
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    agent_path = argc > 1 ? argv[1] : g_getenv("JESCOPE_AGENT");
    g_test_add_func("/target/dynamic/in-memory", test_in_memory);
    g_test_add_func("/target/dynamic/versions-given", test_versions_given);
    g_test_add_func("/target/dynamic/file", test_file);
    g_test_add_func("/target/dynamic/broken", test_broken);
    return g_test_run();
}
