/* SPDX-License-Identifier: Apache-2.0 */
#include "export/queue.h"

#include "export/own-directory.h"
#include "export/record.h"
#include "export/sink.h"
#include "source/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLACE_DIGITS = 16,
};

static const char suffix[] = ".batch", group[] = "queue";
static const char *const end_names[QUEUE_ENDS] = {"sent", "dropped", "refused", "damaged"};

struct Queue {
    GMutex mutex;
    char *directory;
    guint64 max_bytes;
    int lock;    /* the file "lock": held while the queue is read or changed */
    int sending; /* the file "sender", locked while this process is the sender; else -1 */
};

/* An entry's file. */
typedef struct {
    guint64 number;
    guint64 bytes;
} Waiting;

/* The content of the directory, valid while the lock is held. */
typedef struct {
    guint64 first; /* the oldest number still needed */
    guint64 ends[QUEUE_ENDS];
    GArray *waiting; /* of Waiting, ascending */
    guint64 bytes;
} State;

static void
state_clear(State *state)
{
    g_clear_pointer(&state->waiting, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(State, state_clear)

static gboolean
set_failed(GError **error, const char *what, const char *path)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot %s %s: %s", what, path, g_strerror(errno));
    return FALSE;
}

/* ---- the directory ---- */

static char *
path_of(const Queue *queue, guint64 number)
{
    return g_strdup_printf("%s/%020" G_GUINT64_FORMAT "%s", queue->directory, number, suffix);
}

static int
open_lock(const Queue *queue, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(queue->directory, name, NULL);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        set_failed(error, "open", path);
    return fd;
}

Queue *
queue_open(const char *root, const char *url, guint64 max_bytes, GError **error)
{
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, url, -1);
    g_autofree char *place = g_strndup(digest, PLACE_DIGITS), *note = g_strconcat(root, "/", place, ".url", NULL);
    g_autofree char *line = g_strconcat(url, "\n", NULL);
    g_autoptr(Queue) queue = g_new0(Queue, 1);
    g_mutex_init(&queue->mutex);
    queue->directory = g_build_filename(root, place, NULL);
    queue->max_bytes = max_bytes;
    queue->lock = queue->sending = -1;
    if (!own_directory_make(root, "--queue", error) || !own_directory_make(queue->directory, "--queue", error))
        return NULL;
    /* The note names the queue; writing it durably also syncs the directory. */
    if (!g_file_test(note, G_FILE_TEST_EXISTS) && !durable_write(note, line, strlen(line), error))
        return NULL;
    queue->lock = open_lock(queue, "lock", error);
    return queue->lock >= 0 ? g_steal_pointer(&queue) : NULL;
}

void
queue_close(Queue *queue)
{
    if (queue->lock >= 0)
        close(queue->lock);
    if (queue->sending >= 0)
        close(queue->sending);
    g_mutex_clear(&queue->mutex);
    g_free(queue->directory);
    g_free(queue);
}

static void
lock(Queue *queue)
{
    g_mutex_lock(&queue->mutex);
    while (flock(queue->lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
}

static void
unlock(Queue *queue)
{
    flock(queue->lock, LOCK_UN);
    g_mutex_unlock(&queue->mutex);
}

gboolean
queue_begin_sending(Queue *queue, GError **error)
{
    if (queue->sending >= 0)
        return TRUE;
    queue->sending = open_lock(queue, "sender", error);
    if (queue->sending < 0)
        return FALSE;
    if (flock(queue->sending, LOCK_EX | LOCK_NB) == 0)
        return TRUE;
    close(queue->sending);
    queue->sending = -1;
    return FALSE;
}

/* ---- the state ---- */

static void
read_counters(const Queue *queue, State *state)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *path = g_build_filename(queue->directory, "state", NULL);
    g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL);
    state->first = g_key_file_get_uint64(file, group, "first", NULL);
    for (guint i = 0; i < QUEUE_ENDS; i++)
        state->ends[i] = g_key_file_get_uint64(file, group, end_names[i], NULL);
}

