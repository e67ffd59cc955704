/* SPDX-License-Identifier: Apache-2.0 */
#include "export/queue.h"

#include "confine/eviction.h"
#include "export/own-directory.h"
#include "export/record.h"
#include "export/sink.h"
#include "source/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLACE_DIGITS = 16,
};

#define NUMBER_MAX ((guint64)G_MAXINT64) /* of an entry; no queue reaches it */

static const char suffix[] = ".batch", group[] = "queue", state_name[] = "state";
static const char *const end_names[QUEUE_ENDS] = {"sent", "dropped", "refused", "damaged"};

struct Queue {
    GMutex mutex;
    char *directory; /* for messages */
    int place;       /* the directory: another one may have its path by now */
    guint64 max_bytes;
    int lock;    /* the file "lock": held while the queue is read or changed */
    int sending; /* the file "sender", locked while this process is the sender; else -1 */
};

/* The content of the directory, valid while the lock is held. */
typedef struct {
    guint64 first;   /* the oldest number still needed */
    guint64 next;    /* the next entry has this number, or a higher one */
    GArray *removed; /* numbers above first that are not needed either, of guint64, ascending */
    guint64 ends[QUEUE_ENDS];
    GArray *waiting; /* of Evictable, ascending */
    guint64 bytes;
} State;

