/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-file.h"

#include "target/output-pages.h"
#include "target/own-room.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STAT_BLOCK = 512, /* unit of st_blocks */
    PIECE = 4 << 20,  /* bytes that are in both files while they are moved */
};

int
output_file_new(GError **error)
{
    int fd = memfd_create("jescope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot create a memory file: %s", g_strerror(errno));
    return fd;
}

static gboolean
check_size(guint64 bytes, const OutputWriter *writer, GError **error)
{
    if (bytes <= writer->limit)
        return TRUE;
    g_autofree char *allowed = g_format_size_full(writer->limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_TOO_LARGE,
                "%s wrote more than the limit of %s; raise the limit with --max-output (over HTTP: max-output=SIZE)",
                writer->label, allowed);
    return FALSE;
}

gboolean
output_file_check_size(int fd, const OutputWriter *writer, GError **error)
{
    struct stat st;
    return fstat(fd, &st) != 0 || check_size((guint64)st.st_size, writer, error);
}

static gboolean
set_malformed(const char *label, const char *what, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                "%s returned %s; its agent is from another version of jescope, or the process is hostile", label, what);
    return FALSE;
}

gboolean
output_file_check(int fd, guint64 bytes, const OutputWriter *writer, GError **error)
{
    const char *label = writer->label;
    struct stat st;
    if (fstat(fd, &st) != 0)
        return set_malformed(label, "a memory file that cannot be examined", error);
    guint64 size = (guint64)st.st_size;
    if (bytes == 0 || size != bytes) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                    "%s reports %" G_GUINT64_FORMAT " bytes, but wrote %" G_GUINT64_FORMAT, label, bytes, size);
        return FALSE;
    }
    /* A sparse file costs the target nothing, but its readers much. */
    if ((guint64)st.st_blocks * STAT_BLOCK < size)
        return set_malformed(label, "a memory file with holes", error);
    return check_size(size, writer, error);
}

static int
reopen(int fd, const char *label, GError **error)
{
    g_autofree char *path = g_strdup_printf("/proc/thread-self/fd/%d", fd);
    int own = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* the target may have a lease on the file */
    if (own < 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot open the output of %s: %s", label, g_strerror(errno));
    return own;
}

/* Moves SIZE bytes, from the end to the beginning: each piece is freed once it was copied. FALSE with errno, ENOMEM if
 * this process has too little memory left for more than one of them. */
static gboolean
move(int from, int to, guint64 size)
{
    g_autofree char *piece = g_malloc(PIECE);
    for (guint64 end = size; end > 0;) {
        const guint64 begin = (end - 1) / PIECE * PIECE;
        if (begin > 0 && !own_room_is_left("/proc", "/sys/fs/cgroup")) {
            errno = ENOMEM;
            return FALSE;
        }
        for (guint64 at = begin; at < end;) {
            const ssize_t got = pread(from, piece, (gsize)(end - at), (off_t)at);
            if (got <= 0 || pwrite(to, piece, (gsize)got, (off_t)at) != got)
                return FALSE;
            at += (guint64)got;
        }
        if (ftruncate(from, (off_t)begin) != 0)
            return FALSE;
        end = begin;
    }
    return TRUE;
}

static int
move_to_own(int fd, guint64 size, const char *label, GError **error)
{
    const int own = output_file_new(error);
    if (own < 0 || move(fd, own, size))
        return own;
    if (errno == ENOMEM)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                    "there is too little memory left for the output of %s in the control group of jescope, or on the "
                    "machine; try again later, or raise the limit of the group",
                    label);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot take the output of %s: %s", label, g_strerror(errno));
    close(own);
    return -1;
}

int
output_file_take(int fd, guint64 bytes, const OutputWriter *writer, uid_t user, GError **error)
{
    int own = -1;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW) != 0)
        set_malformed(writer->label, "a memory file that it still has mapped, or has sealed", error);
    else if ((fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0)
        set_malformed(writer->label, "a memory file that it has sealed", error);
    else if (output_file_check(fd, bytes, writer, error))
        own = move_to_own(fd, bytes, writer->label, error);
    if (own >= 0)
        close(fd);
    else if (!output_file_discard(fd))
        output_pages_distrust(user);
    return own;
}

int
output_file_seal(int fd, const char *label, GError **error)
{
    if (fd < 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
        return fd;
    const int own = reopen(fd, label, error);
    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    close(fd);
    return own;
}

gboolean
output_file_discard(int fd)
{
    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
    const gboolean freed = ftruncate(fd, 0) == 0;
    close(fd);
    return freed;
}
