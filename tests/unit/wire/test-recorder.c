/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/recorder.h"

#include <glib.h>
#include <string.h>

enum { BEGAN = 1000 };

/* A target, as far as a recording sees it. */
typedef struct {
    guint64 lease; /* that runs; 0: none */
    guint64 asked_ms;
    gboolean active;
    gboolean stays_on;   /* jemalloc does not let it be switched off */
    Outcome hello_fails; /* DONE: it answers */
    Outcome lease_fails;
    guint switched_off;
} Fake;

static Outcome
hello(void *data, WireHelloReply *reply, Failure *failure)
{
    const Fake *fake = data;
    *reply = (WireHelloReply){.flags = fake->active ? WIRE_FLAG_PROF_ACTIVE : 0, .lease.id = fake->lease};
    if (fake->hello_fails != OUTCOME_DONE)
        return failure_set(failure, fake->hello_fails, "no answer");
    return OUTCOME_DONE;
}

static Outcome
lease(void *data, const WireLeaseRequest *request, WireLease *granted, Failure *failure)
{
    Fake *fake = data;
    const gboolean taking = request->action == WIRE_LEASE_TAKE;
    fake->asked_ms = request->duration_ms;
    if (fake->lease_fails != OUTCOME_DONE)
        return failure_set(failure, fake->lease_fails, "refused");
    if (taking ? fake->lease != 0 : fake->lease != request->lease_id)
        return failure_set(failure, taking ? OUTCOME_BUSY : OUTCOME_NOT_FOUND, "another lease");
    fake->lease = request->action == WIRE_LEASE_RELEASE ? 0 : 7;
    if (!fake->stays_on)
        fake->active = request->action != WIRE_LEASE_RELEASE;
    *granted = (WireLease){.id = fake->lease};
    return OUTCOME_DONE;
}

static Outcome
write_control(void *data, const char *control, WireType type, uint64_t value, Failure *failure)
{
    Fake *fake = data;
    g_assert_cmpstr(control, ==, "prof.active");
    g_assert_cmpuint(value, ==, 0);
    if (fake->stays_on)
        return failure_set(failure, OUTCOME_CONTROL_FAILED, "refused");
    fake->active = FALSE;
    fake->switched_off++;
    return OUTCOME_DONE;
}

typedef struct {
    Fake fake;
    RecorderControls controls;
    Recorder recorder;
    Failure failure;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    *fixture = (Fixture){.controls = {hello, lease, write_control, &fixture->fake}};
    g_assert_cmpint(recorder_start(&fixture->recorder, BEGAN, 60000, &fixture->controls, &fixture->failure), ==,
                    OUTCOME_DONE);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
}

static RecorderStep
renew(Fixture *fixture, guint64 now_ms)
{
    return recorder_renew(&fixture->recorder, now_ms, &fixture->controls, &fixture->failure);
}

static RecorderStep
end(Fixture *fixture, guint64 now_ms, RecorderEnd how)
{
    return recorder_end(&fixture->recorder, now_ms, how, &fixture->controls, &fixture->failure);
}

static void
test_start(Fixture *fixture, gconstpointer data)
{
    g_assert_true(fixture->fake.active);
    g_assert_cmpuint(fixture->fake.asked_ms, ==, RECORDER_LEASE_MS);
    g_assert_cmpuint(recorder_left_ms(&fixture->recorder, BEGAN), ==, 60000);
    g_assert_cmpuint(recorder_due_ms(&fixture->recorder, BEGAN), ==, RECORDER_RENEW_MS);
    g_assert_cmpuint(recorder_due_ms(&fixture->recorder, BEGAN + RECORDER_RENEW_MS), ==, 0);
    g_assert_cmpuint(recorder_due_ms(&fixture->recorder, BEGAN + 59999), ==, 0);
    g_assert_cmpuint(recorder_left_ms(&fixture->recorder, BEGAN + 60001), ==, 0);
}