static void
state_clear(State *state)
{
    g_clear_pointer(&state->waiting, g_array_unref);
    g_clear_pointer(&state->removed, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(State, state_clear)

static gboolean
set_failed(const Queue *queue, const char *name, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot open %s/%s: %s", queue->directory, name,
                g_strerror(errno));
    return FALSE;
}

/* ---- the directory ---- */

/* NUMBER-ACCOUNT.batch; without an account, as in earlier versions, NUMBER.batch. */
static char *
name_of(const Evictable *entry)
{
    g_autofree char *account =
        entry->account != QUEUE_ACCOUNT_UNKNOWN ? g_strdup_printf("-%" G_GUINT64_FORMAT, entry->account) : g_strdup("");
    return g_strdup_printf("%020" G_GUINT64_FORMAT "%s%s", entry->number, account, suffix);
}

static int
open_lock(const Queue *queue, const char *name, GError **error)
{
    int fd = openat(queue->place, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        set_failed(queue, name, error);
    return fd;
}

/* The content of a file, which must be a regular one: others would be waited for. NULL if it cannot be read. */
static GBytes *
read_file(const Queue *queue, const char *name)
{
    struct stat st;
    int fd = openat(queue->place, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    gboolean regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    g_autoptr(GMappedFile) mapped = regular ? g_mapped_file_new_from_fd(fd, FALSE, NULL) : NULL;
    close(fd);
    return mapped != NULL ? g_mapped_file_get_bytes(mapped) : NULL;
}

/* The note names the queue; writing it durably also syncs the directory. */
static gboolean
write_note(int root, const char *place, const char *url, GError **error)
{
    g_autofree char *name = g_strconcat(place, ".url", NULL), *line = g_strconcat(url, "\n", NULL);
    return faccessat(root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           durable_write_at(root, name, line, strlen(line), error);
}

/* The directory of the queue, checked; -1 with ERROR. */
static int
open_place(const char *root, const char *place, const char *url, GError **error)
{
    const int above = own_directory_open(AT_FDCWD, root, "--queue", error);
    if (above < 0)
        return -1;
    int opened = own_directory_open(above, place, "--queue", error);
    if (opened >= 0 && !write_note(above, place, url, error)) {
        close(opened);
        opened = -1;
    }
    close(above);
    return opened;
}

Queue *
queue_open(const char *root, const char *url, guint64 max_bytes, GError **error)
{
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, url, -1);
    g_autofree char *place = g_strndup(digest, PLACE_DIGITS);
    g_autoptr(Queue) queue = g_new0(Queue, 1);
    g_mutex_init(&queue->mutex);
    queue->directory = g_build_filename(root, place, NULL);
    queue->max_bytes = max_bytes;
    queue->place = queue->lock = queue->sending = -1;
    queue->place = open_place(root, place, url, error);
    if (queue->place >= 0)
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
    if (queue->place >= 0)
        close(queue->place);
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

/* FALSE if no queue can have reached the numbers: the next entries would have names that are not read again. */
static gboolean
read_counters(const Queue *queue, State *state, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GBytes) text = read_file(queue, state_name);
    if (text != NULL)
        g_key_file_load_from_bytes(file, text, G_KEY_FILE_NONE, NULL);
    state->first = g_key_file_get_uint64(file, group, "first", NULL);
    state->next = g_key_file_get_uint64(file, group, "next", NULL);
    g_auto(GStrv) removed = g_key_file_get_string_list(file, group, "removed", NULL, NULL);
    for (char **number = removed; number != NULL && *number != NULL; number++) {
        const guint64 value = g_ascii_strtoull(*number, NULL, 10);
        g_array_append_val(state->removed, value);
    }
    for (guint i = 0; i < QUEUE_ENDS; i++)
        state->ends[i] = g_key_file_get_uint64(file, group, end_names[i], NULL);
    if (state->first <= NUMBER_MAX && state->next <= NUMBER_MAX)
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE,
                "the file %s/%s is damaged; remove it, and what waits in the queue is sent, perhaps again",
                queue->directory, state_name);
    return FALSE;
}

static gboolean
write_counters(const Queue *queue, const State *state, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GString) removed = g_string_new(NULL);
    gsize length;
    for (guint i = 0; i < state->removed->len; i++)
        g_string_append_printf(removed, "%" G_GUINT64_FORMAT ";", g_array_index(state->removed, guint64, i));
    g_key_file_set_uint64(file, group, "first", state->first);
    g_key_file_set_uint64(file, group, "next", state->next);
    g_key_file_set_value(file, group, "removed", removed->str);
    for (guint i = 0; i < QUEUE_ENDS; i++)
        g_key_file_set_uint64(file, group, end_names[i], state->ends[i]);
    g_autofree char *text = g_key_file_to_data(file, &length, NULL);
    return durable_write_at(queue->place, state_name, text, length, error);
}

static gint
ascending(gconstpointer a, gconstpointer b)
{
    guint64 one = *(const guint64 *)a, other = *(const guint64 *)b;
    return one < other ? -1 : one > other;
}

static gint
by_number(gconstpointer a, gconstpointer b)
{
    return ascending(&((const Evictable *)a)->number, &((const Evictable *)b)->number);
}

/* Parses the file name of an entry (name_of()); FALSE if it is not one. */
static gboolean
parse_name(const char *name, Evictable *entry)
{
    if (!g_str_has_suffix(name, suffix))
        return FALSE;
    g_autofree char *digits = g_strndup(name, strlen(name) - strlen(suffix));
    char *dash = strchr(digits, '-');
    entry->account = QUEUE_ACCOUNT_UNKNOWN;
    if (dash != NULL) {
        *dash = '\0';
        if (!g_ascii_string_to_unsigned(dash + 1, 10, 0, QUEUE_ACCOUNT_UNKNOWN - 1, &entry->account, NULL))
            return FALSE;
    }
    return g_ascii_string_to_unsigned(digits, 10, 1, NUMBER_MAX, &entry->number, NULL);
}

static gboolean
is_gone(const State *state, guint64 number)
{
    return number < state->first || g_array_binary_search(state->removed, &number, ascending, NULL);
}

/* Notes an entry; removes entries that are counted already and leftovers of interrupted writers. */
static void
see_file(const Queue *queue, State *state, const char *name)
{
    Evictable entry = {0};
    struct stat st;
    gboolean is_entry = parse_name(name, &entry);
    if (g_str_has_suffix(name, DURABLE_UNFINISHED) || (is_entry && is_gone(state, entry.number))) {
        unlinkat(queue->place, name, 0);
    } else if (is_entry && fstatat(queue->place, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        entry.bytes = (guint64)st.st_size;
        state->bytes += entry.bytes;
        g_array_append_val(state->waiting, entry);
    }
}

static gboolean
list_files(const Queue *queue, State *state, GError **error)
{
    const struct dirent *file;
    int fd = openat(queue->place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        set_failed(queue, "", error);
        if (fd >= 0)
            close(fd);
        return FALSE;
    }
    while ((file = readdir(directory)) != NULL)
        see_file(queue, state, file->d_name);
    closedir(directory);
    return TRUE;
}

static gboolean
read_state(const Queue *queue, State *state, GError **error)
{
    *state = (State){.waiting = g_array_new(FALSE, FALSE, sizeof(Evictable)),
                     .removed = g_array_new(FALSE, FALSE, sizeof(guint64))};
    if (!read_counters(queue, state, error) || !list_files(queue, state, error))
        return FALSE;
    g_array_sort(state->waiting, by_number);
    return TRUE;
}

static Evictable *
held_at(const State *state, guint i)
{
    return &g_array_index(state->waiting, Evictable, i);
}

static guint64
new_number(const State *state)
{
    const guint n = state->waiting->len;
    const guint64 newest = n > 0 ? held_at(state, n - 1)->number : 0;
    return MAX(MAX(newest + 1, state->next), MAX(state->first, 1));
}

/* Notes in STATE which numbers are gone once the marked entries are; returns how many are marked. */
static guint
note_removed(State *state)
{
    guint n = 0;
    state->next = state->first = new_number(state);
    g_array_set_size(state->removed, 0);
    for (guint i = state->waiting->len; i > 0; i--) {
        const Evictable *entry = held_at(state, i - 1);
        n += entry->leaves;
        if (entry->leaves)
            g_array_append_val(state->removed, entry->number);
        else
            state->first = entry->number;
    }
    g_array_sort(state->removed, ascending);
    guint older = 0;
    while (older < state->removed->len && g_array_index(state->removed, guint64, older) < state->first)
        older++;
    g_array_remove_range(state->removed, 0, older);
    return n;
}

/* Counts the marked entries as END, and then removes them. */
static gboolean
end_marked(const Queue *queue, State *state, QueueEnd end, GError **error)
{
    const guint n = note_removed(state);
    state->ends[end] += n;
    if (n > 0 && !write_counters(queue, state, error))
        return FALSE;
    for (guint i = 0; i < state->waiting->len; i++) {
        const Evictable *entry = held_at(state, i);
        g_autofree char *name = entry->leaves ? name_of(entry) : NULL;
        if (name != NULL)
            unlinkat(queue->place, name, 0);
    }
    return TRUE;
}

/* ---- adding ---- */

static gboolean
make_room(const Queue *queue, State *state, const Evictable *added, GError **error)
{
    const EvictionLimits limits = {.bytes = queue->max_bytes, .entries = QUEUE_ENTRIES_MAX};
    if (eviction_choose(held_at(state, 0), state->waiting->len, added, &limits))
        return end_marked(queue, state, QUEUE_DROPPED, error);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE,
                "the batch has no room in its queue %s beside those of others; enlarge it with --queue-size",
                queue->directory);
    return FALSE;
}

static gboolean
add_file(const Queue *queue, const Evictable *entry, GBytes *file, GError **error)
{
    g_autofree char *name = name_of(entry);
    gsize size;
    gconstpointer bytes = g_bytes_get_data(file, &size);
    if (entry->number <= NUMBER_MAX)
        return durable_write_at(queue->place, name, bytes, size, error);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "the queue %s has no more numbers; remove it",
                queue->directory);
    return FALSE;
}

