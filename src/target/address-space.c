/* SPDX-License-Identifier: Apache-2.0 */
#include "target/address-space.h"

#include "target/memory-map.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

static const char deleted[] = " (deleted)";

enum {
    FLAGS_LENGTH = 4, /* "r-xp" */
    PAGE = 4096,      /* the smallest page size: strings are read up to the end of a page */
};

static void
add_line(AddressSpace *space, const char *line)
{
    Mapping mapping = {0};
    char flags[FLAGS_LENGTH + 1];
    unsigned major_number;
    unsigned minor_number;
    int path = 0;
    if (sscanf(line,
               "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x %4s %" G_GINT64_MODIFIER "x %x:%x %" G_GUINT64_FORMAT
               " %n",
               &mapping.start, &mapping.end, flags, &mapping.offset, &major_number, &minor_number, &mapping.inode,
               &path) != 7 ||
        strlen(flags) != FLAGS_LENGTH || mapping.end <= mapping.start)
        return;
    mapping.flags = (flags[0] == 'r' ? MAPPING_READ : 0u) | (flags[1] == 'w' ? MAPPING_WRITE : 0u) |
                    (flags[2] == 'x' ? MAPPING_EXECUTE : 0u);
    mapping.device = makedev(major_number, minor_number);
    mapping.path = string_pool_insert(space->paths, path > 0 ? line + path : "");
    g_array_append_val(space->mappings, mapping);
}

static AddressSpace *
new_space(pid_t pid)
{
    AddressSpace *space = g_new0(AddressSpace, 1);
    space->pid = pid;
    space->reads_left = ADDRESS_SPACE_READS;
    space->mappings = g_array_new(FALSE, FALSE, sizeof(Mapping));
    space->paths = string_pool_new();
    return space;
}

AddressSpace *
address_space_parse(pid_t pid, const char *maps)
{
    AddressSpace *space = new_space(pid);
    g_auto(GStrv) lines = g_strsplit(maps, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        add_line(space, *line);
    return space;
}

static gboolean
take_line(char *line, gpointer data)
{
    add_line(data, line);
    return TRUE;
}

AddressSpace *
address_space_new(pid_t pid, GError **error)
{
    g_autoptr(AddressSpace) space = new_space(pid);
    switch (memory_map_read(pid, MEMORY_MAP_MAX, take_line, space)) {
    case MEMORY_MAP_DENIED:
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "permission denied reading the memory map of process %d; run jescope as root", (int)pid);
        return NULL;
    case MEMORY_MAP_GONE:
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "process %d has ended", (int)pid);
        return NULL;
    case MEMORY_MAP_TOO_LARGE:
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                    "the memory map of process %d has more than %d MiB of text; restart it under 'jescope run'",
                    (int)pid, MEMORY_MAP_MAX >> 20);
        return NULL;
    default:
        return g_steal_pointer(&space);
    }
}

void
address_space_free(AddressSpace *space)
{
    if (space == NULL)
        return;
    g_array_unref(space->mappings);
    string_pool_free(space->paths);
    g_free(space);
}

const Mapping *
address_space_find(const AddressSpace *space, guint64 address)
{
    guint low = 0;
    guint high = space->mappings->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, middle);
        if (address < mapping->start)
            high = middle;
        else if (address >= mapping->end)
            low = middle + 1;
        else
            return mapping;
    }
    return NULL;
}

const Mapping *
address_space_first(const AddressSpace *space, const Mapping *mapping)
{
    const Mapping *begin = (const Mapping *)(void *)space->mappings->data;
    for (const Mapping *one = mapping; one >= begin; one--) {
        /* The vdso is not a file and is contiguous. */
        gboolean same =
            one == mapping || (mapping->inode != 0 && one->inode == mapping->inode && one->device == mapping->device);
        if (same && one->offset == 0)
            return one;
    }
    return NULL;
}

char *
mapping_name(const Mapping *mapping)
{
    const char *slash = strrchr(mapping->path, '/');
    const char *name = slash != NULL ? slash + 1 : mapping->path;
    gsize length = strlen(name);
    if (g_str_has_suffix(name, deleted))
        length -= strlen(deleted);
    return g_strndup(name, length);
}

int
address_space_open(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/mem", (int)pid);
    return open(path, O_RDWR | O_CLOEXEC);
}

gboolean
address_space_read(int memory, guint64 address, void *bytes, gsize length)
{
    errno = EFAULT; /* also if the program has ended */
    return pread(memory, bytes, length, (off_t)address) == (ssize_t)length;
}

gboolean
address_space_write(int memory, guint64 address, const void *bytes, gsize length)
{
    errno = EFAULT;
    return pwrite(memory, bytes, length, (off_t)address) == (ssize_t)length;
}

/* A read ends before memory that is not mapped. */
char *
address_space_read_string(int memory, guint64 address, gsize limit)
{
    g_autofree char *text = g_malloc(limit + 1);
    errno = EFAULT;
    ssize_t got = pread(memory, text, limit, (off_t)address);
    if (got < 0 || (memchr(text, '\0', (gsize)got) == NULL && (gsize)got < limit))
        return NULL;
    text[got] = '\0';
    return g_steal_pointer(&text);
}

gsize
remote_read_some(pid_t pid, guint64 address, void *bytes, gsize length)
{
    struct iovec here = {.iov_base = bytes, .iov_len = length};
    struct iovec there = {.iov_base = (void *)(guintptr)address, .iov_len = length}; // NOLINT: an address over there
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got > 0 ? (gsize)got : 0;
}

gboolean
remote_read(pid_t pid, guint64 address, void *bytes, gsize length)
{
    errno = EFAULT;
    return remote_read_some(pid, address, bytes, length) == length;
}
