/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a hostile process: ELF headers, r_debug, link map, dynamic sections and notes. The input is that
 * memory: process_vm_readv() is replaced by a function that reads it. The mappings are invented, and the pid is above
 * the kernel's maximum, so that no file is opened.
 */
#include "target/loaded.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY G_GUINT64_CONSTANT(0x200000000000)

enum {
    MEMORY_SIZE = 0x6000,
    NO_PID = 1 << 23, /* PID_MAX_LIMIT is 2^22 */
};

/* The program, two libraries, one of them deleted, and anonymous memory. */
static const char maps[] = "200000000000-200000001000 r--p 00000000 08:01 7 /nonexistent/program\n"
                           "200000001000-200000003000 r--p 00000000 08:01 8 /nonexistent/library.so\n"
                           "200000003000-200000004000 r--p 00000000 08:01 9 /nonexistent/gone.so (deleted)\n"
                           "200000004000-200000005000 r-xp 00001000 08:01 9 /nonexistent/gone.so (deleted)\n"
                           "200000005000-200000006000 rw-p 00000000 00:00 0\n";

static struct {
    const uint8_t *bytes;
    size_t size;
} memory;

/* Pages after the input are readable and zero. */
ssize_t
process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local, const struct iovec *remote,
                 unsigned long n_remote, unsigned long flags)
{
    guint64 at = (guint64)(guintptr)remote->iov_base - MEMORY;
    if (at >= MEMORY_SIZE) {
        errno = EFAULT;
        return -1;
    }
    size_t n = MIN(local->iov_len, (size_t)(MEMORY_SIZE - at));
    size_t given = at < memory.size ? MIN(n, memory.size - (size_t)at) : 0;
    memset(local->iov_base, 0, n);
    if (given > 0)
        memcpy(local->iov_base, memory.bytes + at, given);
    return (ssize_t)n;
}

static void
look_at(const AddressSpace *space, const LoadedObject *object)
{
    Dynamic dynamic;
    char name[DYNAMIC_NAME_MAX];
    loaded_is_deleted(object);
    g_assert_cmpint(loaded_open(space, object), <, 0);
    g_assert_cmpint(loaded_open_debug(space, object), <, 0);
    if (!loaded_dynamic(space, object, &dynamic))
        return;
    dynamic_function(&dynamic, "mallctl");
    dynamic_name(&dynamic, MEMORY + MEMORY_SIZE / 2, name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memory.bytes = data;
    memory.size = MIN(size, (size_t)MEMORY_SIZE);
    g_autoptr(AddressSpace) space = address_space_parse(NO_PID, maps);
    g_autoptr(GArray) objects = loaded_objects_from(space, MEMORY + sizeof(Elf64_Ehdr));
    for (guint i = 0; i < MIN(objects->len, 4u); i++)
        look_at(space, &g_array_index(objects, LoadedObject, i));
    return 0;
}