static gboolean
write_counters(const Queue *queue, const State *state, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *path = g_build_filename(queue->directory, "state", NULL);
    gsize length;
    g_key_file_set_uint64(file, group, "first", state->first);
    for (guint i = 0; i < QUEUE_ENDS; i++)
        g_key_file_set_uint64(file, group, end_names[i], state->ends[i]);
    g_autofree char *text = g_key_file_to_data(file, &length, NULL);
    return durable_write(path, text, length, error);
}

static gint
ascending(gconstpointer a, gconstpointer b)
{
    guint64 one = ((const Waiting *)a)->number, other = ((const Waiting *)b)->number;
    return one < other ? -1 : one > other;
}

/* Parses the number in the file name of an entry; FALSE if it is not one. */
static gboolean
parse_name(const char *name, guint64 *number)
{
    g_autofree char *digits = g_strdup(name);
    if (!g_str_has_suffix(name, suffix))
        return FALSE;
    digits[strlen(digits) - strlen(suffix)] = '\0';
    return g_ascii_string_to_unsigned(digits, 10, 1, G_MAXUINT64 - 1, number, NULL);
}

/* Notes an entry; removes entries that are counted already and leftovers of interrupted writers. */
static void
see_file(const Queue *queue, State *state, const char *name)
{
    g_autofree char *path = g_build_filename(queue->directory, name, NULL);
    Waiting entry = {0};
    struct stat st;
    gboolean is_entry = parse_name(name, &entry.number);
    if (g_str_has_suffix(name, DURABLE_UNFINISHED) || (is_entry && entry.number < state->first)) {
        unlink(path);
    } else if (is_entry && lstat(path, &st) == 0) {
        entry.bytes = (guint64)st.st_size;
        state->bytes += entry.bytes;
        g_array_append_val(state->waiting, entry);
    }
}

static gboolean
read_state(const Queue *queue, State *state, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) directory = g_dir_open(queue->directory, 0, &cause);
    const char *name;
    *state = (State){.waiting = g_array_new(FALSE, FALSE, sizeof(Waiting))};
    if (directory == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "%s", cause->message);
        return FALSE;
    }
    read_counters(queue, state);
    while ((name = g_dir_read_name(directory)) != NULL)
        see_file(queue, state, name);
    g_array_sort(state->waiting, ascending);
    return TRUE;
}

/* Counts the N oldest entries as END, and then removes them. */
static gboolean
end_oldest(const Queue *queue, State *state, guint n, QueueEnd end, GError **error)
{
    if (n == 0)
        return TRUE;
    state->first = g_array_index(state->waiting, Waiting, n - 1).number + 1;
    state->ends[end] += n;
    if (!write_counters(queue, state, error))
        return FALSE;
    for (guint i = 0; i < n; i++) {
        const Waiting *entry = &g_array_index(state->waiting, Waiting, i);
        g_autofree char *path = path_of(queue, entry->number);
        unlink(path);
        state->bytes -= entry->bytes;
    }
    g_array_remove_range(state->waiting, 0, n);
    return TRUE;
}

/* ---- adding ---- */

static gboolean
make_room(const Queue *queue, State *state, guint64 bytes, GError **error)
{
    guint64 left = state->bytes;
    guint n = 0;
    while (n < state->waiting->len && left > queue->max_bytes - bytes)
        left -= g_array_index(state->waiting, Waiting, n++).bytes;
    return end_oldest(queue, state, n, QUEUE_DROPPED, error);
}

static gboolean
add_file(const Queue *queue, const State *state, GBytes *file, GError **error)
{
    guint n = state->waiting->len;
    guint64 newest = n > 0 ? g_array_index(state->waiting, Waiting, n - 1).number : 0;
    g_autofree char *path = path_of(queue, MAX(MAX(newest + 1, state->first), 1));
    gsize size;
    gconstpointer bytes = g_bytes_get_data(file, &size);
    return durable_write(path, bytes, size, error);
}

