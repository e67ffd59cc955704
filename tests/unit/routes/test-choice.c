/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler that a request chooses, in the native API and in every dialect. */
#include "routes/choice.h"

#include "fake-host.h"

#include <glib.h>
#include <string.h>

#define TARGET "/api/v1/targets/4711"

/* A process that both samplers can sample. */
static void
reset(void)
{
    fake_reset();
    fake.hello.flags |= WIRE_FLAG_SAMPLER_READY;
    fake_host.sampler_memory_max = 0;
}

static void
assert_refused(const RouteReply *reply, unsigned status, const char *says)
{
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_nonnull(strstr(fake_body(), says));
    g_assert_cmpstr(fake.written, ==, "");
    g_assert_cmpuint(fake.n_recordings, ==, 0);
    g_assert_cmpuint(fake.lease.id, ==, 0);
}

static void
test_switching(void)
{
    reset();
    g_assert_cmpuint(fake_request("PUT", TARGET "/profiling", "active=true&sampler=jescope")->status, ==, 200);
    g_assert_cmpstr(fake.written, ==, "jescope.sampler=2 prof.active=1 ");
    reset();
    g_assert_cmpuint(
        fake_request("PUT", TARGET "/profiling", "active=true&sampler=jescope&sampler-memory=3MiB")->status, ==, 200);
    g_assert_cmpstr(fake.written, ==, "jescope.sampler_memory=4194304 jescope.sampler=2 prof.active=1 ");
    reset();
    g_assert_cmpuint(
        fake_request("PUT", TARGET "/profiling", "active=true&for=1m&sampler=jescope&sampler-memory=1MiB")->status, ==,
        200);
    g_assert_cmpstr(fake.written, ==, "jescope.sampler_memory=1048576 ");
    g_assert_cmpuint(fake.lease_flags, ==, WIRE_LEASE_JESCOPE);
    reset();
    g_assert_cmpuint(fake_request("PUT", TARGET "/profiling", "active=false&sampler=jescope")->status, ==, 200);
    g_assert_cmpstr(fake.written, ==, "prof.active=0 ");
}

static void
test_recordings(void)
{
    reset();
    g_assert_cmpuint(fake_request("POST", TARGET "/recordings", "for=1m&sampler=jemalloc")->status, ==, 201);
    g_assert_cmpuint(fake.chosen.sampler, ==, WIRE_SAMPLER_JEMALLOC);
    reset();
    g_assert_cmpuint(fake_request("POST", TARGET "/recordings", "for=1m")->status, ==, 201);
    g_assert_cmpuint(fake.chosen.sampler, ==, WIRE_SAMPLER_AUTO);
    reset();
    g_assert_cmpuint(
        fake_post(TARGET "/recordings", "", "{\"for\": \"1m\", \"sampler\": \"jescope\", \"sampler-memory\": 2097152}")
            ->status,
        ==, 201);
    g_assert_cmpuint(fake.chosen.sampler, ==, WIRE_SAMPLER_JESCOPE);
    g_assert_cmpuint(fake.chosen.memory, ==, 2 << 20);
}

static void
test_limits_of_memory(void)
{
    static const char *const paths[] = {"/profiling", "/recordings"};
    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *path = g_strconcat(TARGET, paths[i], NULL);
        const char *method = i == 0 ? "PUT" : "POST";
        const char *what =
            i == 0 ? "active=true&sampler=jescope&sampler-memory=" : "for=1m&sampler=jescope&sampler-memory=";
        g_autofree char *more = g_strconcat(what, "16MiB", NULL);
        g_autofree char *most = g_strconcat(what, "2GiB", NULL);
        g_autofree char *less = g_strconcat(what, "512KiB", NULL);
        reset();
        assert_refused(fake_request(method, path, more), 403, "'16MiB' is more than the 8 MiB");
        assert_refused(fake_request(method, path, most), 400, "1MiB to 1GiB");
        assert_refused(fake_request(method, path, less), 400, "1MiB to 1GiB");
        fake_host.sampler_memory_max = 16 << 20;
        g_assert_cmpuint(fake_request(method, path, more)->status, <, 300);
        reset();
        fake_host.sampler_memory_max = 1 << 20;
        assert_refused(fake_request(method, path, more), 403, "'16MiB' is more than the 1 MiB");
    }
    reset();
}

