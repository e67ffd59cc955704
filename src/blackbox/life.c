/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/life.h"

#include "blackbox/files.h"
#include "blackbox/record.h"
#include "confine/rights.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECORDS_MAX = 128 << 20, /* bytes of records that are read in a directory of another user, */
    RECORD_LEAST = 4096,     /* where a life or a record counts as this much at least */
};

/* The reading of a directory. */
typedef struct {
    GPtrArray *left_out; /* messages; NULL: not wanted */
    gsize most, read;    /* bytes */
} Reading;

char *
blackbox_life_id(const BlackboxLife *life)
{
    return g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)life->pid, life->start_time);
}

void
blackbox_life_free(BlackboxLife *life)
{
    if (life == NULL)
        return;
    g_free(life->directory);
    g_free(life->name);
    g_free(life->boot);
    g_clear_pointer(&life->snapshots, g_ptr_array_unref);
    g_free(life);
}

static void
free_life(gpointer life)
{
    blackbox_life_free(life);
}

static void
free_snapshot(gpointer snapshot)
{
    blackbox_snapshot_free(snapshot);
}

char *
blackbox_default_directory(void)
{
    const char *chosen = g_getenv("JESCOPE_BLACKBOX");
    if (chosen != NULL && chosen[0] != '\0')
        return g_strdup(chosen);
    g_autofree char *state = rights_state_directory();
    return g_build_filename(state, "jescope", "blackbox", NULL);
}

#define SERVER_DIRECTORY "/var/lib/jescope-serve/blackbox"

char *
blackbox_server_directory(void)
{
    const char *chosen = g_getenv("JESCOPE_BLACKBOX");
    return geteuid() == 0 && (chosen == NULL || chosen[0] == '\0') ? g_strdup(SERVER_DIRECTORY)
                                                                   : blackbox_default_directory();
}

char **
blackbox_directories(void)
{
    g_autoptr(GStrvBuilder) directories = g_strv_builder_new();
    g_autofree char *own = blackbox_default_directory();
    g_strv_builder_add(directories, own);
    if (g_getenv("JESCOPE_BLACKBOX") == NULL && access(SERVER_DIRECTORY, R_OK | X_OK) == 0)
        g_strv_builder_add(directories, SERVER_DIRECTORY);
    return g_strv_builder_end(directories);
}

static void
leave_out(const Reading *reading, const char *path, const GError *error)
{
    if (reading->left_out != NULL)
        g_ptr_array_add(reading->left_out, g_strdup_printf("%s: %s", path, error->message));
}

/* The latest record determines the name. */
static void
take_process(BlackboxLife *life, RecordProcess *process)
{
    g_free(life->name);
    g_free(life->boot);
    life->name = g_steal_pointer(&process->name);
    life->boot = g_steal_pointer(&process->boot);
    life->user = process->user;
}

/* The file at PATH may change at any time if another user owns the directory. */
static char *
read_record(Reading *reading, const char *path, gsize *length, GError **error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot be read: %s", g_strerror(errno));
        return NULL;
    }
    g_autofree char *text = g_malloc(RECORD_MAX + 1);
    gssize got = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, text, RECORD_MAX + 1, 0) : -1;
    close(fd);
    reading->read += (gsize)MAX(got, RECORD_LEAST);
    if (got < 0 || got > RECORD_MAX) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FORMAT, "it is not a key file of the black box");
        return NULL;
    }
    *length = (gsize)got;
    return g_steal_pointer(&text);
}

static void
read_snapshot(Reading *reading, BlackboxLife *life, guint number)
{
    g_autoptr(GError) error = NULL;
    g_auto(RecordProcess) process = {0};
    g_autofree char *path = files_snapshot(life->directory, number);
    g_autofree char *dump = files_dump(life->directory, number);
    gsize length = 0;
    struct stat st;
    g_autofree char *text = read_record(reading, path, &length, &error);
    BlackboxSnapshot *snapshot = text != NULL ? record_read_snapshot(text, length, &process, &error) : NULL;
    if (snapshot == NULL) {
        leave_out(reading, path, error);
        return;
    }
    snapshot->number = number;
    if (lstat(dump, &st) == 0 && S_ISREG(st.st_mode)) {
        snapshot->dump = g_steal_pointer(&dump);
        snapshot->dump_bytes = (guint64)st.st_size;
    } else if (snapshot->missing == NULL) {
        snapshot->missing =
            g_strdup("it was removed, since the dumps of what is watched took more than the size for all");
    }
    take_process(life, &process);
    g_ptr_array_add(life->snapshots, snapshot);
    life->latest_us = snapshot->time_us;
}

