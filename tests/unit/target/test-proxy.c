/* SPDX-License-Identifier: Apache-2.0 */
#include "target/implementation.h"
#include "target/process.h"
#include "target/proxy.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A target that grants whatever lease it is asked for. */
typedef struct {
    Target target;
    guint leases;
    OutputPlan plan; /* of the last output */
} Granting;

static gboolean
grant(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error)
{
    ((Granting *)target)->leases++;
    *lease = (WireLease){.id = 9, .remaining_ms = request->duration_ms};
    return TRUE;
}

static int
write_nothing(Target *target, const char *letters, GError **error)
{
    ((Granting *)target)->plan = target->plan;
    return memfd_create("empty", MFD_CLOEXEC);
}

static void
free_nothing(Target *target)
{
}

static const TargetOps granting_ops = {
    .via = TARGET_VIA_ATTACH, .output = write_nothing, .lease = grant, .free = free_nothing};

typedef struct {
    int socket;
    Target *target;
} Server;

static gpointer
serve(gpointer data)
{
    const Server *server = data;
    proxy_serve(server->socket, server->target, NULL);
    close(server->socket);
    return NULL;
}

/* Asks GRANTING for something through a proxy. */
static gboolean
ask_through_proxy(Granting *granting, gboolean (*question)(Target *proxy, gpointer data, GError **error), gpointer data,
                  GError **error)
{
    int ends[2];
    granting->target.ops = &granting_ops;
    target_set_name(&granting->target, "granting");
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
    Server server = {ends[0], &granting->target};
    GThread *thread = g_thread_new("server", serve, &server);
    Target *proxy = proxy_open(ends[1], &granting->target.found, error);
    g_assert_nonnull(proxy);
    gboolean granted = question(proxy, data, error);
    target_free(proxy);
    g_thread_join(thread);
    return granted;
}

typedef struct {
    const WireLeaseRequest *wanted;
    WireLease *lease;
} LeaseQuestion;

static gboolean
ask_lease(Target *proxy, gpointer data, GError **error)
{
    const LeaseQuestion *question = data;
    return target_lease(proxy, question->wanted, question->lease, error);
}

/* Asks for LEASE through a proxy; returns what came of it. */
static gboolean
ask(const WireLeaseRequest *wanted, guint *leases, WireLease *lease, GError **error)
{
    Granting *granting = g_new0(Granting, 1);
    LeaseQuestion question = {wanted, lease};
    gboolean granted = ask_through_proxy(granting, ask_lease, &question, error);
    *leases = granting->leases;
    target_free(&granting->target);
    return granted;
}

static gboolean
ask_statistics(Target *proxy, gpointer data, GError **error)
{
    int fd = target_stats(proxy, "J", error);
    return fd >= 0 && close(fd) == 0;
}

/* Without it, the process that has the target would let nothing be charged to the target, and stop the output. */
static void
test_the_plan_is_passed_on(void)
{
    Granting *granting = g_new0(Granting, 1);
    g_autoptr(GError) error = NULL;
    g_assert_true(ask_through_proxy(granting, ask_statistics, NULL, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(granting->plan.most, ==, output_plan_default.most);
    g_assert_cmpuint(granting->plan.first, ==, output_plan_default.first);
    g_assert_cmpuint(granting->plan.allowed, ==, G_MAXUINT64);
    target_free(&granting->target);
}

static void
test_a_lease_is_passed_on(void)
{
    const WireLeaseRequest wanted = {.action = WIRE_LEASE_TAKE, .duration_ms = 1234, .active = 1};
    WireLease lease;
    guint leases;
    g_autoptr(GError) error = NULL;
    g_assert_true(ask(&wanted, &leases, &lease, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(leases, ==, 1);
    g_assert_cmpuint(lease.id, ==, 9);
    g_assert_cmpuint(lease.remaining_ms, ==, 1234);
}

/* The process that asks has fewer rights than the one that has the target. */
static void
test_a_lease_is_checked_before(void)
{
    static const WireLeaseRequest unsound[] = {
        {.action = 0, .duration_ms = 1000},
        {.action = WIRE_LEASE_RELEASE + 1, .duration_ms = 1000},
        {.action = G_MAXUINT32, .duration_ms = 1000},
        {.action = WIRE_LEASE_TAKE, .duration_ms = 0},
        {.action = WIRE_LEASE_TAKE, .duration_ms = WIRE_LEASE_MAX_MS + 1},
        {.action = WIRE_LEASE_TAKE, .duration_ms = 1000, .active = 2},
        {.action = WIRE_LEASE_TAKE, .duration_ms = 1000, .period = WIRE_LEASE_PERIOD_MAX + 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(unsound); i++) {
        WireLease lease;
        guint leases;
        g_autoptr(GError) error = NULL;
        g_assert_false(ask(&unsound[i], &leases, &lease, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_NO_AGENT);
        g_assert_cmpuint(leases, ==, 0);
    }
}

/* A target is not another process that has its pid now. */
static void
test_a_reused_pid_is_not_alive(void)
{
    Target target = {.ops = &granting_ops, .pid = getpid(), .start_time = process_start_time(getpid())};
    g_assert_true(target_alive(&target, NULL));
    target.start_time++;
    g_assert_false(target_alive(&target, NULL));
    target.start_time = 0; /* unknown */
    g_assert_true(target_alive(&target, NULL));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/proxy/a-lease-is-passed-on", test_a_lease_is_passed_on);
    g_test_add_func("/proxy/a-lease-is-checked-before", test_a_lease_is_checked_before);
    g_test_add_func("/proxy/a-reused-pid-is-not-alive", test_a_reused_pid_is_not_alive);
    g_test_add_func("/proxy/the-plan-is-passed-on", test_the_plan_is_passed_on);
    return g_test_run();
}
