/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/observer.h"

#include "blackbox/watch.h"
#include "target/implementation.h"

#include <signal.h>
#include <unistd.h>

static const struct {
    guint64 before, after;
    guint64 used; /* of a limit of 1000 */
    int status;   /* -1: unknown */
    BlackboxCause cause;
    gint number;
    const char *unit; /* its unit's result; NULL: unknown */
} cases[] = {
    {0, 1, 990, SIGKILL, BLACKBOX_CAUSE_OOM, SIGKILL, NULL},
    {0, 1, 990, -1, BLACKBOX_CAUSE_OOM, 0, NULL},
    {3, 3, 990, SIGKILL, BLACKBOX_CAUSE_SIGNAL, SIGKILL, NULL}, /* sent by another process */
    {0, 1, 990, SIGTERM, BLACKBOX_CAUSE_SIGNAL, SIGTERM, NULL}, /* the kernel has killed another process of the group */
    {0, 1, 990, 0, BLACKBOX_CAUSE_EXIT, 0, NULL},
    {0, BLACKBOX_UNKNOWN, 990, SIGKILL, BLACKBOX_CAUSE_OOM_LIKELY, SIGKILL, NULL},
    {0, BLACKBOX_UNKNOWN, 900, SIGKILL, BLACKBOX_CAUSE_SIGNAL, SIGKILL, NULL},
    {0, 0, 100, 7 << 8, BLACKBOX_CAUSE_EXIT, 7, NULL},
    {0, 0, 100, SIGSEGV | 0x80, BLACKBOX_CAUSE_SIGNAL, SIGSEGV, NULL}, /* with a core dump */
    {0, BLACKBOX_UNKNOWN, 990, -1, BLACKBOX_CAUSE_UNKNOWN, 0, NULL},
    {0, BLACKBOX_UNKNOWN, 900, -1, BLACKBOX_CAUSE_OOM, 0, "oom-kill"},
    {0, BLACKBOX_UNKNOWN, 900, SIGKILL, BLACKBOX_CAUSE_OOM, SIGKILL, "oom-kill"},
    {3, 3, 900, SIGKILL, BLACKBOX_CAUSE_OOM, SIGKILL, "oom-kill"}, /* by systemd-oomd */
    {3, 4, 900, SIGTERM, BLACKBOX_CAUSE_SIGNAL, SIGTERM,
     "oom-kill"}, /* its unit is stopped after another process was killed */
    {0, BLACKBOX_UNKNOWN, 990, SIGKILL, BLACKBOX_CAUSE_OOM_LIKELY, SIGKILL, "signal"},
    {0, 0, 900, -1, BLACKBOX_CAUSE_UNKNOWN, 0, "watchdog"},
};

static void
test_causes(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        BlackboxEnd end = {
            .used = cases[i].used, .limit = 1000, .kills_before = cases[i].before, .kills_after = cases[i].after};
        g_strlcpy(end.unit_result, cases[i].unit != NULL ? cases[i].unit : "", sizeof(end.unit_result));
        observer_judge_end(&end, cases[i].status != -1 ? &cases[i].status : NULL);
        g_assert_cmpint(end.cause, ==, cases[i].cause);
        g_assert_cmpint(end.number, ==, cases[i].number);
    }
}

/* ---- profiling ---- */

/* A target that only has leases. */
typedef struct {
    Target target;
    gboolean active;
    guint64 lease; /* 0: none */
    guint takes;
} Fake;

static gboolean
fake_hello(Target *target, WireHelloReply *hello, GError **error)
{
    const Fake *fake = (const Fake *)(gconstpointer)target;
    *hello = (WireHelloReply){.flags = fake->active ? WIRE_FLAG_PROF_ACTIVE : 0, .lease.id = fake->lease};
    return TRUE;
}

static gboolean
fake_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error)
{
    Fake *fake = (Fake *)(gpointer)target;
    g_assert_cmpuint(request->flags, ==, WIRE_LEASE_YIELDS | WIRE_LEASE_JEMALLOC);
    if (request->action != WIRE_LEASE_TAKE && request->lease_id != fake->lease) {
        g_set_error(error, TARGET_ERROR, OUTCOME_NOT_FOUND, "no such lease");
        return FALSE;
    }
    if (request->action == WIRE_LEASE_TAKE)
        fake->lease = 100 + ++fake->takes;
    else if (request->action == WIRE_LEASE_RELEASE)
        fake->lease = 0;
    fake->active = fake->lease != 0;
    *lease = (WireLease){.id = fake->lease};
    return TRUE;
}

