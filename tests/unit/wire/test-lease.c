/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/lease.h"

#include <errno.h>
#include <glib.h>

/* jemalloc's profiler, as far as a lease sees it. */
typedef struct {
    bool active;
    guint8 period;
    int refuses_active, refuses_period; /* errors of the next writes */
    GString *log;                       /* the writes, in order */
} Profiler;

static int
read_active(void *data, bool *active)
{
    *active = ((const Profiler *)data)->active;
    return 0;
}

static int
write_active(void *data, bool active)
{
    Profiler *profiler = data;
    if (profiler->refuses_active != 0)
        return profiler->refuses_active;
    profiler->active = active;
    g_string_append(profiler->log, active ? "on " : "off ");
    return 0;
}

static int
read_period(void *data, guint8 *period)
{
    *period = ((const Profiler *)data)->period;
    return *period != 0 ? 0 : ENOENT;
}

static int
write_period(void *data, guint8 period)
{
    Profiler *profiler = data;
    if (profiler->refuses_period != 0)
        return profiler->refuses_period;
    profiler->period = period;
    g_string_append_printf(profiler->log, "%u ", period);
    return 0;
}

typedef struct {
    Profiler profiler;
    LeaseControls controls;
    Lease lease;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    *fixture = (Fixture){.profiler = {.period = 20, .log = g_string_new(NULL)}};
    fixture->controls = (LeaseControls){read_active, write_active, read_period, write_period, &fixture->profiler};
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_string_free(fixture->profiler.log, TRUE);
}

static void
assert_written(Fixture *fixture, const char *words)
{
    g_assert_cmpstr(fixture->profiler.log->str, ==, words);
    g_string_truncate(fixture->profiler.log, 0);
}

/* Takes a lease of 1000 ms at 5000, after the one that runs, as the agent does. */
static int
take(Fixture *fixture, bool active, guint8 period)
{
    const WireLeaseRequest request = {
        .action = WIRE_LEASE_TAKE, .duration_ms = 1000, .active = active, .period = period};
    Lease planned;
    int error = lease_plan(&planned, &fixture->lease, &request, 5000, &fixture->controls);
    if (error == 0)
        error = lease_begin(&planned, &fixture->controls);
    planned.id = fixture->lease.id + 1;
    if (error == 0)
        fixture->lease = planned;
    return error;
}

static void
test_start_and_restore(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpint(take(fixture, true, 0), ==, 0);
    assert_written(fixture, "on ");
    WireLease described = lease_describe(&fixture->lease, 5400);
    g_assert_cmpuint(described.id, ==, 1);
    g_assert_cmpuint(described.remaining_ms, ==, 600);
    g_assert_true(described.active == 1 && described.restores == 0 && described.period == 0);
    g_assert_cmpint(lease_end(&fixture->lease, &fixture->controls), ==, 0);
    assert_written(fixture, "off ");
}

static void
test_time(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpuint(lease_left_ms(&fixture->lease, 0), ==, 0);
    g_assert_cmpuint(lease_describe(&fixture->lease, 0).id, ==, 0);
    take(fixture, true, 0);
    g_assert_cmpuint(lease_left_ms(&fixture->lease, 5000), ==, 1000);
    g_assert_cmpuint(lease_left_ms(&fixture->lease, 5999), ==, 1);
    g_assert_cmpuint(lease_left_ms(&fixture->lease, 6000), ==, 0);
    g_assert_cmpuint(lease_left_ms(&fixture->lease, 9000), ==, 0);
    fixture->lease.deadline_ms = 9000 + 500; /* renewed */
    g_assert_cmpuint(lease_describe(&fixture->lease, 9000).remaining_ms, ==, 500);
    g_assert_true(lease_is(&fixture->lease, 1));
    g_assert_false(lease_is(&fixture->lease, 2));
    g_assert_false(lease_is(&(Lease){0}, 0));
}

/* The period goes with it, and nothing is sampled by a period that it is not meant for. */
static void
test_period(Fixture *fixture, gconstpointer data)
{
    take(fixture, true, 13);
    assert_written(fixture, "13 on ");
    g_assert_cmpuint(lease_describe(&fixture->lease, 5000).period, ==, 20);
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "off 20 ");
    take(fixture, true, 20); /* as it is: the samples stay */
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "on off ");
}

static void
test_off_for_a_time(Fixture *fixture, gconstpointer data)
{
    fixture->profiler.active = true;
    take(fixture, false, 13);
    assert_written(fixture, "off 13 ");
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "20 on ");
}

static void
test_was_on_before(Fixture *fixture, gconstpointer data)
{
    fixture->profiler.active = true;
    take(fixture, true, 0);
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "");
    g_assert_true(fixture->profiler.active);
}

/* A value that another client has set since stays. */
static void
test_another_client(Fixture *fixture, gconstpointer data)
{
    take(fixture, true, 13);
    fixture->profiler.active = false;
    fixture->profiler.period = 15;
    g_string_truncate(fixture->profiler.log, 0);
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "");
    g_assert_cmpuint(fixture->profiler.period, ==, 15);
}

/* A lease that replaces another restores what that one would have restored. */
static void
test_overlap(Fixture *fixture, gconstpointer data)
{
    take(fixture, true, 13);
    take(fixture, true, 0);
    assert_written(fixture, "13 on ");
    g_assert_cmpuint(fixture->lease.id, ==, 2);
    g_assert_cmpuint(fixture->lease.period, ==, 13);
    take(fixture, true, 16);
    assert_written(fixture, "16 ");
    lease_end(&fixture->lease, &fixture->controls);
    assert_written(fixture, "off 20 ");
}

static void
test_refusals(Fixture *fixture, gconstpointer data)
{
    fixture->profiler.refuses_active = EPERM;
    g_assert_cmpint(take(fixture, true, 13), ==, EPERM);
    assert_written(fixture, "13 20 ");
    fixture->profiler.refuses_active = 0;
    fixture->profiler.refuses_period = EFAULT;
    g_assert_cmpint(take(fixture, true, 13), ==, EFAULT);
    assert_written(fixture, "");
    fixture->profiler.active = true;
    g_assert_cmpint(take(fixture, false, 13), ==, EFAULT);
    assert_written(fixture, "off on ");
    fixture->profiler.period = 0; /* cannot be read: it could not be restored */
    g_assert_cmpint(take(fixture, true, 13), ==, ENOENT);
    assert_written(fixture, "");
}

/* One control that cannot be restored does not keep the other from it. */
static void
test_restores_what_it_can(Fixture *fixture, gconstpointer data)
{
    take(fixture, true, 13);
    g_string_truncate(fixture->profiler.log, 0);
    fixture->profiler.refuses_active = EPERM;
    g_assert_cmpint(lease_end(&fixture->lease, &fixture->controls), ==, EPERM);
    assert_written(fixture, "20 ");
}

#define ADD(path, test) g_test_add("/lease/" path, Fixture, NULL, set_up, test, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("start-and-restore", test_start_and_restore);
    ADD("time", test_time);
    ADD("period", test_period);
    ADD("off-for-a-time", test_off_for_a_time);
    ADD("was-on-before", test_was_on_before);
    ADD("another-client", test_another_client);
    ADD("overlap", test_overlap);
    ADD("refusals", test_refusals);
    ADD("restores-what-it-can", test_restores_what_it_can);
    return g_test_run();
}
