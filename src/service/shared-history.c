/* SPDX-License-Identifier: Apache-2.0 */
#include "service/shared-history.h"

#include "confine/eviction.h"

#include <string.h>

/* A sample or note waiting to be written. */
typedef struct {
    HistoryLife life; /* for a note, only the target is set */
    char *target, *boot, *version, *user, *arguments, *group;
    StatsSample *sample; /* NULL: a note */
    gint64 time_us;
    char *note;
    uid_t account;
    guint64 bytes;
} Entry;

struct SharedHistory {
    HistoryHold hold;
    char *path; /* NULL: in memory */
    char *boot;
    guint64 retained_bytes; /* its size when it was last retained; guarded by the hold */

    GMutex lock; /* guards the following; taken after hold.lock, never held for long */
    HistoryRules rules;
    GQueue waiting; /* of Entry */
    guint64 waiting_bytes;
    SharedHistoryCounts counts;
};

static void
free_entry(gpointer data)
{
    Entry *entry = data;
    g_clear_pointer(&entry->sample, stats_sample_unref);
    g_free(entry->target);
    g_free(entry->boot);
    g_free(entry->version);
    g_free(entry->user);
    g_free(entry->arguments);
    g_free(entry->group);
    g_free(entry->note);
    g_free(entry);
}

SharedHistory *
shared_history_new(const char *path, const HistoryRules *rules, GError **error)
{
    History *history = path != NULL ? history_open(path, HISTORY_WRITE, error) : history_open_in_memory(error);
    if (history == NULL)
        return NULL;
    SharedHistory *shared = g_new0(SharedHistory, 1);
    g_mutex_init(&shared->hold.lock);
    g_mutex_init(&shared->lock);
    g_queue_init(&shared->waiting);
    shared->rules = *rules;
    shared->path = g_strdup(path);
    shared->boot = history_boot();
    shared->hold.history = history;
    return shared;
}

void
shared_history_free(SharedHistory *shared)
{
    if (shared == NULL)
        return;
    shared_history_flush(shared, NULL);
    g_queue_clear_full(&shared->waiting, free_entry);
    history_close(shared->hold.history);
    g_mutex_clear(&shared->hold.lock);
    g_mutex_clear(&shared->lock);
    g_free(shared->path);
    g_free(shared->boot);
    g_free(shared);
}

const char *
shared_history_boot(const SharedHistory *shared)
{
    return shared->boot;
}

void
shared_history_set_rules(SharedHistory *shared, const HistoryRules *rules)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
    shared->rules = *rules;
}

static HistoryRules
rules_now(SharedHistory *shared)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
    return shared->rules;
}

HistoryHold *
shared_history_hold(SharedHistory *shared)
{
    g_mutex_lock(&shared->hold.lock);
    return &shared->hold;
}

void
history_hold_release(HistoryHold *hold)
{
    g_mutex_unlock(&hold->lock);
}

/* ---- writing ---- */

/* Removes LINK from what waits and returns its entry. With LOCK. */
static Entry *
remove_link(SharedHistory *shared, GList *link)
{
    Entry *entry = link->data;
    g_queue_delete_link(&shared->waiting, link);
    shared->counts.waiting -= entry->sample != NULL;
    shared->waiting_bytes -= entry->bytes;
    return entry;
}

/* Drops what is too much. With LOCK. */
static void
lose_some(SharedHistory *shared)
{
    const EvictionLimits limits = {.bytes = SHARED_HISTORY_WAITING_BYTES, .entries = SHARED_HISTORY_WAITING};
    const guint n = shared->waiting.length;
    g_autofree Evictable *held = g_new0(Evictable, n);
    GList *at = shared->waiting.head;
    for (guint i = 0; i < n; i++, at = at->next) {
        const Entry *entry = at->data;
        held[i] = (Evictable){.account = entry->account, .bytes = entry->bytes};
    }
    eviction_choose(held, n, NULL, &limits);
    at = shared->waiting.head;
    for (guint i = 0; i < n; i++) {
        GList *next = at->next;
        if (held[i].leaves) {
            Entry *lost = remove_link(shared, at);
            shared->counts.lost += lost->sample != NULL;
            free_entry(lost);
        }
        at = next;
    }
}

/* Queues ENTRY at the end, or if writing it has failed, at the head. With LOCK. */
static void
put(SharedHistory *shared, Entry *entry, void (*push)(GQueue *queue, gpointer data))
{
    push(&shared->waiting, entry);
    shared->counts.waiting += entry->sample != NULL;
    shared->waiting_bytes += entry->bytes;
    if (shared->waiting.length > SHARED_HISTORY_WAITING || shared->waiting_bytes > SHARED_HISTORY_WAITING_BYTES)
        lose_some(shared);
}

static Entry *
take(SharedHistory *shared)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
    GList *oldest = shared->waiting.head;
    return oldest != NULL ? remove_link(shared, oldest) : NULL;
}

static gboolean
write_entry(SharedHistory *shared, const Entry *entry, GError **error)
{
    History *history = shared->hold.history;
    if (entry->sample == NULL)
        return history_note(history, entry->target, entry->time_us, entry->note, error);
    return history_record(history, &entry->life, entry->sample, rules_now(shared).parts, error);
}