static const TargetOps fake_ops = {.via = TARGET_VIA_AGENT, .hello = fake_hello, .lease = fake_lease};

/* Changes of profiling between two checks: the lease, of another client (1 to 99), none (0), or the black box's (100 or
 * more); whether profiling is on; and whether the black box takes a lease then. */
static const struct {
    const char *what;
    guint64 lease;
    gboolean active, taken;
} turns[] = {
    {"it is off at first", 0, FALSE, TRUE},
    {"another client's recording", 5, TRUE, FALSE},
    {"which goes on", 5, TRUE, FALSE},
    {"and is over", 0, FALSE, TRUE},
    {"another client switches it off", 0, FALSE, FALSE},
    {"and it stays off", 0, FALSE, FALSE},
    {"during a recording", 6, TRUE, FALSE},
    {"and after it", 0, FALSE, FALSE},
    {"another client switches it on for good", 0, TRUE, FALSE},
    {"and off again", 0, FALSE, FALSE},
};

static void
test_profiling(void)
{
    Fake fake = {.target = {.ops = &fake_ops, .label = (char *)(guintptr) "fake"}};
    Process self;
    g_autoptr(GError) error = NULL;
    g_autofree char *root = g_dir_make_tmp("jescope-observer-XXXXXX", NULL);
    const ObserverOptions options = {
        .directory = root, .quota = blackbox_quota_default, .profiling = OBSERVER_PROFILES_WITH_JEMALLOC};
    g_assert_true(process_read(getpid(), &self));
    g_autoptr(BlackboxObserver) observer = observer_new(&self, &options, &error);
    g_assert_no_error(error);
    /* After its lease has been renewed, profiling is not lent any more: losing it then is another client's wish. */
    observer_look_at_profiling(observer, &fake.target);
    observer_lend_profiling(observer);
    observer_look_at_profiling(observer, &fake.target);
    fake.lease = 0;
    fake.active = FALSE;
    observer_look_at_profiling(observer, &fake.target);
    g_assert_cmpuint(fake.takes, ==, 1);
    g_clear_pointer(&observer, observer_free);
    fake = (Fake){.target = fake.target};
    observer = observer_new(&self, &options, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(turns); i++) {
        g_test_message("%s", turns[i].what);
        const guint takes = fake.takes;
        fake.lease = turns[i].lease;
        fake.active = turns[i].active;
        observer_look_at_profiling(observer, &fake.target);
        g_assert_cmpuint(fake.takes - takes, ==, turns[i].taken ? 1 : 0);
    }
    /* A client of this jescope used profiling for less than the time between two checks. */
    observer_lend_profiling(observer);
    fake.active = FALSE;
    observer_look_at_profiling(observer, &fake.target);
    g_assert_cmpuint(fake.takes, ==, 2); /* it is still unwanted */
    char remove[] = "rm", whole[] = "-r";
    char *words[] = {remove, whole, root, NULL};
    g_assert_true(g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
}

/* Its pid is that of another process when the watch begins. */
static void
test_pid_of_another(void)
{
    Process self;
    const WatchOptions options = {.observer = {.directory = "/nowhere", .quota = blackbox_quota_default}, .stop = -1};
    Fake fake = {.target = {.ops = &fake_ops, .label = (char *)(guintptr) "fake"}};
    g_autoptr(GError) error = NULL;
    g_assert_true(process_read(getpid(), &self));
    self.start_time--;
    target_set_process(&fake.target, &self);
    g_assert_cmpint(watch_run(&fake.target, &options, &error), ==, WATCH_FAILED);
    g_assert_error(error, TARGET_ERROR, OUTCOME_GONE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/observer/causes", test_causes);
    g_test_add_func("/observer/profiling", test_profiling);
    g_test_add_func("/observer/pid-of-another", test_pid_of_another);
    return g_test_run();
}