gboolean
queue_add(Queue *queue, GBytes *content, guint64 account, GError **error)
{
    g_auto(State) state = {0};
    g_autoptr(GBytes) file = record_wrap(content);
    Evictable entry = {.account = account, .bytes = file != NULL ? g_bytes_get_size(file) : G_MAXUINT64};
    if (entry.bytes > queue->max_bytes) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE,
                    "the batch is larger than its queue %s may be; enlarge it with --queue-size", queue->directory);
        return FALSE;
    }
    lock(queue);
    gboolean added = read_state(queue, &state, error) && make_room(queue, &state, &entry, error);
    if (added) {
        entry.number = new_number(&state);
        added = add_file(queue, &entry, file, error);
    }
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
read_entry(const Queue *queue, const Evictable *held)
{
    g_autofree char *name = name_of(held);
    g_autoptr(GBytes) file = read_file(queue, name);
    QueueEntry *entry = g_new(QueueEntry, 1);
    *entry = (QueueEntry){held->number, file != NULL ? record_unwrap(file, NULL) : NULL};
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
        QueueEntry *entry = read_entry(queue, held_at(&state, i));
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
        entry = read_entry(queue, held_at(&state, i));
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
    for (guint i = 0; settled && i < state.waiting->len; i++)
        held_at(&state, i)->leaves = held_at(&state, i)->number <= last;
    settled = settled && end_marked(queue, &state, end, error);
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
