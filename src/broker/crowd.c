/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/crowd.h"

#include "confine/account.h"
#include "target/user-namespace.h"

enum {
    BRIEF_S = 30,
    OWN_DUMP_S = 90,
};

typedef struct {
    CrowdSession session;
    gboolean stuck;
} Member;

struct Crowd {
    GArray *members; /* of Member: sessions that are not known to have ended */
    GArray *prompt;  /* of guint64: accounts */
};

guint64
crowd_account(const Process *process)
{
    const guint64 maker = user_namespace_maker(process->pid);
    return maker != 0 ? maker : account_of(process->uids[0]);
}

Crowd *
crowd_new(void)
{
    Crowd *crowd = g_new0(Crowd, 1);
    crowd->members = g_array_new(FALSE, FALSE, sizeof(Member));
    crowd->prompt = g_array_new(FALSE, FALSE, sizeof(guint64));
    return crowd;
}

void
crowd_free(Crowd *crowd)
{
    if (crowd == NULL)
        return;
    g_array_unref(crowd->members);
    g_array_unref(crowd->prompt);
    g_free(crowd);
}

/* Longer than the client of such a session waits; 0: it has a limit of its own, or lasts as long as its client. */
static gint64
patience_us(BrokerKind kind)
{
    return (broker_is_brief(kind) ? BRIEF_S : kind == BROKER_OWN_DUMP ? OWN_DUMP_S : 0) * G_USEC_PER_SEC;
}

static gboolean
is_over(const CrowdSession *session, gint64 now_us)
{
    return patience_us(session->kind) != 0 && now_us - session->begun_us > patience_us(session->kind);
}

/* The index, or the number of accounts. */
static guint
find_prompt(const Crowd *crowd, guint64 account)
{
    guint i = 0;
    while (i < crowd->prompt->len && g_array_index(crowd->prompt, guint64, i) != account)
        i++;
    return i;
}

static gboolean
is_prompt(const Crowd *crowd, guint64 account)
{
    return account == 0 || find_prompt(crowd, account) < crowd->prompt->len;
}

static guint
count_stuck(const Crowd *crowd, guint64 account)
{
    guint n = 0;
    for (guint i = 0; i < crowd->members->len; i++) {
        const Member *member = &g_array_index(crowd->members, Member, i);
        n += member->stuck && member->session.account == account;
    }
    return n;
}

static void
note_stuck(Crowd *crowd, Member *member)
{
    const guint i = find_prompt(crowd, member->session.account);
    member->stuck = TRUE;
    if (i < crowd->prompt->len)
        g_array_remove_index_fast(crowd->prompt, i);
}

static void
note_ended(Crowd *crowd, const Member *member)
{
    const guint64 account = member->session.account;
    if (!member->stuck && patience_us(member->session.kind) != 0 && !is_prompt(crowd, account) &&
        crowd->prompt->len < CROWD_PROMPT_KEPT && count_stuck(crowd, account) == 0)
        g_array_append_val(crowd->prompt, account);
}

void
crowd_look(Crowd *crowd, CrowdState (*state_of)(pid_t pid), void (*give_up)(pid_t pid), gint64 now_us)
{
    for (guint i = crowd->members->len; i > 0; i--) {
        Member *member = &g_array_index(crowd->members, Member, i - 1);
        const CrowdState state = state_of(member->session.pid);
        if (state == CROWD_ENDED) {
            note_ended(crowd, member);
            g_array_remove_index_fast(crowd->members, i - 1);
        } else if (state == CROWD_LINGERS && !member->stuck) {
            note_stuck(crowd, member);
        } else if (!member->stuck && is_over(&member->session, now_us)) {
            give_up(member->session.pid);
            note_stuck(crowd, member);
        }
    }
}

gboolean
crowd_has_room(const Crowd *crowd, const CrowdSession *session)
{
    guint all = 0, all_stuck = 0, others = 0, targets = 0, stuck = 0;
    for (guint i = 0; i < crowd->members->len; i++) {
        const Member *member = &g_array_index(crowd->members, Member, i);
        const gboolean own = member->session.account == session->account;
        all += !member->stuck;
        all_stuck += member->stuck;
        stuck += own && member->stuck;
        targets += own && member->session.kind == BROKER_TARGET;
        others += own && member->session.kind != BROKER_TARGET;
    }
    const gboolean full = session->kind == BROKER_TARGET ? targets >= CROWD_TARGETS : others >= CROWD_OF_USER;
    return !full && all < CROWD_MAX && stuck < CROWD_STUCK &&
           (all_stuck < CROWD_STUCK_MAX || is_prompt(crowd, session->account));
}

void
crowd_add(Crowd *crowd, const CrowdSession *session)
{
    const Member member = {.session = *session};
    g_array_append_val(crowd->members, member);
}
