/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/keeper.h"

#include "blackbox/files.h"
#include "blackbox/record.h"
#include "confine/account.h"
#include "confine/rights.h"
#include "confine/target-files.h"
#include "source/durable.h"
#include "source/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const BlackboxQuota blackbox_quota_default = {
    .snapshots = 6, .lives = 5, .lives_of_user = 256, .bytes = G_GUINT64_CONSTANT(1) << 30};

enum { ENDS_AT_ONCE = 16 };

struct BlackboxKeeper {
    char *root;
    char *life;
    RecordProcess process;
    uid_t account;
    pid_t pid;
    guint64 start_time;
    uid_t owner; /* as target_files_user_of(), the least privileged since the start, and target_user() */
    uid_t sole_user;
    BlackboxQuota quota;
    int lock;
    guint next;
};

BlackboxKeeper *
blackbox_keeper_new(const char *directory, const Process *process, const BlackboxQuota *quota, GError **error)
{
    g_autoptr(BlackboxKeeper) keeper = g_new0(BlackboxKeeper, 1);
    keeper->root = g_strdup(directory);
    keeper->life = files_life(directory, process->name, process->pid, process->start_time);
    keeper->process = (RecordProcess){g_strdup(process->name), files_boot(), process->uids[0]};
    keeper->account = account_of(process->uids[0]);
    keeper->pid = process->pid;
    keeper->start_time = process->start_time;
    keeper->owner = target_files_user_of(process->pid);
    keeper->sole_user = process_user(process);
    keeper->quota = *quota;
    keeper->lock = -1;
    if (!files_make_root(directory, error))
        return NULL;
    if (g_mkdir_with_parents(keeper->life, 0700) != 0) {
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot make the directory %s: %s", keeper->life,
                    g_strerror(errno));
        return NULL;
    }
    keeper->lock = files_lock(keeper->life, error);
    if (keeper->lock < 0)
        return NULL;
    files_remove_unfinished(keeper->life);
    g_autoptr(GArray) numbers = files_numbers(keeper->life);
    keeper->next = numbers->len > 0 ? g_array_index(numbers, guint, numbers->len - 1) + 1 : 1;
    return g_steal_pointer(&keeper);
}

static gboolean
is_empty(const BlackboxKeeper *keeper)
{
    g_autoptr(GArray) numbers = files_numbers(keeper->life);
    g_autofree char *ended = files_end(keeper->life);
    return numbers->len == 0 && !g_file_test(ended, G_FILE_TEST_EXISTS);
}

void
blackbox_keeper_free(BlackboxKeeper *keeper)
{
    if (keeper == NULL)
        return;
    if (keeper->lock >= 0 && is_empty(keeper))
        files_remove_life(keeper->life);
    if (keeper->lock >= 0)
        close(keeper->lock);
    record_process_clear(&keeper->process);
    g_free(keeper->root);
    g_free(keeper->life);
    g_free(keeper);
}

/* The key file first: a dump without one is not a snapshot. */
static void
remove_snapshot(const char *life, guint number)
{
    g_autofree char *snapshot = files_snapshot(life, number);
    g_autofree char *dump = files_dump(life, number);
    unlink(snapshot);
    unlink(dump);
}

static gboolean
has_dump(const char *life, guint number)
{
    g_autofree char *dump = files_dump(life, number);
    return g_file_test(dump, G_FILE_TEST_EXISTS);
}

/* Removes what exceeds the number of snapshots, but never the first, from which the later ones have grown. Snapshots
 * without a dump do not displace any with one: only the latest of all may lack a dump. */
static void
thin_out(const BlackboxKeeper *keeper)
{
    g_autoptr(GArray) numbers = files_numbers(keeper->life);
    for (guint i = 0; i + 1 < numbers->len;) {
        const guint number = g_array_index(numbers, guint, i);
        if (has_dump(keeper->life, number)) {
            i++;
            continue;
        }
        remove_snapshot(keeper->life, number);
        g_array_remove_index(numbers, i);
    }
    while (numbers->len > keeper->quota.snapshots) {
        remove_snapshot(keeper->life, g_array_index(numbers, guint, 1));
        g_array_remove_index(numbers, 1);
    }
}

