/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum {
    OUTPUT_STDOUT,
    OUTPUT_SPECIAL,  /* a pipe or device that was there */
    OUTPUT_NAMELESS, /* O_TMPFILE: gets its name on commit */
    OUTPUT_NAMED,    /* where the file system has no O_TMPFILE: removed unless committed */
} OutputKind;

struct _Output {
    OutputKind kind;
    char *path;
    int fd;
    gboolean committed;
};

enum {
    CHUNK = 256 * 1024,
    FILE_MODE = 0666, /* less the umask, as jemalloc's own dumps */
    DUMP_NAMES_MAX = 1000,
};

static gboolean
set_failed(GError **error, const char *path, int code)
{
    if (code == EEXIST)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "'%s' exists; remove it, or name another file with -o", path);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot write '%s': %s", path, g_strerror(code));
    return FALSE;
}

static int
open_existing(Output *output, const struct stat *st)
{
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) {
        errno = S_ISDIR(st->st_mode) ? EISDIR : EEXIST;
        return -1;
    }
    output->kind = OUTPUT_SPECIAL;
    return open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static int
open_new(Output *output)
{
    g_autofree char *directory = g_path_get_dirname(output->path);
    output->kind = OUTPUT_NAMELESS;
    int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    output->kind = OUTPUT_NAMED;
    return open(output->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
}

static int
open_path(Output *output)
{
    if (strcmp(output->path, "-") == 0) {
        output->kind = OUTPUT_STDOUT;
        return STDOUT_FILENO;
    }
    struct stat st;
    if (stat(output->path, &st) == 0)
        return open_existing(output, &st);
    return errno == ENOENT ? open_new(output) : -1;
}

Output *
output_open(const char *path, GError **error)
{
    Output opened = {.path = g_strdup(path)};
    opened.fd = open_path(&opened);
    if (opened.fd < 0) {
        set_failed(error, path, errno);
        g_free(opened.path);
        return NULL;
    }
    Output *output = g_new(Output, 1);
    *output = opened;
    return output;
}

static gboolean
write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR)
            return FALSE;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return TRUE;
}

gboolean
output_write(Output *output, const char *bytes, gsize length, GError **error)
{
    return write_all(output->fd, bytes, length) ||
           set_failed(error, output->kind == OUTPUT_STDOUT ? "standard output" : output->path, errno);
}

gboolean
output_copy(Output *output, int fd, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    ssize_t length;
    while ((length = read(fd, chunk, CHUNK)) > 0 || (length < 0 && errno == EINTR))
        if (length > 0 && !write_all(output->fd, chunk, (size_t)length))
            return set_failed(error, output->kind == OUTPUT_STDOUT ? "standard output" : output->path, errno);
    return length == 0 || set_failed(error, output->path, errno);
}

gboolean
output_commit(Output *output, GError **error)
{
    if (output->kind == OUTPUT_NAMELESS) {
        g_autofree char *nameless = g_strdup_printf("/proc/self/fd/%d", output->fd);
        if (linkat(AT_FDCWD, nameless, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) != 0)
            return set_failed(error, output->path, errno);
    }
    output->committed = TRUE;
    return TRUE;
}

void
output_free(Output *output)
{
    if (output == NULL)
        return;
    if (output->kind != OUTPUT_STDOUT)
        close(output->fd);
    if (output->kind == OUTPUT_NAMED && !output->committed)
        unlink(output->path);
    g_free(output->path);
    g_free(output);
}

const char *
output_path(const Output *output)
{
    return output->path;
}

char *
output_dump_name(const char *name, int pid)
{
    g_autofree char *base = g_strdup(name);
    g_strdelimit(base, "/ \t", '_');
    if (base[0] == '.' || base[0] == '-')
        base[0] = '_';
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *time = g_date_time_format(now, "%Y%m%dT%H%M%S");
    char *path = g_strdup_printf("%s.%d.%s.heap", base, pid, time);
    for (int again = 2; again < DUMP_NAMES_MAX && g_file_test(path, G_FILE_TEST_EXISTS); again++) {
        g_free(path);
        path = g_strdup_printf("%s.%d.%s.%d.heap", base, pid, time, again);
    }
    return path;
}
