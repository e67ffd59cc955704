/* SPDX-License-Identifier: Apache-2.0 */
#include "service/turns.h"

typedef struct {
    GList link; /* in Turns.ring, if anything is ready */
    gsize id;
    guint running;
    GQueue ready;
} TurnsUser;

void
turns_init(Turns *turns, guint threads, guint per_user)
{
    *turns = (Turns){.threads = threads, .per_user = per_user};
    turns->users = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_queue_init(&turns->ring);
}

void
turns_clear(Turns *turns)
{
    g_clear_pointer(&turns->users, g_hash_table_unref);
}

static TurnsUser *
find_user(const Turns *turns, gsize id)
{
    return g_hash_table_lookup(turns->users, GSIZE_TO_POINTER(id));
}

static TurnsUser *
get_user(Turns *turns, gsize id)
{
    TurnsUser *user = find_user(turns, id);
    if (user != NULL)
        return user;
    user = g_new0(TurnsUser, 1);
    user->link.data = user;
    user->id = id;
    g_queue_init(&user->ready);
    g_hash_table_insert(turns->users, GSIZE_TO_POINTER(id), user);
    return user;
}

static void
forget_if_idle(Turns *turns, const TurnsUser *user)
{
    if (user->running == 0 && user->ready.length == 0)
        g_hash_table_remove(turns->users, GSIZE_TO_POINTER(user->id));
}

void
turns_enter(Turns *turns, gsize id, GList *ready)
{
    TurnsUser *user = get_user(turns, id);
    if (user->ready.length == 0)
        g_queue_push_tail_link(&turns->ring, &user->link);
    g_queue_push_tail_link(&user->ready, ready);
}

static void
take_out(Turns *turns, TurnsUser *user, GList *ready)
{
    g_queue_unlink(&user->ready, ready);
    if (user->ready.length == 0)
        g_queue_unlink(&turns->ring, &user->link);
}

void
turns_withdraw(Turns *turns, gsize id, GList *ready)
{
    TurnsUser *user = find_user(turns, id);
    take_out(turns, user, ready);
    forget_if_idle(turns, user);
}

GList *
turns_next(Turns *turns)
{
    TurnsUser *user = NULL;
    if (turns->running >= turns->threads)
        return NULL;
    for (GList *link = turns->ring.head; link != NULL && user == NULL; link = link->next)
        if (((const TurnsUser *)link->data)->running < turns->per_user)
            user = link->data;
    if (user == NULL)
        return NULL;
    GList *ready = user->ready.head;
    take_out(turns, user, ready);
    if (user->ready.length > 0) {
        g_queue_unlink(&turns->ring, &user->link);
        g_queue_push_tail_link(&turns->ring, &user->link);
    }
    user->running++;
    turns->running++;
    return ready;
}

void
turns_done(Turns *turns, gsize id)
{
    TurnsUser *user = find_user(turns, id);
    user->running--;
    turns->running--;
    forget_if_idle(turns, user);
}
