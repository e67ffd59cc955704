/* SPDX-License-Identifier: Apache-2.0 */
#include "http/audit.h"

#include "confine/keyed-hash.h"

#include <string.h>

enum {
    TEXT_MAX = 1024,  /* bytes of a path or query */
    PEERS_MAX = 1024, /* with separate counts of refusals; further peers share one */
};

static const char other_peers[] = "other peers";

/* The allowance of one peer. */
typedef struct {
    double refusals; /* remaining lines */
    double changes;  /* likewise */
    gint64 counted_us;
    guint64 left_out;
} Account;

struct Audit {
    void (*say)(const char *text, gpointer data);
    gpointer data;
    GHashTable *accounts; /* name of a peer -> Account, both owned */
    guint timer;          /* source id; 0: no accounts */
};

Audit *
audit_new(void (*say)(const char *text, gpointer data), gpointer data)
{
    Audit *audit = g_new0(Audit, 1);
    audit->say = say;
    audit->data = data;
    audit->accounts = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    return audit;
}

static void
refill(Account *account)
{
    gint64 now = g_get_monotonic_time();
    double seconds = (double)(now - account->counted_us) / G_USEC_PER_SEC;
    account->refusals = MIN(account->refusals + seconds, AUDIT_REFUSALS_AT_ONCE);
    account->changes = MIN(account->changes + seconds * AUDIT_CHANGES_RATE, AUDIT_CHANGES_AT_ONCE);
    account->counted_us = now;
}

static gboolean
is_full(const Account *account)
{
    return account->refusals >= AUDIT_REFUSALS_AT_ONCE && account->changes >= AUDIT_CHANGES_AT_ONCE;
}

/* Uses one line of an allowance. */
static gboolean
spend(double *of)
{
    if (*of < 1)
        return FALSE;
    *of -= 1;
    return TRUE;
}

static void
say_left_out(const Audit *audit, const char *peer, Account *account)
{
    if (account->left_out == 0)
        return;
    g_autofree char *line =
        g_strdup_printf("audit: %s: %" G_GUINT64_FORMAT " more refused requests", peer, account->left_out);
    account->left_out = 0;
    audit->say(line, audit->data);
}

static void
say_all_left_out(Audit *audit)
{
    GHashTableIter iterator;
    gpointer peer, account;
    g_hash_table_iter_init(&iterator, audit->accounts);
    while (g_hash_table_iter_next(&iterator, &peer, &account)) {
        say_left_out(audit, peer, account);
        refill(account);
        if (is_full(account))
            g_hash_table_iter_remove(&iterator);
    }
}

static gboolean
on_timer(gpointer data)
{
    Audit *audit = data;
    say_all_left_out(audit);
    if (g_hash_table_size(audit->accounts) > 0)
        return G_SOURCE_CONTINUE;
    audit->timer = 0;
    return G_SOURCE_REMOVE;
}

void
audit_free(Audit *audit)
{
    say_all_left_out(audit);
    g_clear_handle_id(&audit->timer, g_source_remove);
    g_hash_table_unref(audit->accounts);
    g_free(audit);
}

static Account *
find_account(Audit *audit, const char *peer)
{
    Account *account = g_hash_table_lookup(audit->accounts, peer);
    if (account == NULL && g_hash_table_size(audit->accounts) >= PEERS_MAX && peer != other_peers)
        return find_account(audit, other_peers);
    if (account != NULL)
        return account;
    account = g_new0(Account, 1);
    account->refusals = AUDIT_REFUSALS_AT_ONCE;
    account->changes = AUDIT_CHANGES_AT_ONCE;
    account->counted_us = g_get_monotonic_time();
    g_hash_table_insert(audit->accounts, g_strdup(peer), account);
    if (audit->timer == 0)
        audit->timer = g_timeout_add_seconds(AUDIT_COUNT_SECONDS, on_timer, audit);
    return account;
}

/* TEXT, escaped so that a client cannot forge a line, and shortened. */
static char *
quote(const char *text)
{
    g_autofree char *escaped = g_strescape(text, NULL);
    return strlen(escaped) <= TEXT_MAX ? g_steal_pointer(&escaped) : g_strdup_printf("%.*s...", TEXT_MAX, escaped);
}

char *
audit_describe(const Exchange *exchange, const char *label)
{
    const RouteRequest *request = exchange_request(exchange);
    g_autofree char *method = quote(request->method);
    g_autofree char *path = quote(request->path);
    g_autofree char *query = quote(request->query);
    return g_strdup_printf("%s: %s %s%s%s%s%s", exchange_who(exchange), method, path, query[0] != '\0' ? "?" : "",
                           query, label != NULL ? " on " : "", label != NULL ? label : "");
}

static Account *
account_of(Audit *audit, const Exchange *exchange)
{
    Account *account = find_account(audit, peer_name(exchange_peer(exchange)));
    refill(account);
    return account;
}

gboolean
audit_takes_change(Audit *audit, const Exchange *exchange)
{
    return spend(&account_of(audit, exchange)->changes);
}

void
audit_change(Audit *audit, const char *about, const Answer *answer)
{
    g_autofree char *line = g_strdup_printf("audit: %s: %u", about, answer_status(answer));
    audit->say(line, audit->data);
}

void
audit_refusal(Audit *audit, const Exchange *exchange, const Answer *answer)
{
    Account *account = account_of(audit, exchange);
    if (!spend(&account->refusals)) {
        account->left_out++;
        return;
    }
    g_autofree char *about = audit_describe(exchange, NULL);
    audit_change(audit, about, answer);
}