gboolean
shared_history_flush(SharedHistory *shared, GError **error)
{
    g_autoptr(HistoryHold) hold G_GNUC_UNUSED = shared_history_hold(shared);
    Entry *entry;
    while ((entry = take(shared)) != NULL) {
        gboolean written = write_entry(shared, entry, error);
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
        if (!written) {
            put(shared, entry, g_queue_push_head);
            return FALSE;
        }
        shared->counts.written += entry->sample != NULL;
        free_entry(entry);
    }
    return TRUE;
}

/* The memory that ENTRY takes while it waits. */
static guint64
measure(const Entry *entry)
{
    const char *const texts[] = {entry->target,    entry->boot,  entry->version, entry->user,
                                 entry->arguments, entry->group, entry->note};
    guint64 bytes = sizeof(Entry) + (entry->sample != NULL ? stats_sample_bytes(entry->sample) : 0);
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        bytes += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
    return bytes;
}

static void
append(SharedHistory *shared, Entry *entry)
{
    entry->bytes = measure(entry);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
    put(shared, entry, g_queue_push_tail);
}

gboolean
shared_history_add_sample(SharedHistory *shared, const HistoryLife *life, uid_t account, StatsSample *sample,
                          GError **error)
{
    Entry *entry = g_new0(Entry, 1);
    entry->account = account;
    entry->life = *life;
    entry->life.target = entry->target = g_strdup(life->target);
    entry->life.boot = entry->boot = g_strdup(life->boot);
    entry->life.version = entry->version = g_strdup(life->version);
    entry->life.process.user = entry->user = g_strdup(life->process.user);
    entry->life.process.arguments = entry->arguments = g_strdup(life->process.arguments);
    entry->life.process.group = entry->group = g_strdup(life->process.group);
    entry->sample = stats_sample_ref(sample);
    append(shared, entry);
    return shared_history_flush(shared, error);
}

void
shared_history_add_note(SharedHistory *shared, const char *target, uid_t account, const char *text)
{
    Entry *entry = g_new0(Entry, 1);
    entry->account = account;
    entry->target = g_strdup(target);
    entry->note = g_strdup(text);
    entry->time_us = g_get_real_time();
    append(shared, entry);
}

SharedHistoryCounts
shared_history_counts(SharedHistory *shared)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&shared->lock);
    return shared->counts;
}

gboolean
shared_history_has_grown(SharedHistory *shared)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(shared);
    const guint64 max_bytes = rules_now(shared).samples.max_bytes;
    guint64 bytes;
    return max_bytes > 0 && history_size(hold->history, &bytes, NULL) &&
           bytes / 5 > MAX(max_bytes, shared->retained_bytes) / 4;
}

void
shared_history_retain(SharedHistory *shared)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(shared);
    g_autoptr(GError) error = NULL;
    HistoryRules rules = rules_now(shared);
    /* Errors of the file are reported with the next sample. */
    if (!history_retain(hold->history, &rules.samples, g_get_real_time(), NULL, &error))
        g_debug("retention: %s", error->message);
    history_size(hold->history, &shared->retained_bytes, NULL);
    history_retain_all_dumps(hold->history, &rules.dumps, g_get_real_time(), NULL);
}

gboolean
shared_history_add_dump(SharedHistory *shared, gint64 incarnation, int descriptor, RouteDump *dump, GError **error)
{
    g_auto(HistoryPackedDump) packed = {0};
    if (!history_dump_pack(descriptor, &packed, error))
        return FALSE;
    g_autoptr(HistoryHold) hold = shared_history_hold(shared);
    if (!history_dump_add_packed(hold->history, incarnation, &packed, dump, error))
        return FALSE;
    /* The dump is stored; if removal fails, it is repeated with the next dump. */
    HistoryRules rules = rules_now(shared);
    history_retain_dumps(hold->history, incarnation, &rules.dumps, g_get_real_time(), NULL);
    return TRUE;
}

static gboolean
read_packed(SharedHistory *shared, gint64 incarnation, guint64 id, HistoryPackedDump *packed, GError **error)
{
    g_autoptr(HistoryHold) hold = shared_history_hold(shared);
    return history_dump_read_packed(hold->history, incarnation, id, packed, error);
}

int
shared_history_open_dump(SharedHistory *shared, gint64 incarnation, guint64 id, GError **error)
{
    g_auto(HistoryPackedDump) packed = {0};
    return read_packed(shared, incarnation, id, &packed, error) ? history_dump_unpack(&packed, error) : -1;
}

gpointer
shared_history_read(SharedHistory *shared, gpointer (*func)(History *history, gpointer data, GError **error),
                    gpointer data, GError **error)
{
    if (shared->path == NULL) {
        g_autoptr(HistoryHold) hold = shared_history_hold(shared);
        return func(hold->history, data, error);
    }
    g_autoptr(History) history = history_open(shared->path, HISTORY_READ, error);
    return history != NULL ? func(history, data, error) : NULL;
}
