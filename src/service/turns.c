/* SPDX-License-Identifier: Apache-2.0 */
#include "service/turns.h"

#include "confine/keyed-hash.h"

#include <math.h>

/* How much the jobs of a user have delayed others: the sum of the squares of their times, since a job of twice the time
 * is waited for twice as often, and twice as long. So a thousand prompt jobs count less than one that lets a deadline
 * pass. Half of it is forgotten after HALF_S. */
#define HALF_S 300.0
/* In square seconds, of a user without a record: as if a target had missed its deadline once. */
#define NEW 25.0
/* Users with more leave some threads to others; a new one does so for a minute and a half. */
#define SLOW 20.0

typedef struct {
    GSequenceIter *place; /* in Turns.ring if anything is ready, in Turns.idle if nothing is running either */
    guint64 id;
    guint running;
    GQueue ready;
    /* The binary logarithm of the delay, plus the half-lives until the time at which it is that: the order of two users
     * stays the same while their delays are forgotten. */
    gdouble delay;
} TurnsUser;

static gdouble
half_lives(gint64 time_us)
{
    return (gdouble)time_us / G_USEC_PER_SEC / HALF_S;
}

static gdouble
delay_of(const TurnsUser *user, gint64 now_us)
{
    return exp2(user->delay - half_lives(now_us));
}

static void
set_delay(TurnsUser *user, gdouble delay, gint64 now_us)
{
    user->delay = log2(delay) + half_lives(now_us);
}

static gint
compare_delays(gconstpointer a, gconstpointer b, gpointer data)
{
    const TurnsUser *left = a, *right = b;
    return (left->delay > right->delay) - (left->delay < right->delay);
}

void
turns_init(Turns *turns, guint threads, guint per_user)
{
    *turns = (Turns){.threads = threads, .per_user = per_user};
    turns->users = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, NULL, g_free);
    turns->ring = g_sequence_new(NULL);
    turns->idle = g_sequence_new(NULL);
}

void
turns_clear(Turns *turns)
{
    g_clear_pointer(&turns->ring, g_sequence_free);
    g_clear_pointer(&turns->idle, g_sequence_free);
    g_clear_pointer(&turns->users, g_hash_table_unref);
}

static TurnsUser *
find_user(const Turns *turns, guint64 id)
{
    return g_hash_table_lookup(turns->users, &id);
}

static TurnsUser *
get_user(Turns *turns, guint64 id, gint64 now_us)
{
    TurnsUser *user = find_user(turns, id);
    if (user != NULL)
        return user;
    user = g_new0(TurnsUser, 1);
    user->id = id;
    set_delay(user, NEW, now_us);
    g_queue_init(&user->ready);
    g_hash_table_insert(turns->users, &user->id, user);
    return user;
}

/* Forgetting a user is never to his advantage over users without a record. */
static void
forget_one_idle(Turns *turns)
{
    GSequenceIter *last = g_sequence_iter_prev(g_sequence_get_end_iter(turns->idle));
    const TurnsUser *user = g_sequence_get(last);
    g_sequence_remove(last);
    g_hash_table_remove(turns->users, &user->id);
}

/* Puts the user where it belongs, after those with the same delay. */
static void
place(Turns *turns, TurnsUser *user)
{
    g_clear_pointer(&user->place, g_sequence_remove);
    if (user->ready.length > 0)
        user->place = g_sequence_insert_sorted(turns->ring, user, compare_delays, NULL);
    else if (user->running == 0)
        user->place = g_sequence_insert_sorted(turns->idle, user, compare_delays, NULL);
    if (g_sequence_get_length(turns->idle) > TURNS_KEPT)
        forget_one_idle(turns);
}

void
turns_enter(Turns *turns, guint64 id, GList *ready, gint64 now_us)
{
    TurnsUser *user = get_user(turns, id, now_us);
    g_queue_push_tail_link(&user->ready, ready);
    if (user->ready.length == 1)
        place(turns, user);
}

void
turns_withdraw(Turns *turns, guint64 id, GList *ready)
{
    TurnsUser *user = find_user(turns, id);
    g_queue_unlink(&user->ready, ready);
    if (user->ready.length == 0)
        place(turns, user);
}

/* How many threads may be taken when USER takes one. A single user can always reach PER_USER. */
static guint
threads_for(const Turns *turns, const TurnsUser *user, gint64 now_us)
{
    const guint left = MIN(turns->per_user / 2, turns->threads - turns->per_user);
    return turns->threads - (user->running > 0 ? turns->firsts : 0) - (delay_of(user, now_us) > SLOW ? left : 0);
}

/* The user with something ready who comes next, or NULL. */
static TurnsUser *
next_user(const Turns *turns, gint64 now_us)
{
    GSequenceIter *at = g_sequence_get_begin_iter(turns->ring);
    for (; !g_sequence_iter_is_end(at); at = g_sequence_iter_next(at)) {
        TurnsUser *user = g_sequence_get(at);
        if (user->running < turns->per_user && turns->running < threads_for(turns, user, now_us))
            return user;
    }
    return NULL;
}

GList *
turns_next(Turns *turns, gint64 now_us)
{
    TurnsUser *user = next_user(turns, now_us);
    if (user == NULL)
        return NULL;
    GList *ready = user->ready.head;
    g_queue_unlink(&user->ready, ready);
    user->running++;
    turns->running++;
    place(turns, user);
    return ready;
}

void
turns_done(Turns *turns, guint64 id, gint64 took_us, gint64 now_us)
{
    TurnsUser *user = find_user(turns, id);
    const gdouble took_s = (gdouble)took_us / G_USEC_PER_SEC;
    user->running--;
    turns->running--;
    set_delay(user, delay_of(user, now_us) + took_s * took_s, now_us);
    place(turns, user);
}