static void
read_end(Reading *reading, BlackboxLife *life)
{
    g_autoptr(GError) error = NULL;
    g_auto(RecordProcess) process = {0};
    g_autofree char *path = files_end(life->directory);
    gsize length = 0;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return;
    g_autofree char *text = read_record(reading, path, &length, &error);
    life->has_end = text != NULL && record_read_end(text, length, &life->end, &process, &error);
    if (!life->has_end) {
        leave_out(reading, path, error);
        return;
    }
    take_process(life, &process);
    life->latest_us = life->end.time_us;
}

/* NULL if DIRECTORY is not a life, or is empty. */
static BlackboxLife *
read_life(Reading *reading, const char *directory)
{
    g_autoptr(BlackboxLife) life = g_new0(BlackboxLife, 1);
    g_autofree char *base = g_path_get_basename(directory);
    if (!files_parse_life(base, &life->pid, &life->start_time))
        return NULL;
    life->directory = g_strdup(directory);
    life->snapshots = g_ptr_array_new_with_free_func(free_snapshot);
    g_autoptr(GArray) numbers = files_numbers(directory);
    reading->read += RECORD_LEAST;
    for (guint i = 0; i < numbers->len && reading->read < reading->most; i++)
        read_snapshot(reading, life, g_array_index(numbers, guint, i));
    read_end(reading, life);
    if (life->name == NULL)
        return NULL;
    g_autofree char *boot = files_boot();
    life->watched = files_is_locked(directory);
    life->alive = !life->has_end && strcmp(boot, life->boot) == 0 && process_alive(life->pid, life->start_time);
    return g_steal_pointer(&life);
}

static gboolean
has_name(const BlackboxLife *life, const char *name)
{
    g_autofree char *pid = g_strdup_printf("%d", (int)life->pid);
    return name == NULL || process_name_is(life->name, name) || strcmp(pid, name) == 0;
}

typedef struct {
    char *boot; /* the current one */
    gint64 now_us;
} Moment;

/* The clock may have been set back, or have been wrong after an earlier boot: lives of this boot are later than others,
 * and one with a time in the future is from before the clock was set. */
static gint
latest_first(gconstpointer a, gconstpointer b, gpointer data)
{
    const BlackboxLife *one = *(BlackboxLife *const *)a, *other = *(BlackboxLife *const *)b;
    const Moment *moment = data;
    const gboolean now = strcmp(one->boot, moment->boot) == 0, other_now = strcmp(other->boot, moment->boot) == 0;
    const gboolean wrong = one->latest_us > moment->now_us, other_wrong = other->latest_us > moment->now_us;
    if (now != other_now)
        return now ? -1 : 1;
    if (wrong != other_wrong)
        return wrong ? 1 : -1;
    return one->latest_us < other->latest_us ? 1 : one->latest_us > other->latest_us ? -1 : 0;
}

static void
sort_lives(GPtrArray *lives)
{
    g_autofree char *boot = files_boot();
    Moment moment = {boot, g_get_real_time()};
    g_ptr_array_sort_with_data(lives, latest_first, &moment);
}

static gboolean
is_of_another(const char *directory)
{
    struct stat st;
    return stat(directory, &st) == 0 && !rights_are_trusted(st.st_uid);
}

GPtrArray *
blackbox_lives(const char *directory, const char *name, GPtrArray *left_out, GError **error)
{
    g_autoptr(GPtrArray) lives = g_ptr_array_new_with_free_func(free_life);
    g_autoptr(GPtrArray) names = files_subdirectories(directory, error);
    Reading reading = {.left_out = left_out, .most = is_of_another(directory) ? RECORDS_MAX : G_MAXSIZE};
    if (names == NULL)
        return NULL;
    for (guint i = 0; i < names->len; i++) {
        g_autoptr(GPtrArray) found = files_subdirectories(names->pdata[i], NULL);
        if (is_of_another(names->pdata[i]))
            reading.most = RECORDS_MAX;
        for (guint n = 0; found != NULL && n < found->len && reading.read < reading.most; n++) {
            g_autoptr(BlackboxLife) life = read_life(&reading, found->pdata[n]);
            if (life != NULL && has_name(life, name))
                g_ptr_array_add(lives, g_steal_pointer(&life));
        }
    }
    if (reading.read >= reading.most && left_out != NULL)
        g_ptr_array_add(left_out, g_strdup_printf("%s: all that follows its first 128 MiB of records", directory));
    sort_lives(lives);
    return g_steal_pointer(&lives);
}

GPtrArray *
blackbox_all_lives(const char *const *directories, const char *name, GPtrArray *left_out, GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(free_life);
    for (; *directories != NULL; directories++) {
        GPtrArray *lives = blackbox_lives(*directories, name, left_out, error);
        if (lives == NULL)
            return NULL;
        g_ptr_array_extend_and_steal(all, lives);
    }
    sort_lives(all);
    return g_steal_pointer(&all);
}
