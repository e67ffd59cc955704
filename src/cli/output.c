/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include "cli/command.h"
#include "confine/rights.h"
#include "confine/walk.h"
#include "text/printable.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum {
    OUTPUT_STDOUT,
    OUTPUT_SPECIAL,  /* an existing pipe or device */
    OUTPUT_NAMELESS, /* O_TMPFILE: gets its name on commit */
    OUTPUT_NAMED,    /* if the file system has no O_TMPFILE: removed unless committed */
} OutputKind;

struct _Output {
    OutputKind kind;
    char *path;
    int directory; /* of a new file, and its name there */
    char *name;
    int fd;
    gboolean committed;
};

enum {
    CHUNK = 256 * 1024,
    FILE_MODE = 0666, /* less the umask */
    PRIVATE_MODE = 0600,
    DUMP_NAMES_MAX = 1000,
    FOREIGN = EREMOTE, /* for set_failed(), as of walk.h: it belongs to another user */
};

static gboolean
set_failed(GError **error, const char *path, int code)
{
    if (code == EEXIST)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "'%s' exists; remove it, or name another file with -o", path);
    else if (code == FOREIGN)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "'%s' is a pipe or device of another user, or a link of his leads there; name another file with -o",
                    path);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot write '%s': %s", path, g_strerror(code));
    return FALSE;
}

/* Data written to another user's pipe would leak, and another user's link could have a device overwritten. */
static gboolean
is_foreign(const char *path, const Walk *walk)
{
    struct stat entry;
    return walk->led || lstat(path, &entry) != 0 || !rights_are_trusted(entry.st_uid);
}

/* Ensures that the checked file is the opened one, even if it is replaced meanwhile. */
static int
open_existing(Output *output)
{
    Walk walk;
    struct stat st;
    int fd = -1, code = walk_to(&walk, output->path, WALK_FAILS);
    if (code != 0) {
        errno = code;
    } else if (fstat(walk.at, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
    } else if (is_foreign(output->path, &walk)) {
        errno = FOREIGN;
    } else {
        g_autofree char *same = g_strdup_printf("/proc/self/fd/%d", walk.at);
        output->kind = OUTPUT_SPECIAL;
        fd = open(same, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }
    code = errno;
    walk_end(&walk);
    errno = code;
    return fd;
}

static int
open_new(Output *output, OutputAccess access)
{
    g_autofree char *directory = g_path_get_dirname(output->path);
    mode_t mode = access == OUTPUT_PRIVATE ? PRIVATE_MODE : FILE_MODE;
    output->directory = walk_open_directory(directory, WALK_FAILS);
    if (output->directory < 0)
        return -1;
    output->name = g_path_get_basename(output->path);
    output->kind = OUTPUT_NAMELESS;
    int fd = openat(output->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    output->kind = OUTPUT_NAMED;
    return openat(output->directory, output->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static int
open_path(Output *output, OutputAccess access)
{
    if (strcmp(output->path, "-") == 0) {
        output->kind = OUTPUT_STDOUT;
        return STDOUT_FILENO;
    }
    const int fd = open_existing(output);
    return fd < 0 && errno == ENOENT ? open_new(output, access) : fd;
}

static void
free_place(Output *output)
{
    if (output->directory >= 0)
        close(output->directory);
    g_free(output->name);
    g_free(output->path);
}

Output *
output_open(const char *path, OutputAccess access, GError **error)
{
    Output opened = {.path = g_strdup(path), .directory = -1};
    opened.fd = open_path(&opened, access);
    if (opened.fd < 0) {
        set_failed(error, path, errno);
        free_place(&opened);
        return NULL;
    }
    Output *output = g_new(Output, 1);
    *output = opened;
    return output;
}

gboolean
output_write(Output *output, const char *bytes, gsize length, GError **error)
{
    return transfer_write(output->fd, bytes, length) ||
           set_failed(error, output->kind == OUTPUT_STDOUT ? "standard output" : output->path, errno);
}

/* The length of the colour sequence that TEXT, at an ESC, begins with; 0: it is another sequence. */
static gsize
colour_length(const char *text, const char *end)
{
    const char *at = text + 1;
    if (at == end || *at++ != '[')
        return 0;
    while (at < end && (g_ascii_isdigit(*at) || *at == ';'))
        at++;
    return at < end && *at == 'm' ? (gsize)(at + 1 - text) : 0;
}

static gboolean
write_clean(int fd, const char *text, gsize length)
{
    g_autofree char *copy = g_malloc(length + 1);
    for (gsize i = 0; i < length; i++)
        copy[i] = text[i] != '\0' ? text[i] : '?';
    copy[length] = '\0';
    text_clean(copy, length + 1);
    return transfer_write(fd, copy, strlen(copy));
}

/* TEXT may come from a target or a reader that was taken over; only jescope's own colours are kept. */
static gboolean
write_to_terminal(int fd, const char *text, gsize length)
{
    const char *end = text + length, *next;
    for (; text < end; text = next) {
        const char *escape = memchr(text, '\x1b', (gsize)(end - text));
        gsize colour = escape != NULL ? colour_length(escape, end) : 0;
        next = escape == NULL ? end : escape + MAX(colour, 1);
        gsize others = (gsize)(next - text) - colour;
        if (!write_clean(fd, text, others) || !transfer_write(fd, text + others, colour))
            return FALSE;
    }
    return TRUE;
}

/* Up to the last complete line, if there is one: a character may continue in the next piece. */
static gsize
whole_lines(const char *text, gsize length)
{
    const char *last = memrchr(text, '\n', length);
    return last != NULL ? (gsize)(last + 1 - text) : length;
}

static gboolean
write_piece(const Output *output, const char *piece, gsize length)
{
    gboolean terminal = output->kind == OUTPUT_STDOUT && isatty(output->fd);
    return terminal ? write_to_terminal(output->fd, piece, length) : transfer_write(output->fd, piece, length);
}

gboolean
output_copy(Output *output, int fd, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    gsize kept = 0;
    ssize_t length;
    while ((length = read(fd, chunk + kept, CHUNK - kept)) > 0 || (length < 0 && errno == EINTR) || kept > 0) {
        gsize filled = kept + (gsize)MAX(length, 0);
        gsize written = length > 0 ? whole_lines(chunk, filled) : filled;
        if (length < 0 && errno != EINTR)
            break;
        if (!write_piece(output, chunk, written))
            return set_failed(error, output->kind == OUTPUT_STDOUT ? "standard output" : output->path, errno);
        kept = filled - written;
        memmove(chunk, chunk + written, kept);
    }
    return length == 0 || set_failed(error, output->path, errno);
}

gboolean
output_commit(Output *output, GError **error)
{
    if (output->kind == OUTPUT_NAMELESS) {
        g_autofree char *nameless = g_strdup_printf("/proc/self/fd/%d", output->fd);
        if (linkat(AT_FDCWD, nameless, output->directory, output->name, AT_SYMLINK_FOLLOW) != 0)
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
        unlinkat(output->directory, output->name, 0);
    free_place(output);
    g_free(output);
}

char *
output_dump_name(const char *name, int pid)
{
    g_autofree char *base = g_strdup(name[0] != '\0' ? name : "_"); /* a process may have no name */
    text_clean_line(base, strlen(base) + 1);
    g_strdelimit(base, "/ ?\t", '_');
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
