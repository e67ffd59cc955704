/* SPDX-License-Identifier: Apache-2.0 */
#include "service/keep.h"

#include "history/pending.h"

enum {
    LIVES_MAX = 10000, /* that are gone through at once */
};

struct Keep {
    GMutex lock;
    char *path; /* NULL: in memory */
    char *boot;
    History *history;
    Pending *pending;
    HistoryRetention retention;
    HistoryDumpRetention dumps;
};

static char *
read_boot(void)
{
    char *boot = NULL;
    return g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL) ? g_strstrip(boot) : g_strdup("");
}

Keep *
keep_new(const char *path, HistoryParts parts, GError **error)
{
    History *history = path != NULL ? history_open(path, HISTORY_WRITE, error) : history_open_in_memory(error);
    if (history == NULL)
        return NULL;
    Keep *keep = g_new0(Keep, 1);
    g_mutex_init(&keep->lock);
    keep->path = g_strdup(path);
    keep->boot = read_boot();
    keep->history = history;
    keep->pending = pending_new(history, parts);
    return keep;
}

void
keep_free(Keep *keep)
{
    if (keep == NULL)
        return;
    pending_flush(keep->pending, NULL);
    pending_free(keep->pending);
    history_close(keep->history);
    g_mutex_clear(&keep->lock);
    g_free(keep->path);
    g_free(keep->boot);
    g_free(keep);
}

const char *
keep_boot(const Keep *keep)
{
    return keep->boot;
}

void
keep_set_retention(Keep *keep, const HistoryRetention *retention, const HistoryDumpRetention *dumps)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    keep->retention = *retention;
    keep->dumps = *dumps;
}

void
keep_set_parts(Keep *keep, HistoryParts parts)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    pending_set_parts(keep->pending, parts);
}

gboolean
keep_life(Keep *keep, const HistoryLife *life, gint64 *incarnation, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    HistoryLife whole = *life;
    if (whole.boot == NULL)
        whole.boot = keep->boot;
    return history_begin(keep->history, &whole, incarnation, error);
}

gboolean
keep_sample(Keep *keep, const HistoryLife *life, StatsSample *sample, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    HistoryLife whole = *life;
    if (whole.boot == NULL)
        whole.boot = keep->boot;
    pending_add(keep->pending, &whole, sample);
    return pending_flush(keep->pending, error);
}

void
keep_note(Keep *keep, const char *target, const char *text)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    pending_note(keep->pending, target, g_get_real_time(), text);
    pending_flush(keep->pending, NULL);
}

/* Of targets that give no dumps any more, too. */
static void
retain_all_dumps(Keep *keep)
{
    g_autoptr(GArray) lives = history_kept_lives(keep->history, LIVES_MAX, NULL);
    for (guint i = 0; lives != NULL && i < lives->len; i++)
        history_retain_dumps(keep->history, g_array_index(lives, HistoryKept, i).incarnation, &keep->dumps,
                             g_get_real_time(), NULL);
}

void
keep_retain(Keep *keep)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    g_autoptr(GError) error = NULL;
    /* What is wrong with the file shows at the next sample. */
    if (!history_retain(keep->history, &keep->retention, g_get_real_time(), NULL, &error))
        g_debug("retention: %s", error->message);
    retain_all_dumps(keep);
}

static gboolean
add_packed(Keep *keep, gint64 incarnation, const HistoryPackedDump *packed, HistoryDump *dump, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    if (!history_dump_add_packed(keep->history, incarnation, packed, dump, error))
        return FALSE;
    /* The dump is safe; what should have gone goes with the next one. */
    history_retain_dumps(keep->history, incarnation, &keep->dumps, g_get_real_time(), NULL);
    return TRUE;
}

gboolean
keep_dump_add(Keep *keep, gint64 incarnation, int descriptor, HistoryDump *dump, GError **error)
{
    g_auto(HistoryPackedDump) packed = {0};
    return history_dump_pack(descriptor, &packed, error) && add_packed(keep, incarnation, &packed, dump, error);
}

GArray *
keep_dumps(Keep *keep, gint64 incarnation, guint max, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    return history_dumps(keep->history, incarnation, max, error);
}

static gboolean
read_packed(Keep *keep, gint64 incarnation, guint64 id, HistoryPackedDump *packed, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    return history_dump_read_packed(keep->history, incarnation, id, packed, error);
}

int
keep_dump_open(Keep *keep, gint64 incarnation, guint64 id, GError **error)
{
    g_auto(HistoryPackedDump) packed = {0};
    return read_packed(keep, incarnation, id, &packed, error) ? history_dump_unpack(&packed, error) : -1;
}

gboolean
keep_recording(Keep *keep, gint64 incarnation, const HistoryRecording *recording, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    return history_recording_put(keep->history, incarnation, recording, error);
}

GArray *
keep_recordings(Keep *keep, gint64 incarnation, guint max, GError **error)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    return history_recordings(keep->history, incarnation, max, error);
}

GArray *
keep_lives(Keep *keep, guint max)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
    return history_kept_lives(keep->history, max, NULL);
}

gpointer
keep_read(Keep *keep, gpointer (*func)(History *history, gpointer data, GError **error), gpointer data, GError **error)
{
    if (keep->path == NULL) {
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&keep->lock);
        return func(keep->history, data, error);
    }
    g_autoptr(History) history = history_open(keep->path, HISTORY_READ, error);
    return history != NULL ? func(history, data, error) : NULL;
}
