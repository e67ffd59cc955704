/* SPDX-License-Identifier: Apache-2.0 */
#include "target/dump-maps.h"

#include "target/memory-map.h"
#include "target/output-file.h"
#include "target/target.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char heading[] = "\nMAPPED_LIBRARIES:\n"; /* jemalloc, src/prof_sys.c */

enum {
    PIECE = 256 * 1024,
    OVERLAP = sizeof(heading) - 2, /* bytes of a heading that may extend into the next piece */
};

static gboolean
read_at(int fd, char *bytes, gsize length, guint64 offset)
{
    for (gsize done = 0; done < length;) {
        ssize_t got = pread(fd, bytes + done, length - done, (off_t)(offset + done));
        if (got <= 0)
            return FALSE;
        done += (gsize)got;
    }
    return TRUE;
}

/* Searches from the end, where the list is. */
static gboolean
has_list(int fd, guint64 size)
{
    g_autofree char *piece = g_malloc(PIECE + OVERLAP);
    for (guint64 end = size; end > 0;) {
        guint64 begin = end > PIECE ? end - PIECE : 0;
        gsize length = (gsize)MIN(end - begin + OVERLAP, size - begin);
        if (!read_at(fd, piece, length, begin) || memmem(piece, length, heading, sizeof(heading) - 1) != NULL)
            return TRUE;
        end = begin;
    }
    return FALSE;
}

/* Whether the list was begun, but is empty, since jemalloc could not read it. */
static gboolean
ends_with_heading(int fd, guint64 size)
{
    char end[sizeof(heading) - 1];
    return size >= sizeof(end) && read_at(fd, end, sizeof(end), size - sizeof(end)) &&
           memcmp(end, heading, sizeof(end)) == 0;
}

/* Appends the list in place: a copy would take as much memory again. Takes ownership of FD. */
static int
with_list(int fd, guint64 size, const char *maps, const OutputWriter *writer, GError **error)
{
    if (lseek(fd, (off_t)size, SEEK_SET) == (off_t)size && transfer_write(fd, heading, sizeof(heading) - 1) &&
        transfer_write(fd, maps, strlen(maps)) && lseek(fd, 0, SEEK_SET) == 0) {
        if (output_file_check_size(fd, writer, error))
            return fd;
    } else {
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot add the mapped files to the dump of %s: %s",
                    writer->label, g_strerror(errno));
    }
    close(fd);
    return -1;
}

static gboolean
add_line(char *line, gpointer data)
{
    GString *maps = data;
    g_string_append(maps, line);
    g_string_append_c(maps, '\n');
    return TRUE;
}

int
dump_maps_complete(int fd, const Process *found, const OutputWriter *writer, GError **error)
{
    struct stat st;
    g_autoptr(GString) maps = g_string_new(NULL);
    if (fstat(fd, &st) != 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        return fd;
    guint64 size = (guint64)st.st_size;
    if (ends_with_heading(fd, size))
        size -= sizeof(heading) - 1;
    else if (has_list(fd, size))
        return fd;
    /* An incomplete list is not added: the reader reports a missing list, but could not detect a truncated one. */
    if (memory_map_read_file(found, REACH_MAPS, MEMORY_MAP_MAX, add_line, maps) != MEMORY_MAP_READ || maps->len == 0)
        return fd;
    return with_list(fd, size, maps->str, writer, error);
}
