/* SPDX-License-Identifier: Apache-2.0 */
#include "target/libc-blocks.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    FLAGS = 7,     /* lowest bits of a size */
    IS_MAPPED = 2, /* the only flag of such a block */
};

typedef struct {
    guint64 before; /* unused bytes before it, for its alignment */
    guint64 size;   /* with flags */
} Header;

/* The length of the block with HEADER, at most MOST; 0 if HEADER is not that of a block. */
static guint64
length_of(const Header *header, guint64 most)
{
    guint64 size = header->size & ~(guint64)FLAGS;
    gboolean fits = (header->size & FLAGS) == IS_MAPPED && size <= most && header->before < size &&
                    (size + header->before) % PAGE == 0;
    return fits && size + header->before <= most ? size + header->before : 0;
}

/* Adds the blocks of a range, which may be adjacent since the kernel merges adjacent mappings. FALSE if there is no
 * time left. */
static gboolean
add_range(int memory, const MappingRange *range, gint64 until_us, guint64 *bytes)
{
    guint64 found = 0, length;
    for (guint64 at = range->start; at < range->end; at += length, found += length) {
        Header header;
        if (g_get_monotonic_time() >= until_us)
            return FALSE;
        length = pread(memory, &header, sizeof(header), (off_t)at) == sizeof(header)
                     ? length_of(&header, range->end - at)
                     : 0;
        if (length == 0)
            break;
    }
    *bytes += MIN(found, range->bytes);
    return TRUE;
}

gboolean
libc_blocks_read(pid_t pid, const Mappings *mappings, gint64 time_us, guint64 *bytes)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/mem", (int)pid);
    gint64 until_us = g_get_monotonic_time() + time_us;
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    gboolean read = memory >= 0;
    guint64 found = 0;
    for (guint i = 0; read && i < mappings->anonymous.n; i++)
        read = add_range(memory, &mappings->anonymous.ranges[i], until_us, &found);
    if (memory >= 0)
        close(memory);
    if (read)
        *bytes = found;
    return read;
}
