/* SPDX-License-Identifier: Apache-2.0 */
#include "export/schedule.h"

#include "confine/keyed-hash.h"

#include <string.h>

static guint64
hash_text(const char *text)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    guint8 digest[32];
    gsize size = sizeof(digest);
    guint64 hash;
    g_checksum_update(checksum, (const guchar *)text, (gssize)strlen(text));
    g_checksum_get_digest(checksum, digest, &size);
    memcpy(&hash, digest, sizeof(hash));
    return GUINT64_FROM_BE(hash);
}

static gint64
offset_us(const Schedule *schedule)
{
    return (gint64)(hash_text(schedule->host) % (guint64)schedule->every_us);
}

gint64
schedule_round(const Schedule *schedule, gint64 now_us)
{
    return (now_us - offset_us(schedule) + schedule->every_us) / schedule->every_us;
}

gint64
schedule_next_us(const Schedule *schedule, gint64 now_us)
{
    return schedule_round(schedule, now_us) * schedule->every_us + offset_us(schedule);
}

guint
schedule_idle_rounds(const Schedule *schedule, gint64 took_us)
{
    gint64 rounds = took_us * 100 / (schedule->every_us * MAX(schedule->dump_share, 1));
    return (guint)CLAMP(rounds, 0, G_MAXINT);
}

typedef struct {
    guint64 hash;
    guint process;
} Ranked;

static gint
lower(gconstpointer a, gconstpointer b)
{
    const Ranked *one = a, *other = b;
    return one->hash < other->hash ? -1 : one->hash > other->hash ? 1 : one->process < other->process ? -1 : 1;
}

void
schedule_choose(const Schedule *schedule, gint64 round, const ScheduleProcess *processes, guint n, gboolean *chosen)
{
    g_autoptr(GHashTable) of_service = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    g_autofree Ranked *order = g_new(Ranked, n + 1);
    for (guint i = 0; i < n; i++) {
        g_autofree char *text = g_strdup_printf("%s %d %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT, schedule->host,
                                                (int)processes[i].pid, processes[i].start, round);
        order[i] = (Ranked){hash_text(text), i};
    }
    qsort(order, n, sizeof(*order), lower);
    for (guint i = 0; i < n; i++) {
        const ScheduleProcess *process = &processes[order[i].process];
        g_autofree char *key = g_strdup_printf("%u %s", (guint)process->user, process->service);
        guint taken = GPOINTER_TO_UINT(g_hash_table_lookup(of_service, key));
        gboolean takes = process->idle == 0 && (schedule->per_service == 0 || taken < schedule->per_service);
        chosen[order[i].process] = takes;
        if (takes)
            g_hash_table_insert(of_service, g_steal_pointer(&key), GUINT_TO_POINTER(taken + 1));
    }
}

/* ---- one after the other ---- */

enum {
    REST = 10,                     /* how much longer than a dump that made others late its account has to wait */
    LATE_US = 10 * G_USEC_PER_SEC, /* a shorter one is not counted as late, however short the rounds are */
};

GHashTable *
schedule_spent_new(void)
{
    return g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, g_free);
}

static guint64
spent_for(GHashTable *spent, uid_t account)
{
    const guint64 *us = g_hash_table_lookup(spent, GUINT_TO_POINTER(account));
    return us != NULL ? *us : 0;
}

static gboolean
take_off(gpointer account, gpointer us, gpointer round_us)
{
    guint64 *left = us;
    const guint64 off = *(const guint64 *)round_us;
    const gboolean none = *left <= off;
    *left -= MIN(*left, off);
    return none;
}

void
schedule_begin_round(const Schedule *schedule, GHashTable *spent)
{
    guint64 round_us = (guint64)schedule->every_us;
    g_hash_table_foreach_remove(spent, take_off, &round_us);
}

void
schedule_spend(const Schedule *schedule, GHashTable *spent, uid_t account, gint64 took_us)
{
    const gint64 times = took_us > MAX(schedule->every_us, LATE_US) ? REST : 1;
    const guint64 us = spent_for(spent, account) + (guint64)(MAX(took_us, 0) * times);
    g_hash_table_replace(spent, GUINT_TO_POINTER(account), g_memdup2(&us, sizeof(us)));
}

