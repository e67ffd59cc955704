/* SPDX-License-Identifier: Apache-2.0 */
#include "http/guard.h"

static void
test_hosts(void)
{
    static const char *const names[] = {"metrics.example.org", NULL};
    static const GuardRules rules = {.hosts = names};
    static const struct {
        const char *host;
        ExchangeListener listener;
        const char *local;
        gboolean ours;
    } rows[] = {
        {"localhost", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"LocalHost:7469", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"127.0.0.1:7469", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"127.1.2.3", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"[::1]:7469", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"metrics.example.org:1", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"localhost", EXCHANGE_LOCAL | EXCHANGE_UNIX, NULL, TRUE},
        {"evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"localhost.evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"127.0.0.1.evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"127.0.0.1@evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"10.0.0.5", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"[::1", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"[::1]evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"[::1]:80@evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"localhost:80@evil.example", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"localhost:99999", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"localhost/", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"[127.0.0.1]", EXCHANGE_LOCAL, "127.0.0.1", FALSE},
        {"localhost:", EXCHANGE_LOCAL, "127.0.0.1", TRUE},
        {"evil.example", EXCHANGE_LOCAL | EXCHANGE_UNIX, NULL, FALSE},
        {"10.0.0.5:7469", 0, "10.0.0.5", TRUE},
        {"[2001:db8::5]:7469", 0, "2001:db8::5", TRUE},
        {"metrics.example.org", 0, "10.0.0.5", TRUE},
        {"localhost", 0, "10.0.0.5", FALSE},
        {"127.0.0.1", 0, "10.0.0.5", FALSE},
        {"10.0.0.6", 0, "10.0.0.5", FALSE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(guard_host_is_ours(&rules, rows[i].host, rows[i].listener, rows[i].local), ==, rows[i].ours);
}

/* Where other users can listen at an address of the name, their pages would be of our origin: but not with TLS. */
static void
test_shared_localhost(void)
{
    static const char *const names[] = {"localhost", NULL};
    static const GuardRules rules = {.localhost_is_shared = TRUE};
    static const GuardRules configured = {.localhost_is_shared = TRUE, .hosts = names};
    static const struct {
        const char *host;
        ExchangeListener listener;
        gboolean ours;
    } rows[] = {
        {"localhost:7469", EXCHANGE_LOCAL, FALSE},
        {"LocalHost", EXCHANGE_LOCAL, FALSE},
        {"127.0.0.1:7469", EXCHANGE_LOCAL, TRUE},
        {"[::1]:7469", EXCHANGE_LOCAL, TRUE},
        {"localhost:7469", EXCHANGE_LOCAL | EXCHANGE_TLS, TRUE},
        {"localhost:7469", EXCHANGE_LOCAL | EXCHANGE_UNIX, TRUE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(guard_host_is_ours(&rules, rows[i].host, rows[i].listener, "127.0.0.1"), ==, rows[i].ours);
    g_assert_true(guard_host_is_ours(&configured, "localhost:7469", EXCHANGE_LOCAL, "127.0.0.1"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/guard/hosts", test_hosts);
    g_test_add_func("/http/guard/shared-localhost", test_shared_localhost);
    return g_test_run();
}
