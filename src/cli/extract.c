/* SPDX-License-Identifier: Apache-2.0 */
/* extract-jem-stats: [FILE], by default the newest console log of Aerospike, becomes ./jemdata.py. */
#include "cli/multicall.h"

#include "confine/input-file.h"
#include "stats/jemdata.h"
#include "text/printable.h"

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

/* A log, of which SIZE bytes are read: its writer may go on without end. */
typedef struct {
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

/* Only the beginning of a longer line is searched: the patterns are short. */
static gboolean
copy_lines(Log *log, FILE *to)
{
    g_autofree char *line = g_malloc(LINE_SIZE);
    g_autoptr(GString) out = g_string_new(NULL);
    fputs(JEMDATA_HEADER, to);
    for (int c = next(log); c != EOF; c = next(log)) {
        gsize length = 0;
        for (; c != EOF && c != '\n' && length < LINE_SIZE; c = next(log))
            line[length++] = (char)c;
        if (c != EOF && c != '\n')
            skip_line(log);
        g_string_truncate(out, 0);
        jemdata_extract_line(line, length, out);
        fwrite(out->str, 1, out->len, to);
    }
    return !ferror(log->file) && !ferror(to);
}

/* In a directory of another user, that user's links may point to any file. */
static FILE *
open_data(void)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct stat status;
    int fd = open(data_name, flags | O_NOFOLLOW, FILE_MODE);
    if (fd < 0 && errno == ELOOP && lstat(data_name, &status) == 0 &&
        (status.st_uid == 0 || status.st_uid == geteuid()))
        fd = open(data_name, flags, FILE_MODE);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd, 0) == 0)
        return fdopen(fd, "w");
    close(fd);
    errno = EINVAL;
    return NULL;
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
    if (status.st_uid == 0 || status.st_uid == geteuid() || *size <= INPUT_FILE_MAX_UNPACKED)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                "it belongs to another user and is larger than 4 GiB; copy the part that is needed");
    return FALSE;
}

static gboolean
extract(FILE *from, GError **error)
{
    Log log = {.file = from};
    FILE *to = find_size(fileno(from), &log.left, error) ? open_data() : NULL;
    if (to == NULL)
        return FALSE;
    gboolean copied = copy_lines(&log, to);
    return fclose(to) == 0 && copied;
}

static int
extract_file(const char *path)
{
    g_autoptr(GError) why = NULL;
    g_autofree char *name = text_printable(path);
    printf("Extracting data from %s....", name);
    fflush(stdout);
    const int fd = input_file_open(path, &why);
    FILE *from = fd >= 0 ? fdopen(fd, "r") : NULL;
    const gboolean done = from != NULL && extract(from, &why);
    const char *reason = why != NULL ? why->message : strerror(errno);
    if (from != NULL)
        fclose(from);
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