static gboolean
is_of_one_account(const ScheduleProcess *processes, guint n)
{
    for (guint i = 1; i < n; i++)
        if (processes[i].account != processes[0].account)
            return FALSE;
    return TRUE;
}

guint
schedule_next(const Schedule *schedule, const ScheduleProcess *processes, guint n, const gboolean *waiting,
              GHashTable *spent)
{
    guint64 least = is_of_one_account(processes, n) ? G_MAXUINT64 : (guint64)schedule->every_us;
    guint next = n;
    for (guint i = 0; i < n; i++) {
        const guint64 us = waiting[i] ? spent_for(spent, processes[i].account) : G_MAXUINT64;
        if (us < least) {
            least = us;
            next = i;
        }
    }
    return next;
}

/* ---- turns ---- */

enum { USERS_MAX = 4096 };

typedef struct {
    guint64 taken_us; /* by what has ended */
    guint under_way;
} Turn;

struct ScheduleTurns {
    GHashTable *users; /* uid -> Turn */
};

ScheduleTurns *
schedule_turns_new(void)
{
    ScheduleTurns *turns = g_new(ScheduleTurns, 1);
    turns->users = g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, g_free);
    return turns;
}

void
schedule_turns_free(ScheduleTurns *turns)
{
    g_hash_table_unref(turns->users);
    g_free(turns);
}

/* The turn of the user whose processes have taken most. */
static Turn
most_taken(const ScheduleTurns *turns)
{
    GHashTableIter each;
    gpointer turn;
    Turn most = {0};
    g_hash_table_iter_init(&each, turns->users);
    while (g_hash_table_iter_next(&each, NULL, &turn))
        most.taken_us = MAX(most.taken_us, ((const Turn *)turn)->taken_us);
    return most;
}

/* Of those with nothing under way, the user whose processes have taken most: he loses nothing that an unknown user
 * has. */
static void
forget_one(const ScheduleTurns *turns)
{
    GHashTableIter each;
    gpointer user, value, found = NULL;
    const Turn *most = NULL;
    g_hash_table_iter_init(&each, turns->users);
    while (g_hash_table_iter_next(&each, &user, &value)) {
        const Turn *turn = value;
        if (turn->under_way == 0 && (most == NULL || turn->taken_us > most->taken_us)) {
            most = turn;
            found = user;
        }
    }
    if (most != NULL)
        g_hash_table_remove(turns->users, found);
}

static void
set_turn(const ScheduleTurns *turns, uid_t user, const Turn *turn)
{
    g_hash_table_insert(turns->users, GUINT_TO_POINTER(user), g_memdup2(turn, sizeof(*turn)));
}

/* UNKNOWN: the turn of a user for whom there is no room. */
static const Turn *
turn_of(const ScheduleTurns *turns, uid_t user, const Turn *unknown)
{
    const Turn *turn = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(user));
    if (turn == NULL && g_hash_table_size(turns->users) < USERS_MAX)
        set_turn(turns, user, unknown);
    return turn != NULL ? turn : unknown;
}

static gboolean
comes_before(const Turn *one, const Turn *other)
{
    return one->under_way != other->under_way ? one->under_way < other->under_way : one->taken_us < other->taken_us;
}

guint
schedule_turn_next(ScheduleTurns *turns, const uid_t *users, guint n)
{
    guint next = 0;
    const Turn unknown = most_taken(turns);
    for (guint i = 1; i < n; i++)
        if (comes_before(turn_of(turns, users[i], &unknown), turn_of(turns, users[next], &unknown)))
            next = i;
    Turn turn = *turn_of(turns, users[next], &unknown);
    turn.under_way++;
    if (!g_hash_table_contains(turns->users, GUINT_TO_POINTER(users[next])))
        forget_one(turns);
    set_turn(turns, users[next], &turn);
    return next;
}

void
schedule_turn_end(ScheduleTurns *turns, uid_t user, gint64 took_us)
{
    Turn *turn = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(user));
    if (turn == NULL || turn->under_way == 0)
        return;
    turn->under_way--;
    turn->taken_us += (guint64)MAX(took_us, 0);
}
