/* SPDX-License-Identifier: Apache-2.0 */
/* extract-jem-stats: [FILE], by default the newest console log of Aerospike, becomes ./jemdata.py. */
#include "cli/command.h"
#include "cli/multicall.h"

#include "confine/confined.h"
#include "confine/input-file.h"
#include "confine/rights.h"
#include "stats/jemdata.h"
#include "text/printable.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char console_pattern[] = "/tmp/aerospike-console.*";
static const char data_name[] = "jemdata.py";

enum {
    EXIT_REFUSED = 255, /* the shell's exit -1 */
    FILE_MODE = 0666,   /* less the umask */
    LINE_SIZE = 65536,
    WAITING_MAX = 65536, /* bytes before they are written */
    DATA_MAX = 256 << 20,
};

static gint64
modified(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return G_MININT64;
    return (gint64)status.st_mtim.tv_sec * G_USEC_PER_SEC + status.st_mtim.tv_nsec / 1000;
}

/* The path of the newest console log, or NULL. */
static char *
newest_console(void)
{
    glob_t found;
    char *newest = NULL;
    if (glob(console_pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (newest == NULL || modified(found.gl_pathv[i]) > modified(newest))
            newest = found.gl_pathv[i];
    newest = g_strdup(newest);
    globfree(&found);
    return newest;
}

static int
print_usage(const char *program)
{
    printf("Usage:  %s {<JEMallocStatsFile>}\n"
           "  Extract JEMalloc statistics from the given file, which defaults to\n"
           "  the latest Aerospike server console log file.  Output is to the file\n"
           "  '%s' in the current working directory, suitable for processing\n"
           "  by the 'jem(abs|del|eff)' tools.\n",
           program, data_name);
    return EXIT_REFUSED;
}

/* ---- in the child: another user may have written the log ---- */

/* A log, of which LEFT bytes are read: its writer may go on without end. */
typedef struct {
    int fd;
    FILE *file;
    guint64 left;
} Log;

static int
next(Log *log)
{
    return log->left > 0 ? (log->left--, getc_unlocked(log->file)) : EOF;
}

static void
skip_line(Log *log)
{
    for (int c = next(log); c != EOF && c != '\n';)
        c = next(log);
}

/* The data, of which WAITING is still to be written. */
typedef struct {
    GOutputStream *out;
    GString *waiting;
    guint64 written;
} Data;

static gboolean
write_waiting(Data *data, GError **error)
{
    data->written += data->waiting->len;
    if (data->written > DATA_MAX) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "it has more than %d MiB of statistics; copy the part that is needed to a file of its own",
                    DATA_MAX >> 20);
        return FALSE;
    }
    const gboolean fine =
        g_output_stream_write_all(data->out, data->waiting->str, data->waiting->len, NULL, NULL, error);
    g_string_truncate(data->waiting, 0);
    return fine;
}

/* Only the beginning of a longer line is searched: the patterns are short. */
static gboolean
copy_lines(Log *log, Data *data, GError **error)
{
    g_autofree char *line = g_malloc(LINE_SIZE);
    g_string_append(data->waiting, JEMDATA_HEADER);
    for (int c = next(log); c != EOF; c = next(log)) {
        gsize length = 0;
        for (; c != EOF && c != '\n' && length < LINE_SIZE; c = next(log))
            line[length++] = (char)c;
        if (c != EOF && c != '\n')
            skip_line(log);
        jemdata_extract_line(line, length, data->waiting);
        if (data->waiting->len >= WAITING_MAX && !write_waiting(data, error))
            return FALSE;
    }
    if (!ferror(log->file))
        return write_waiting(data, error);
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s", g_strerror(errno));
    return FALSE;
}

static int
extract_data(gpointer log_to_read, GOutputStream *out, GError **error)
{
    Log *log = log_to_read;
    g_autoptr(GString) waiting = g_string_new(NULL);
    Data data = {.out = out, .waiting = waiting};
    log->file = fdopen(log->fd, "r");
    return log->file != NULL && copy_lines(log, &data, error) ? EXIT_SUCCESS : -1;
}

/* ---- in the process itself ---- */

/* In a directory of another user, that user's links, also hard ones, may be other names of any file. */
static int
open_data(void)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct stat status = {0};
    int fd = open(data_name, flags | O_NOFOLLOW, FILE_MODE);
    if (fd < 0 && errno == ELOOP && lstat(data_name, &status) == 0 && rights_are_trusted(status.st_uid))
        fd = open(data_name, flags, FILE_MODE);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 && ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    errno = status.st_nlink > 1 ? EMLINK : EINVAL;
    return -1;
}

/* Writes the whole of EXTRACTED, or leaves no part of it. */
static gboolean
write_data(int extracted)
{
    const int fd = open_data();
    if (fd < 0)
        return FALSE;
    const gboolean copied = transfer_copy(extracted, fd, DATA_MAX);
    const int code = errno;
    const gboolean emptied = copied || ftruncate(fd, 0) == 0;
    const gboolean closed = close(fd) == 0;
    if (copied)
        return closed;
    errno = emptied ? code : errno;
    return FALSE;
}

/* The number of bytes of FD to read. FALSE: another user's file says that it has more than any log, and they may be a
 * hole. */
static gboolean
find_size(int fd, guint64 *size, GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return FALSE;
    *size = (guint64)status.st_size;
    if (rights_are_trusted(status.st_uid) || *size <= INPUT_FILE_MAX_UNPACKED)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                "it belongs to another user and is larger than 4 GiB; copy the part that is needed");
    return FALSE;
}

static gboolean
extract(int fd, GError **error)
{
    Log log = {.fd = fd};
    ConfinedResult result;
    if (!find_size(fd, &log.left, error))
        return FALSE;
    const Confined confined = {
        .work = extract_data, .data = &log, .keep = &fd, .n_keep = 1, .seconds = input_file_seconds(fd)};
    const int status = confined_run(&confined, &result, error);
    if (confined.seconds != 0 && g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
        g_prefix_error(error, "a log of another user has %u s of processor time; copy the part that is needed: ",
                       confined.seconds);
    const gboolean done = status == EXIT_SUCCESS && write_data(result.output);
    g_free(result.words);
    if (result.output >= 0)
        close(result.output);
    return done;
}

static int
extract_file(const char *path)
{
    g_autoptr(GError) why = NULL;
    g_autofree char *name = text_printable(path);
    printf("Extracting data from %s....", name);
    fflush(stdout);
    const int fd = input_file_open(path, &why);
    const gboolean done = fd >= 0 && extract(fd, &why);
    g_autofree char *reason = text_printable(why != NULL ? why->message : strerror(errno));
    if (fd >= 0)
        close(fd);
    if (done) {
        puts("Done.");
        return EXIT_SUCCESS;
    }
    putchar('\n');
    fprintf(stderr, "extract-jem-stats: cannot write %s from %s: %s\n", data_name, name, reason);
    return EXIT_FAILURE;
}

int
extract_jem_stats_main(int argc, char **argv)
{
    if (argc > 2)
        return print_usage(argv[0]);
    command_supervise_files((char *const[]){argc < 2 ? (char *)(gsize)console_pattern : argv[1], NULL});
    g_autofree char *newest = argc < 2 ? newest_console() : NULL;
    const char *path = argc < 2 ? newest : argv[1];
    if (path == NULL) {
        fprintf(stderr, "extract-jem-stats: no file %s; name the file with the statistics\n", console_pattern);
        return EXIT_REFUSED;
    }
    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        g_autofree char *name = text_printable(path);
        printf("Error!  File %s not found!\n", name);
        return EXIT_REFUSED;
    }
    return extract_file(path);
}