static void
test_refused(Fixture *fixture, gconstpointer data)
{
    const WireHelloReply idle = {0};
    const WireHelloReply active = {.flags = WIRE_FLAG_PROF_ACTIVE};
    const WireHelloReply leased = {.lease.id = 3};
    const WireHelloReply yielding = {.flags = WIRE_FLAG_PROF_ACTIVE, .lease = {.id = 3, .active = 1, .yields = 1}};
    const WireHelloReply lasting = {.flags = WIRE_FLAG_PROF_ACTIVE,
                                    .lease = {.id = 3, .active = 1, .restores = 1, .yields = 1}};
    Recorder second = {0};
    g_assert_true(recorder_may_start(&idle));
    g_assert_false(recorder_may_start(&active));
    g_assert_false(recorder_may_start(&leased));
    g_assert_true(recorder_may_start(&yielding));
    g_assert_false(recorder_may_start(&lasting)); /* profiling was on before */
    g_assert_cmpint(recorder_start(&second, BEGAN, 1000, &fixture->controls, &fixture->failure), ==, OUTCOME_BUSY);
    g_assert_cmpuint(second.lease, ==, 0);
}

/* The lease is never longer than needed, but long enough that it does not end before us. */
static void
test_leases(Fixture *fixture, gconstpointer data)
{
    static const struct {
        guint64 now_ms, asked_ms;
    } cases[] = {{BEGAN + 2500, 10000}, {BEGAN + 52500, 10000}, {BEGAN + 55000, 7500}, {BEGAN + 60000, 2500}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(renew(fixture, cases[i].now_ms), ==, RECORDER_RUNS);
        g_assert_cmpuint(fixture->fake.asked_ms, ==, cases[i].asked_ms);
        g_assert_cmpuint(fixture->recorder.renewed_ms, ==, cases[i].now_ms);
    }
    fixture->recorder.ends_ms = RECORDER_WITHOUT_END;
    renew(fixture, G_MAXINT64);
    g_assert_cmpuint(fixture->fake.asked_ms, ==, RECORDER_LEASE_MS);
}

/* The lease of a recording that ends with its own process is of the whole time. */
static void
test_in_process(Fixture *fixture, gconstpointer data)
{
    Recorder recorder = {.in_process = true, .period = 14};
    fixture->fake = (Fake){0};
    recorder_start(&recorder, BEGAN, 60000, &fixture->controls, &fixture->failure);
    g_assert_cmpuint(fixture->fake.asked_ms, ==, 60000);
    g_assert_cmpuint(recorder_due_ms(&recorder, BEGAN), ==, 60000);
    fixture->fake.asked_ms = 1;
    recorder_renew(&recorder, BEGAN + 5000, &fixture->controls, &fixture->failure);
    g_assert_cmpuint(fixture->fake.asked_ms, ==, 1);
    g_assert_cmpuint(recorder_request(&recorder, WIRE_LEASE_TAKE, BEGAN).period, ==, 14);
}

static void
test_end(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_OR_EXTEND), ==, RECORDER_IS_OVER);
    g_assert_cmpstr(fixture->failure.why, ==, "");
    g_assert_false(fixture->fake.active);
    g_assert_cmpuint(fixture->fake.lease, ==, 0);
    g_assert_cmpuint(fixture->fake.switched_off, ==, 0);
}

static void
test_another_client_switches_off(Fixture *fixture, gconstpointer data)
{
    fixture->fake.active = FALSE;
    fixture->fake.lease = 0;
    g_assert_cmpint(renew(fixture, BEGAN + 2500), ==, RECORDER_DROPPED);
    g_assert_nonnull(strstr(fixture->failure.why, "another client"));
    g_assert_cmpint(end(fixture, BEGAN + 3000, RECORDER_END_NOW), ==, RECORDER_DROPPED);
}

/* It goes on without a lease until its end, and then it is switched off. */
static void
test_another_client_switches_on(Fixture *fixture, gconstpointer data)
{
    fixture->fake.lease = 0;
    g_assert_cmpint(renew(fixture, BEGAN + 2500), ==, RECORDER_RUNS);
    g_assert_cmpuint(fixture->recorder.lease, ==, 0);
    g_assert_cmpuint(recorder_due_ms(&fixture->recorder, BEGAN + 2500), ==, 57500);
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_OR_EXTEND), ==, RECORDER_IS_OVER);
    g_assert_false(fixture->fake.active);
    g_assert_cmpuint(fixture->fake.switched_off, ==, 1);
}