static void
test_refusals(void)
{
    reset();
    assert_refused(fake_request("POST", TARGET "/recordings", "for=1m&sampler=other"), 400,
                   "auto, jemalloc or jescope");
    assert_refused(fake_request("POST", TARGET "/recordings", "for=1m&sampler=jemalloc&sampler-memory=1MiB"), 400,
                   "not for sampler=jemalloc");
    assert_refused(fake_request("PUT", TARGET "/profiling", "active=true&sampler-memory=1MiB"), 400, "sampler=jescope");
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_SAMPLER_READY;
    assert_refused(fake_request("PUT", TARGET "/profiling", "active=true&sampler=jescope"), 409, "5.3.0");
    assert_refused(fake_request("PUT", TARGET "/profiling", "active=true&for=1m&sampler=jescope"), 409, "5.3.0");
}

static void
test_dialects(void)
{
    reset();
    g_assert_cmpuint(fake_request("GET", "/mtev/heap_profile", "active=true&sampler=jescope")->status, ==, 200);
    g_assert_cmpstr(fake.written, ==, "jescope.sampler=2 prof.active=1 ");
    reset();
    g_assert_cmpuint(fake_request("POST", "/service/jemalloc/prof/enable", "sampler=jescope")->status, ==, 200);
    g_assert_cmpstr(fake_body(), ==, "OK\n");
    g_assert_cmpstr(fake.written, ==, "jescope.sampler=2 prof.active=1 ");
    reset();
    g_assert_cmpuint(fake_request("GET", "/memory-profiler/start", "duration=1mins&sampler=jescope")->status, ==, 200);
    g_assert_cmpuint(fake.chosen.sampler, ==, WIRE_SAMPLER_JESCOPE);
    reset();
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=1&sampler=jescope")->status, ==, 200);
    g_assert_cmpuint(fake.lease_flags, ==, WIRE_LEASE_JESCOPE);
    /* As without the parameter. */
    reset();
    g_assert_cmpuint(fake_request("GET", "/debug/pprof/heap", "seconds=1&sampler=auto")->status, ==, 200);
    g_assert_cmpuint(fake.lease_flags, ==, 0);
}

static void
test_dialects_refuse(void)
{
    static const struct {
        const char *method, *path, *query;
    } rows[] = {{"GET", "/mtev/heap_profile", "active=true&sampler="},
                {"POST", "/service/jemalloc/prof/enable", "sampler="},
                {"GET", "/memory-profiler/start", "duration=1mins&sampler="},
                {"GET", "/debug/pprof/heap", "seconds=1&sampler="}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *other = g_strconcat(rows[i].query, "Jescope", NULL);
        reset();
        assert_refused(fake_request(rows[i].method, rows[i].path, other), 400,
                       "sampler: invalid value 'Jescope'; it must be auto, jemalloc or jescope");
        assert_refused(fake_request(rows[i].method, rows[i].path, rows[i].query), 400, "it must be");
    }
    reset();
    fake.hello.flags &= ~(uint32_t)WIRE_FLAG_SAMPLER_READY;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *ours = g_strconcat(rows[i].query, "jescope", NULL);
        if (strstr(rows[i].path, "memory-profiler") == NULL) /* the host's recordings refuse it */
            assert_refused(fake_request(rows[i].method, rows[i].path, ours), 409, "5.3.0");
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/choice/switching", test_switching);
    g_test_add_func("/routes/choice/recordings", test_recordings);
    g_test_add_func("/routes/choice/memory", test_limits_of_memory);
    g_test_add_func("/routes/choice/refusals", test_refusals);
    g_test_add_func("/routes/choice/dialects", test_dialects);
    g_test_add_func("/routes/choice/dialects-refuse", test_dialects_refuse);
    return g_test_run();
}
