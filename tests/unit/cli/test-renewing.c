/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/renewing.h"

#include "target/implementation.h"

enum {
    LATE_US = 50000,
    SOON_MS = 1500, /* until the lease of the target that blocks is renewed */
    PATIENCE_S = 30,
};

/* A target, and its recording. */
typedef struct {
    Target target;
    Recording recording;
    char name;
    gint64 late_us;
    gboolean blocks; /* until the gate is open */
    gboolean fails;
} Member;

static GMutex lock;
static GCond changed;
static gboolean is_open;
static GString *asked; /* the names of the targets whose leases were renewed */

static gboolean
lease(Target *target, const WireLeaseRequest *request, WireLease *given, GError **error)
{
    const Member *member = (const Member *)target;
    g_mutex_lock(&lock);
    g_string_append_c(asked, member->name);
    g_cond_broadcast(&changed);
    while (member->blocks && !is_open)
        g_cond_wait(&changed, &lock);
    g_mutex_unlock(&lock);
    g_usleep((gulong)member->late_us);
    *given = (WireLease){.id = 1};
    if (member->fails)
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "it has ended");
    return !member->fails;
}

static const TargetOps ops = {.lease = lease};

static void
add(Renewing *renewing, Member *member, char name, uid_t owner, gint64 due_in_ms)
{
    const gint64 now_ms = g_get_monotonic_time() / 1000;
    member->name = name;
    member->target.ops = &ops;
    member->recording.target = &member->target;
    member->recording.owner = owner;
    member->recording.kept = -1;
    member->recording.recorder.renewed_ms = (guint64)(now_ms - RECORDER_RENEW_MS + due_in_ms);
    renewing_add(renewing, &member->recording);
}

/* Waits until N leases were to be renewed. */
static void
wait_for(gsize n)
{
    const gint64 end_us = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
    g_mutex_lock(&lock);
    while (asked->len < n)
        g_assert_true(g_cond_wait_until(&changed, &lock, end_us));
    g_mutex_unlock(&lock);
}

static void
open_gate(void)
{
    g_mutex_lock(&lock);
    is_open = TRUE;
    g_cond_broadcast(&changed);
    g_mutex_unlock(&lock);
}

static Renewing *
begin(void)
{
    g_autoptr(GError) error = NULL;
    asked = g_string_new(NULL);
    is_open = FALSE;
    Renewing *renewing = renewing_new(&error);
    g_assert_no_error(error);
    return renewing;
}

static void
end(Renewing *renewing)
{
    renewing_free(renewing);
    g_string_free(asked, TRUE);
}

/* Two leases become due while a third target blocks: that of the target that was late is renewed last, though it is due
 * longest. */
static void
test_order(void)
{
    Member late = {.late_us = LATE_US}, prompt = {0}, blocks = {.blocks = TRUE};
    Renewing *renewing = begin();
    add(renewing, &late, 'l', 65531, 0);
    wait_for(1);
    add(renewing, &prompt, 'p', 65532, 0);
    wait_for(2);
    add(renewing, &blocks, 'b', 65533, SOON_MS);
    wait_for(3);
    g_assert_false(renewing_try_take(renewing, &blocks.recording));
    renewing_take(renewing, &prompt.recording);
    renewing_give_back(renewing, &prompt.recording);
    g_usleep((RECORDER_RENEW_MS - SOON_MS) * 1000 + 4 * LATE_US);
    open_gate();
    wait_for(5);
    g_assert_true(g_str_has_prefix(asked->str, "lpbpl"));
    end(renewing);
}

static void
test_failure(void)
{
    Member fails = {.fails = TRUE}, other = {0};
    g_autoptr(GError) error = NULL;
    Renewing *renewing = begin();
    add(renewing, &fails, 'f', 65531, 0);
    wait_for(1);
    renewing_take(renewing, &fails.recording);
    g_assert_false(renewing_goes_on(renewing, &fails.recording, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_GONE);
    renewing_remove(renewing, &fails.recording);
    add(renewing, &other, 'o', 65531, 0);
    wait_for(2);
    renewing_take(renewing, &other.recording);
    g_assert_true(renewing_goes_on(renewing, &other.recording, NULL));
    g_assert_cmpstr(asked->str, ==, "fo");
    end(renewing);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/renewing/order", test_order);
    g_test_add_func("/renewing/failure", test_failure);
    return g_test_run();
}
