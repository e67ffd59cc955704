/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/tally.h"

#include "confine/keyed-hash.h"
#include "rules/rule.h"

struct Tally {
    GHashTable *rules; /* name -> table of account -> GQueue of gint64 *, the times */
};

static void
free_times(gpointer times)
{
    g_queue_free_full(times, g_free);
}

Tally *
tally_new(void)
{
    Tally *tally = g_new0(Tally, 1);
    tally->rules = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, (GDestroyNotify)g_hash_table_unref);
    return tally;
}

void
tally_free(Tally *tally)
{
    g_hash_table_unref(tally->rules);
    g_free(tally);
}

static GHashTable *
accounts_of(const Tally *tally, const char *rule)
{
    GHashTable *accounts = g_hash_table_lookup(tally->rules, rule);
    if (accounts == NULL) {
        accounts = g_hash_table_new_full(NULL, NULL, NULL, free_times);
        g_hash_table_insert(tally->rules, g_strdup(rule), accounts);
    }
    return accounts;
}

void
tally_add(Tally *tally, const char *rule, guint32 account, gint64 now_us)
{
    GHashTable *accounts = accounts_of(tally, rule);
    GQueue *times = g_hash_table_lookup(accounts, GUINT_TO_POINTER(account));
    if (times == NULL) {
        times = g_queue_new();
        g_hash_table_insert(accounts, GUINT_TO_POINTER(account), times);
    }
    g_queue_push_tail(times, g_memdup2(&now_us, sizeof(now_us)));
}

guint
tally_count(Tally *tally, const char *rule, guint32 account, gint64 now_us, gint64 window_us)
{
    GHashTable *accounts = g_hash_table_lookup(tally->rules, rule);
    GQueue *times = accounts != NULL ? g_hash_table_lookup(accounts, GUINT_TO_POINTER(account)) : NULL;
    if (times == NULL)
        return 0;
    for (const gint64 *time_us; (time_us = g_queue_peek_head(times)) != NULL && *time_us <= now_us - window_us;)
        g_free(g_queue_pop_head(times));
    for (GList *link = times->tail; link != NULL && *(gint64 *)link->data > now_us; link = link->prev)
        *(gint64 *)link->data = now_us; /* the clock was set back */
    const guint count = times->length;
    if (count == 0)
        g_hash_table_remove(accounts, GUINT_TO_POINTER(account));
    return count;
}

static gboolean
is_gone(gpointer name, gpointer accounts, gpointer rules)
{
    const GPtrArray *all = rules;
    for (guint i = 0; i < all->len; i++)
        if (g_str_equal(((const Rule *)all->pdata[i])->name, name))
            return FALSE;
    return TRUE;
}

void
tally_keep(Tally *tally, const GPtrArray *rules)
{
    g_hash_table_foreach_remove(tally->rules, is_gone, (gpointer)(guintptr)rules);
}
