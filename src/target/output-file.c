/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-file.h"

#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_BLOCK = 512 }; /* unit of st_blocks */

int
output_file_new(GError **error)
{
    int fd = memfd_create("jescope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot create a memory file: %s", g_strerror(errno));
    return fd;
}

gboolean
output_file_check_bytes(guint64 bytes, const OutputWriter *writer, GError **error)
{
    if (bytes <= writer->limit)
        return TRUE;
    g_autofree char *allowed = g_format_size_full(writer->limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_TOO_LARGE, "%s wrote more than the limit of %s%s", writer->label, allowed,
                writer->is_statistics && writer->limit == TARGET_STATISTICS_MAX
                    ? " for statistics; omit sections of them with --options (over HTTP: options=LETTERS)"
                    : "; raise the limit with --max-output (over HTTP: max-output=SIZE)");
    return FALSE;
}

gboolean
output_file_check_size(int fd, const OutputWriter *writer, GError **error)
{
    struct stat st;
    return fstat(fd, &st) != 0 || output_file_check_bytes((guint64)st.st_size, writer, error);
}

gboolean
output_file_set_malformed(const char *label, const char *what, GError **error)
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
        return output_file_set_malformed(label, "a memory file that cannot be examined", error);
    guint64 size = (guint64)st.st_size;
    if (bytes == 0 || size != bytes) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                    "%s reports %" G_GUINT64_FORMAT " bytes, but wrote %" G_GUINT64_FORMAT, label, bytes, size);
        return FALSE;
    }
    /* A sparse file costs the target nothing, but its readers much. */
    if ((guint64)st.st_blocks * STAT_BLOCK < size)
        return output_file_set_malformed(label, "a memory file with holes", error);
    return output_file_check_bytes(size, writer, error);
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