static guint64
bytes_of(const BlackboxLife *life)
{
    guint64 bytes = 0;
    for (guint i = 0; i < life->snapshots->len; i++)
        bytes += ((const BlackboxSnapshot *)life->snapshots->pdata[i])->dump_bytes;
    return bytes;
}

/* Removes this account's ended lives that exceed the limit of one name or of all names, since a process may take any
 * name. LIVES are sorted, the latest first. */
static void
remove_old_lives(const BlackboxKeeper *keeper, GPtrArray *lives)
{
    guint of_name = 0, of_user = 0;
    for (guint i = 0; i < lives->len;) {
        const BlackboxLife *life = lives->pdata[i];
        const gboolean ended = !life->watched && !life->alive && account_of(life->user) == keeper->account;
        const gboolean namesake = ended && strcmp(life->name, keeper->process.name) == 0;
        of_name += namesake;
        of_user += ended;
        if (!(namesake && of_name > keeper->quota.lives) &&
            !(ended && of_user > MAX(keeper->quota.lives, keeper->quota.lives_of_user))) {
            i++;
            continue;
        }
        files_remove_life(life->directory);
        g_ptr_array_remove_index(lives, i);
    }
}

/* Removes the oldest of LIVES of ACCOUNT that is not watched. FALSE if there is no such life. */
static gboolean
remove_life_of(GPtrArray *lives, uid_t account)
{
    for (guint i = lives->len; i > 0; i--) {
        const BlackboxLife *life = lives->pdata[i - 1];
        if (life->watched || account_of(life->user) != account)
            continue;
        files_remove_life(life->directory);
        g_ptr_array_remove_index(lives, i - 1);
        return TRUE;
    }
    return FALSE;
}

/* Removes the oldest snapshot of ACCOUNT that is not the last one of its life. FALSE if there is no such snapshot. */
static gboolean
remove_snapshot_of(const GPtrArray *lives, uid_t account)
{
    const BlackboxLife *found = NULL;
    const BlackboxSnapshot *oldest = NULL;
    for (guint i = 0; i < lives->len; i++) {
        const BlackboxLife *life = lives->pdata[i];
        const BlackboxSnapshot *first = life->snapshots->len > 1 ? life->snapshots->pdata[0] : NULL;
        if (account_of(life->user) != account || first == NULL || (oldest != NULL && oldest->time_us <= first->time_us))
            continue;
        found = life;
        oldest = first;
    }
    if (found == NULL)
        return FALSE;
    remove_snapshot(found->directory, oldest->number);
    g_ptr_array_remove_index(found->snapshots, 0);
    return TRUE;
}

/* Removes the dump of the oldest snapshot of ACCOUNT, but keeps its figures, for lives that have no other. FALSE if it
 * has no dump. */
static gboolean
remove_dump_of(const GPtrArray *lives, uid_t account)
{
    BlackboxSnapshot *oldest = NULL;
    for (guint i = 0; i < lives->len; i++) {
        const BlackboxLife *life = lives->pdata[i];
        BlackboxSnapshot *last = life->snapshots->len > 0 ? life->snapshots->pdata[life->snapshots->len - 1] : NULL;
        if (account_of(life->user) == account && last != NULL && last->dump != NULL &&
            (oldest == NULL || last->time_us < oldest->time_us))
            oldest = last;
    }
    if (oldest == NULL)
        return FALSE;
    unlink(oldest->dump);
    g_clear_pointer(&oldest->dump, g_free);
    oldest->dump_bytes = 0;
    return TRUE;
}

/* A new table of account -> bytes. */
static GHashTable *
sum_up(const GPtrArray *lives)
{
    GHashTable *sums = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (guint i = 0; i < lives->len; i++) {
        const BlackboxLife *life = lives->pdata[i];
        gpointer account = GUINT_TO_POINTER(account_of(life->user));
        guint64 *sum = g_hash_table_lookup(sums, account);
        if (sum == NULL) {
            sum = g_new0(guint64, 1);
            g_hash_table_insert(sums, account, sum);
        }
        *sum += bytes_of(life);
    }
    return sums;
}

