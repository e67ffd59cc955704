/* SPDX-License-Identifier: Apache-2.0 */
#include "target/memory-map.h"

#include "target/reach-open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER_SIZE = 64 << 10, /* several lines: a path has at most 4095 bytes, four times that if escaped */
};

typedef struct {
    MemoryMapFunc each;
    gpointer data;
    gsize filled;
    char bytes[BUFFER_SIZE + 1];
} Buffer;

/* Passes complete lines to the callback and keeps the rest. A line that fills the buffer is truncated. */
static gboolean
take_lines(Buffer *buffer)
{
    char *line = buffer->bytes;
    char *end;
    buffer->bytes[buffer->filled] = '\0';
    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        if (!buffer->each(line, buffer->data))
            return FALSE;
        line = end + 1;
    }
    buffer->filled -= (gsize)(line - buffer->bytes);
    memmove(buffer->bytes, line, buffer->filled);
    if (buffer->filled < BUFFER_SIZE)
        return TRUE;
    buffer->bytes[BUFFER_SIZE] = '\0';
    buffer->filled = 0;
    return buffer->each(buffer->bytes, buffer->data);
}

static MemoryMapEnd
read_lines(int fd, gsize limit, Buffer *buffer)
{
    for (gsize total = 0; total < limit;) {
        ssize_t got = read(fd, buffer->bytes + buffer->filled, BUFFER_SIZE - buffer->filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? MEMORY_MAP_READ : errno == ESRCH ? MEMORY_MAP_GONE : MEMORY_MAP_DENIED;
        total += (gsize)got;
        buffer->filled += (gsize)got;
        if (!take_lines(buffer))
            return MEMORY_MAP_STOPPED;
    }
    return MEMORY_MAP_TOO_LARGE;
}

/* Takes ownership of FD, which may be -1 with errno. */
static MemoryMapEnd
read_list(int fd, gsize limit, MemoryMapFunc each, gpointer data)
{
    if (fd < 0)
        return errno == EACCES || errno == EPERM ? MEMORY_MAP_DENIED : MEMORY_MAP_GONE;
    g_autofree Buffer *buffer = g_new(Buffer, 1);
    buffer->each = each;
    buffer->data = data;
    buffer->filled = 0;
    MemoryMapEnd end = read_lines(fd, limit, buffer);
    close(fd);
    return end;
}

MemoryMapEnd
memory_map_read_list(pid_t pid, const char *list, gsize limit, MemoryMapFunc each, gpointer data)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, list);
    return read_list(open(path, O_RDONLY | O_CLOEXEC), limit, each, data);
}

MemoryMapEnd
memory_map_read_file(const Process *found, ReachFile file, gsize limit, MemoryMapFunc each, gpointer data)
{
    return read_list(reach_open(found, file), limit, each, data);
}

MemoryMapEnd
memory_map_read(pid_t pid, gsize limit, MemoryMapFunc each, gpointer data)
{
    Process found;
    return process_look(pid, &found) ? memory_map_read_file(&found, REACH_MAPS, limit, each, data) : MEMORY_MAP_GONE;
}
