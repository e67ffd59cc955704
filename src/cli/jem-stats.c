/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/jem-stats.h"

#include "cli/command.h"
#include "confine/walk.h"
#include "text/printable.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VALUE_MAX = 99,     /* bytes */
    LOG_LINE_MAX = 999, /* bytes */
    FILE_MODE = 0666,   /* less the umask */
};

/* Bytes of all lines of a log with their dates: a line of the target's takes 45 or more, so that they are at most 1.5
 * million. The statistics of 256 arenas take a quarter. */
#define LOG_MAX ((gsize)64 << 20)

/* The option letters of malloc_stats_print(3), which ignores all others. */
static const char known_letters[] = "Jgmdablxeh";

typedef enum {
    PARAMETER_FILE,
    PARAMETER_OPTIONS,
    PARAMETER_SITES,
    PARAMETERS,
} Parameter;

static const char *const parameter_names[PARAMETERS] = {"file", "options", "sites"};

typedef struct {
    char *values[PARAMETERS]; /* NULL: not given */
} Parameters;

static void
clear_parameters(Parameters *parameters)
{
    for (gsize i = 0; i < PARAMETERS; i++)
        g_free(parameters->values[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Parameters, clear_parameters)

gboolean
jem_stats_is_message(const char *message)
{
    gsize length = strlen(JEM_STATS_COMMAND);
    return strncmp(message, JEM_STATS_COMMAND, length) == 0 && (message[length] == '\0' || message[length] == ':');
}

/* If a name is given twice, the first value counts. */
static void
take_parameter(Parameters *parameters, const char *text)
{
    const char *equals = strchr(text, '=');
    g_autofree char *name = g_strndup(text, equals != NULL ? (gsize)(equals - text) : strlen(text));
    gsize i = 0;
    while (i < PARAMETERS && strcmp(name, parameter_names[i]) != 0)
        i++;
    if (i == PARAMETERS || equals == NULL)
        command_say("warning: unknown parameter '%s' of " JEM_STATS_COMMAND
                    " ignored; known: file=PATH, options=LETTERS, sites=PATH",
                    text);
    else if (parameters->values[i] == NULL)
        parameters->values[i] = g_strdup(equals + 1);
}

static void
parse_message(Parameters *parameters, const char *message)
{
    const char *colon = strchr(message, ':');
    g_auto(GStrv) texts = g_strsplit(colon != NULL ? colon + 1 : "", ";", -1);
    for (char **text = texts; *text != NULL; text++)
        if (**text != '\0')
            take_parameter(parameters, *text);
}

/* Prints the reply of Aerospike 7.2 and newer to a value that cannot be used. */
static gboolean
check_parameters(const Parameters *parameters)
{
    for (gsize i = 0; i < PARAMETERS; i++) {
        const char *value = parameters->values[i];
        if (value == NULL || (*value != '\0' && strlen(value) <= VALUE_MAX))
            continue;
        if (*value == '\0')
            printf("ERROR:4:missing '%s' value\n", parameter_names[i]);
        else
            printf("ERROR:4:'%s' value too long\n", parameter_names[i]);
        return FALSE;
    }
    return TRUE;
}

/* "Nov 22 2026 04:26:14 GMT", whatever the locale. */
static char *
format_date(void)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    return g_strdup_printf("%.3s %02d %d %02d:%02d:%02d GMT", months + 3 * (g_date_time_get_month(now) - 1),
                           g_date_time_get_day_of_month(now), g_date_time_get_year(now), g_date_time_get_hour(now),
                           g_date_time_get_minute(now), g_date_time_get_second(now));
}

/* Prints LINE, of LENGTH bytes, as a line of a log, and returns the bytes that were printed. */
static gsize
log_line(FILE *log, const char *date, const char *line, gsize length)
{
    char shown[LOG_LINE_MAX + 1];
    const gsize size = MIN(length, LOG_LINE_MAX);
    memcpy(shown, line, size);
    /* Text written by a target must not control the terminal. */
    text_clean(shown, size + 1);
    const int printed = shown[0] != '\0' ? fprintf(log, "%s: INFO (alloc): %s\n", date, shown) : 0;
    return (gsize)MAX(printed, 0);
}

gsize
jem_stats_log(FILE *log, const char *text, gsize length)
{
    g_autofree char *date = format_date();
    const char *const end = text + length;
    gsize printed = 0;
    while (text < end && printed < LOG_MAX) {
        const char *feed = memchr(text, '\n', (gsize)(end - text));
        const char *line_end = feed != NULL ? feed : end;
        printed += log_line(log, date, text, (gsize)(line_end - text));
        text = feed != NULL ? feed + 1 : end;
    }
    return (gsize)(end - text);
}

static gboolean
log_statistics(const char *text, gsize length)
{
    const gsize left_out = jem_stats_log(stderr, text, length);
    if (left_out > 0)
        command_say("warning: the last %" G_GSIZE_FORMAT " bytes of the statistics are left out of the log; "
                    "with 'file=PATH' a file has all",
                    left_out);
    return left_out == 0;
}

/* Appends to an existing file; links and other than regular files are refused. */
static int
open_to_append(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    g_autofree char *parent = g_path_get_dirname(path), *name = g_path_get_basename(path);
    const int directory = walk_open_directory(parent, WALK_FAILS);
    int fd = directory >= 0 ? openat(directory, name, flags, FILE_MODE) : -1;
    const int code = errno;
    struct stat status;
    if (directory >= 0)
        close(directory);
    errno = code;
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static gboolean
append(const char *path, const char *text, gsize length)
{
    g_autofree char *date = format_date();
    int fd = open_to_append(path);
    FILE *file = fd >= 0 ? fdopen(fd, "a") : NULL;
    gboolean written = file != NULL && fprintf(file, "---------- %s ----------\n", date) >= 0 &&
                       fwrite(text, 1, length, file) == length;
    int code = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        written = FALSE;
        code = errno;
    }
    if (!written)
        command_say("warning: cannot write '%s': %s", path,
                    code == EINVAL  ? "not a regular file"
                    : code == ELOOP ? "a symbolic link"
                                    : walk_strerror(code));
    return written;
}

/* Each letter once: jemalloc reads them the same, and the text fits a target's limit. */
static void
reduce_letters(const char *options, char letters[static sizeof(known_letters)])
{
    gsize n = 0;
    for (const char *known = known_letters; *known != '\0'; known++)
        if (options != NULL && strchr(options, *known) != NULL)
            letters[n++] = *known;
    letters[n] = '\0';
}
G_STATIC_ASSERT(sizeof(known_letters) <= WIRE_LETTERS_MAX);

/* NULL with ERROR. The target cannot change what is mapped. */
static GMappedFile *
map_statistics(Target *target, const char *options, GError **error)
{
    char letters[sizeof(known_letters)];
    reduce_letters(options, letters);
    int fd = target_stats(target, letters, error);
    if (fd < 0)
        return NULL;
    GMappedFile *statistics = g_mapped_file_new_from_fd(fd, FALSE, error);
    close(fd);
    return statistics;
}

/* The server accounts for its own call sites when its debug-allocations is set; other programs have no such sites. */
static gboolean
append_sites(const char *path)
{
    fputs("jescope: warning: the target does not count call sites as an Aerospike server with debug-allocations does; "
          "'jescope report' shows where memory was allocated\n",
          stderr);
    return append(path, "", 0);
}

gboolean
jem_stats_run(Target *target, const char *message, GError **error)
{
    g_auto(Parameters) parameters = {{NULL}};
    parse_message(&parameters, message);
    if (!check_parameters(&parameters))
        return FALSE;
    const char *path = parameters.values[PARAMETER_FILE];
    const char *sites = parameters.values[PARAMETER_SITES];
    g_autoptr(GMappedFile) statistics = map_statistics(target, parameters.values[PARAMETER_OPTIONS], error);
    if (statistics == NULL)
        return FALSE;
    const char *text = g_mapped_file_get_contents(statistics);
    const gsize length = g_mapped_file_get_length(statistics);
    gboolean done = path == NULL ? log_statistics(text, length) : append(path, text, length);
    if (sites != NULL)
        done &= append_sites(sites);
    puts("ok");
    return done;
}