/* What another client has switched on for a time meanwhile ends by itself. */
static void
test_overlap(Fixture *fixture, gconstpointer data)
{
    fixture->fake.lease = 99;
    g_assert_cmpint(renew(fixture, BEGAN + 2500), ==, RECORDER_RUNS);
    g_assert_cmpuint(fixture->recorder.lease, ==, 0);
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_OR_EXTEND), ==, RECORDER_IS_OVER);
    g_assert_true(fixture->fake.active);
    g_assert_cmpuint(fixture->fake.lease, ==, 99);
}

static void
test_look(Fixture *fixture, gconstpointer data)
{
    const RecorderControls *controls = &fixture->controls;
    g_assert_cmpint(recorder_look(&fixture->recorder, controls, &fixture->failure), ==, RECORDER_RUNS);
    fixture->fake.active = FALSE; /* the program's own doing, while the lease runs */
    g_assert_cmpint(recorder_look(&fixture->recorder, controls, &fixture->failure), ==, RECORDER_RUNS);
    g_assert_cmpuint(fixture->recorder.lease, ==, 7);
    fixture->fake = (Fake){.active = TRUE};
    g_assert_cmpint(recorder_look(&fixture->recorder, controls, &fixture->failure), ==, RECORDER_RUNS);
    fixture->fake.active = FALSE;
    g_assert_cmpint(recorder_look(&fixture->recorder, controls, &fixture->failure), ==, RECORDER_DROPPED);
}

static void
test_the_target_is_lost(Fixture *fixture, gconstpointer data)
{
    fixture->fake.lease_fails = fixture->fake.hello_fails = OUTCOME_SILENT;
    g_assert_cmpint(renew(fixture, BEGAN + 2500), ==, RECORDER_RUNS);
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_OR_EXTEND), ==, RECORDER_EXTENDED);
    g_assert_cmpuint(recorder_left_ms(&fixture->recorder, BEGAN + 60000), ==, RECORDER_EXTEND_MS);
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_NOW), ==, RECORDER_UNREACHED);
    g_assert_cmpstr(fixture->failure.why, ==, "no answer");
    fixture->fake.lease_fails = fixture->fake.hello_fails = OUTCOME_GONE;
    g_assert_cmpint(renew(fixture, BEGAN + 62500), ==, RECORDER_FAILED);
    g_assert_cmpint(end(fixture, BEGAN + 62500, RECORDER_END_OR_EXTEND), ==, RECORDER_FAILED);
}

/* Extended as long as it may be, and its dump is taken in any case. */
static void
test_it_cannot_be_switched_off(Fixture *fixture, gconstpointer data)
{
    fixture->fake.stays_on = TRUE;
    g_assert_cmpint(end(fixture, BEGAN + 60000, RECORDER_END_OR_EXTEND), ==, RECORDER_EXTENDED);
    g_assert_cmpint(end(fixture, BEGAN + 65000, RECORDER_END_NOW), ==, RECORDER_IS_OVER);
    g_assert_cmpstr(fixture->failure.why, ==, "refused");
}

#define ADD(path, test) g_test_add("/recorder/" path, Fixture, NULL, set_up, test, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("start", test_start);
    ADD("refused", test_refused);
    ADD("leases", test_leases);
    ADD("in-process", test_in_process);
    ADD("end", test_end);
    ADD("another-client-switches-off", test_another_client_switches_off);
    ADD("another-client-switches-on", test_another_client_switches_on);
    ADD("overlap", test_overlap);
    ADD("look", test_look);
    ADD("the-target-is-lost", test_the_target_is_lost);
    ADD("it-cannot-be-switched-off", test_it_cannot_be_switched_off);
    return g_test_run();
}