gboolean
queue_add(Queue *queue, GBytes *content, GError **error)
{
    g_auto(State) state = {0};
    g_autoptr(GBytes) file = record_wrap(content);
    guint64 bytes = file != NULL ? g_bytes_get_size(file) : G_MAXUINT64;
    if (bytes > queue->max_bytes) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "the batch is larger than its queue %s may be",
                    queue->directory);
        return FALSE;
    }
    lock(queue);
    gboolean added = read_state(queue, &state, error) && make_room(queue, &state, bytes, error) &&
                     add_file(queue, &state, file, error);
    unlock(queue);
    return added;
}

/* ---- sending ---- */

void
queue_entry_free(QueueEntry *entry)
{
    g_clear_pointer(&entry->content, g_bytes_unref);
    g_free(entry);
}

static QueueEntry *
read_entry(const Queue *queue, guint64 number)
{
    g_autofree char *path = path_of(queue, number);
    g_autoptr(GMappedFile) mapped = g_mapped_file_new(path, FALSE, NULL);
    g_autoptr(GBytes) file = mapped != NULL ? g_mapped_file_get_bytes(mapped) : NULL;
    QueueEntry *entry = g_new(QueueEntry, 1);
    *entry = (QueueEntry){number, file != NULL ? record_unwrap(file, NULL) : NULL};
    return entry;
}

GPtrArray *
queue_oldest(Queue *queue, guint n, guint64 max_bytes, GError **error)
{
    g_auto(State) state = {0};
    g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func((GDestroyNotify)queue_entry_free);
    guint64 bytes = 0;
    lock(queue);
    gboolean known = read_state(queue, &state, error);
    for (guint i = 0; known && i < MIN(state.waiting->len, n); i++) {
        QueueEntry *entry = read_entry(queue, g_array_index(state.waiting, Waiting, i).number);
        g_ptr_array_add(entries, entry);
        if (entry->content == NULL)
            break;
        /* Not the size of the file: a target decides how well its batch can be compressed. */
        bytes += g_bytes_get_size(entry->content);
        if (bytes >= max_bytes)
            break;
    }
    unlock(queue);
    return known ? g_steal_pointer(&entries) : NULL;
}

QueueEntry *
queue_later(Queue *queue, gdouble random, GError **error)
{
    g_auto(State) state = {0};
    QueueEntry *entry = NULL;
    lock(queue);
    gboolean known = read_state(queue, &state, error);
    guint later = known && state.waiting->len > 1 ? state.waiting->len - 1 : 0;
    if (later > 0) {
        guint i = 1 + MIN((guint)(random * later), later - 1);
        entry = read_entry(queue, g_array_index(state.waiting, Waiting, i).number);
    }
    unlock(queue);
    return entry;
}

gboolean
queue_settle(Queue *queue, guint64 last, QueueEnd end, GError **error)
{
    g_auto(State) state = {0};
    lock(queue);
    gboolean settled = read_state(queue, &state, error);
    guint n = 0;
    while (settled && n < state.waiting->len && g_array_index(state.waiting, Waiting, n).number <= last)
        n++;
    settled = settled && end_oldest(queue, &state, n, end, error);
    unlock(queue);
    return settled;
}

gboolean
queue_figures(Queue *queue, QueueFigures *figures, GError **error)
{
    g_auto(State) state = {0};
    lock(queue);
    gboolean known = read_state(queue, &state, error);
    unlock(queue);
    if (known)
        *figures = (QueueFigures){.waiting = state.waiting->len,
                                  .waiting_bytes = state.bytes,
                                  .sent = state.ends[QUEUE_SENT],
                                  .dropped = state.ends[QUEUE_DROPPED],
                                  .refused = state.ends[QUEUE_REFUSED],
                                  .damaged = state.ends[QUEUE_DAMAGED]};
    return known;
}