/* Finds the account with the most bytes that is not in SPARED. FALSE if all are. */
static gboolean
find_heaviest(const GPtrArray *lives, GHashTable *spared, uid_t *account)
{
    g_autoptr(GHashTable) sums = sum_up(lives);
    GHashTableIter iterator;
    gpointer key, sum;
    guint64 most = 0;
    gboolean found = FALSE;
    g_hash_table_iter_init(&iterator, sums);
    while (g_hash_table_iter_next(&iterator, &key, &sum)) {
        if (g_hash_table_contains(spared, key) || (found && *(const guint64 *)sum <= most))
            continue;
        found = TRUE;
        most = *(const guint64 *)sum;
        *account = GPOINTER_TO_UINT(key);
    }
    return found;
}

static guint64
bytes_of_all(const GPtrArray *lives)
{
    guint64 bytes = 0;
    for (guint i = 0; i < lives->len; i++)
        bytes += bytes_of(lives->pdata[i]);
    return bytes;
}

/* Removes a user's oldest lives first, then the oldest snapshots, then the last ones of what is watched: a user may
 * have any number of processes watched, and the bytes of others are not his. */
static void
keep_to_bytes(const BlackboxKeeper *keeper, GPtrArray *lives)
{
    g_autoptr(GHashTable) spared = g_hash_table_new(NULL, NULL); /* accounts with nothing left to remove */
    uid_t account = 0;
    while (bytes_of_all(lives) > keeper->quota.bytes && find_heaviest(lives, spared, &account))
        if (!remove_life_of(lives, account) && !remove_snapshot_of(lives, account) && !remove_dump_of(lives, account))
            g_hash_table_add(spared, GUINT_TO_POINTER(account));
}

static void
keep_to_quota(const BlackboxKeeper *keeper)
{
    thin_out(keeper);
    g_autoptr(GPtrArray) lives = blackbox_lives(keeper->root, NULL, NULL, NULL);
    if (lives == NULL)
        return;
    remove_old_lives(keeper, lives);
    keep_to_bytes(keeper, lives);
}

/* Updates the users of the process, which cannot be read after its end. A process of root may have changed its user. */
static void
look_at_owner(BlackboxKeeper *keeper)
{
    Process now;
    const uid_t user = target_files_user_of(keeper->pid);
    if (keeper->owner == 0 || process_alive(keeper->pid, keeper->start_time))
        keeper->owner = rights_lesser(keeper->owner, user);
    if (process_look(keeper->pid, &now) && now.start_time == keeper->start_time &&
        process_user(&now) != keeper->sole_user)
        keeper->sole_user = (uid_t)-1;
}

gboolean
blackbox_keeper_add(BlackboxKeeper *keeper, BlackboxSnapshot *snapshot, int descriptor, GError **error)
{
    struct stat st;
    g_autofree char *dump = files_dump(keeper->life, keeper->next);
    g_autofree char *path = files_snapshot(keeper->life, keeper->next);
    look_at_owner(keeper);
    keeper->owner = rights_lesser(keeper->owner, snapshot->owner);
    snapshot->owner = keeper->owner;
    snapshot->sole_user = keeper->sole_user;
    g_autofree char *text = record_of_snapshot(snapshot, &keeper->process);
    if (descriptor >= 0 && !durable_copy(dump, descriptor, error))
        return FALSE;
    if (!durable_write(path, text, strlen(text), error)) {
        unlink(dump);
        return FALSE;
    }
    snapshot->number = keeper->next++;
    if (descriptor >= 0 && fstat(descriptor, &st) == 0) {
        g_free(snapshot->dump);
        snapshot->dump = g_steal_pointer(&dump);
        snapshot->dump_bytes = (guint64)st.st_size;
    }
    keep_to_quota(keeper);
    return TRUE;
}

gboolean
blackbox_keeper_end(BlackboxKeeper *keeper, const BlackboxEnd *end, GError **error)
{
    static gint ends; /* of lives without a snapshot, of all keepers */
    g_autofree char *path = files_end(keeper->life);
    g_autofree char *text = record_of_end(end, &keeper->process);
    if (!durable_write(path, text, strlen(text), error))
        return FALSE;
    /* Any user may have thousands of processes end, and all lives are read each time. */
    if (keeper->next == 1 && (guint)g_atomic_int_add(&ends, 1) % ENDS_AT_ONCE == 0)
        keep_to_quota(keeper);
    return TRUE;
}
