/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/request.h"

#include "fake-allocator.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    Guest guest;
    WireRequest request;
    WireAnswer answer;
    Descriptor descriptor;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer unused)
{
    fake_reset(&fixture->guest);
    fixture->descriptor = DESCRIPTOR_NONE;
}

static void
tear_down(Fixture *fixture, gconstpointer unused)
{
    descriptor_close(&fixture->descriptor);
}

static WireStatus
ask(Fixture *fixture, uint16_t op, size_t size)
{
    fixture->request.header =
        (WireHeader){.magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = op, .sequence = 9, .size = (uint32_t)size};
    size_t replied = request_answer(&fixture->guest, &fixture->request, size, &fixture->descriptor, &fixture->answer);
    g_assert_cmpuint(fixture->answer.reply.header.size, ==, replied);
    g_assert_cmpuint(fixture->answer.reply.header.sequence, ==, 9);
    return (WireStatus)fixture->answer.reply.status;
}

static WireStatus
ask_ctl(Fixture *fixture, const char *name, WireType type, uint32_t flags, uint64_t value)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    fixture->request.ctl.type = type;
    fixture->request.ctl.flags = flags;
    fixture->request.ctl.value = value;
    g_strlcpy(fixture->request.ctl.name, name, sizeof(fixture->request.ctl.name));
    return ask(fixture, WIRE_OP_CTL, sizeof(WireCtlRequest));
}

static WireStatus
ask_lease(Fixture *fixture, WireLeaseAction action, uint32_t flags, uint64_t id, uint64_t duration_ms)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    fixture->request.lease.action = action;
    fixture->request.lease.flags = flags;
    fixture->request.lease.lease_id = id;
    fixture->request.lease.duration_ms = duration_ms;
    fixture->request.lease.active = 1;
    return ask(fixture, WIRE_OP_LEASE, sizeof(WireLeaseRequest));
}

static WireStatus
ask_for_output(Fixture *fixture, uint16_t op, int raw)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    g_strlcpy(fixture->request.stats.letters, "J", sizeof(fixture->request.stats.letters));
    descriptor_close(&fixture->descriptor);
    g_assert_true(descriptor_adopt(&fixture->descriptor, raw));
    return ask(fixture, op, op == WIRE_OP_DUMP ? sizeof(WireDumpRequest) : sizeof(WireStatsRequest));
}

static WireStatus
ask_hello(Fixture *fixture, uint16_t version_min, uint16_t version_max)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    fixture->request.hello.version_min = version_min;
    fixture->request.hello.version_max = version_max;
    return ask(fixture, WIRE_OP_HELLO, sizeof(WireHelloRequest));
}

static void
test_hello(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_hello(fixture, 1, 9), ==, WIRE_STATUS_OK);
    const WireHelloReply *reply = &fixture->answer.hello;
    g_assert_cmpuint(reply->version, ==, WIRE_VERSION_MAX);
    g_assert_cmpint(reply->pid, ==, 4711);
    g_assert_cmpuint(reply->start_time, ==, 815);
    g_assert_cmpstr(reply->jemalloc_version, ==, "5.3.0-0-gfake");
    g_assert_cmpuint(reply->flags, ==, WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF | WIRE_FLAG_CONFIG_STATS);
    g_assert_cmpint(ask_hello(fixture, WIRE_VERSION_MAX + 1, 9), ==, WIRE_STATUS_BAD_VERSION);
    g_assert_cmpuint(fixture->answer.reply.header.size, ==, sizeof(WireReply));
}

static void
test_hello_sees_what_the_program_does(Fixture *fixture, gconstpointer unused)
{
    fake.prof_active = true;
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.hello.flags & WIRE_FLAG_PROF_ACTIVE, !=, 0);
    g_assert_cmpuint(fixture->answer.hello.since, ==, WIRE_SINCE_UNKNOWN);
    g_assert_cmpuint(fixture->answer.hello.active_since_ns, ==, 0);
    ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 0);
    ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1);
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.hello.since, ==, WIRE_SINCE_AGENT);
    g_assert_cmpuint(fixture->answer.hello.active_since_ns, !=, 0);
}

static void
test_active_from_the_start(Fixture *fixture, gconstpointer unused)
{
    fake.prof_active = true;
    fake_examine(&fixture->guest);
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.hello.since, ==, WIRE_SINCE_START);
}

static void
test_reads_and_writes(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_ctl(fixture, "epoch", WIRE_TYPE_U64, WIRE_CTL_WRITE, 41), ==, WIRE_STATUS_OK);
    g_assert_cmpint(ask_ctl(fixture, "epoch", WIRE_TYPE_U64, WIRE_CTL_READ | WIRE_CTL_WRITE, 42), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.ctl.value, ==, 41);
    g_assert_cmpint(ask_ctl(fixture, "version", WIRE_TYPE_STRING, WIRE_CTL_READ, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpstr(fixture->answer.ctl.text, ==, "5.3.0-0-gfake");
    g_assert_cmpuint(fixture->answer.ctl.truncated, ==, 0);
    g_assert_cmpint(ask_ctl(fixture, "no.such", WIRE_TYPE_U64, WIRE_CTL_READ, 0), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(fixture->answer.reply.error, ==, ENOENT);
    g_assert_cmpint(ask_ctl(fixture, "epoch", WIRE_TYPE_BOOL, WIRE_CTL_READ, 0), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(fixture->answer.reply.error, ==, EINVAL);
    g_assert_cmpint(ask_ctl(fixture, "prof.gdump", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 2), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(fixture->answer.reply.error, ==, EINVAL);
}

static void
test_cuts_long_texts(Fixture *fixture, gconstpointer unused)
{
    g_autofree char *fits = g_strnfill(WIRE_TEXT_MAX - 1, 'v');
    g_autofree char *longer = g_strnfill(WIRE_TEXT_MAX, 'v');

    fake.version = fits;
    ask_ctl(fixture, "version", WIRE_TYPE_STRING, WIRE_CTL_READ, 0);
    g_assert_cmpstr(fixture->answer.ctl.text, ==, fits);
    g_assert_cmpuint(fixture->answer.ctl.truncated, ==, 0);
    fake.version = longer;
    ask_ctl(fixture, "version", WIRE_TYPE_STRING, WIRE_CTL_READ, 0);
    g_assert_cmpstr(fixture->answer.ctl.text, ==, fits);
    g_assert_cmpuint(fixture->answer.ctl.truncated, ==, 1);
    fake.version = NULL;
    g_assert_cmpint(ask_ctl(fixture, "opt.dss", WIRE_TYPE_STRING, WIRE_CTL_READ, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpstr(fixture->answer.ctl.text, ==, "");
}

static void
test_runs_actions(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_ctl(fixture, "arena.0.purge", WIRE_TYPE_NONE, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.actions, ==, 1);
    g_assert_cmpint(ask_ctl(fixture, "arena.0.reset", WIRE_TYPE_NONE, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_NOT_ALLOWED);
    g_assert_cmpuint(fake.actions, ==, 1);
    g_assert_cmpint(ask_ctl(fixture, "prof.reset", WIRE_TYPE_NONE, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.hello.reset_at_ns, !=, 0);
}

/* 5.1.0 to 5.3.0 take the zero and divide by it; 5.3.1 says EINVAL by itself. */
static void
test_keeps_zero_background_threads_away(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_ctl(fixture, "max_background_threads", WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 0), ==,
                    WIRE_STATUS_NOT_ALLOWED);
    g_assert_cmpint(ask_ctl(fixture, "max_background_threads", WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 2), ==, WIRE_STATUS_OK);
    g_assert_cmpint(ask_ctl(fixture, "background_thread", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_OK);
    fake.max_background_threads = 0; /* by the program itself */
    g_assert_cmpint(ask_ctl(fixture, "background_thread", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==,
                    WIRE_STATUS_NOT_ALLOWED);
    fake.version = "5.3.1-0-gfake";
    fake_examine(&fixture->guest);
    g_assert_cmpint(ask_ctl(fixture, "max_background_threads", WIRE_TYPE_SIZE, WIRE_CTL_WRITE, 0), ==, WIRE_STATUS_OK);
}

/* Even a read of thread.prof.active makes a later prof.reset crash 4.5 to 5.2.1. */
static void
test_does_not_touch_a_profiler_that_is_off(Fixture *fixture, gconstpointer built_without)
{
    fake.config_prof = built_without == NULL;
    fake.opt_prof = false;
    fake_examine(&fixture->guest);
    static const char *const names[] = {"prof.active", "prof.reset", "prof.lg_sample", "thread.prof.active",
                                        "prof.nonsense"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpint(ask_ctl(fixture, names[i], WIRE_TYPE_BOOL, WIRE_CTL_READ, 0), ==, WIRE_STATUS_PROF_DISABLED);
        g_assert_cmpint(ask_ctl(fixture, names[i], WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_PROF_DISABLED);
    }
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 1000), ==, WIRE_STATUS_PROF_DISABLED);
    g_assert_cmpint(ask_for_output(fixture, WIRE_OP_DUMP, memfd_create("dump", MFD_CLOEXEC)), ==,
                    WIRE_STATUS_PROF_DISABLED);
    descriptor_close(&fixture->descriptor);
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.prof_calls, ==, 0);
    g_assert_cmpint(ask_ctl(fixture, "stats.allocated", WIRE_TYPE_SIZE, WIRE_CTL_READ, 0), ==, WIRE_STATUS_OK);
}

static void
test_output_replaces_what_is_there(Fixture *fixture, gconstpointer unused)
{
    char text[64] = "";
    int memfd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_assert_cmpint(write(memfd, "something longer than what comes now", 36), ==, 36);
    g_assert_cmpint(ask_for_output(fixture, WIRE_OP_DUMP, dup(memfd)), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.output.bytes, ==, strlen(fake.dump));
    g_assert_cmpint(pread(memfd, text, sizeof(text), 0), ==, strlen(fake.dump));
    g_assert_cmpstr(text, ==, fake.dump);
    g_assert_cmpint(ask_for_output(fixture, WIRE_OP_STATS, dup(memfd)), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.output.bytes, ==, strlen(fake.statistics) + 1);
    g_assert_cmpint(pread(memfd, text, sizeof(text), 0), ==, strlen(fake.statistics) + 1);
    g_assert_true(g_str_has_prefix(text, fake.statistics));
    g_assert_true(strchr(text, 'J') != NULL);
    close(memfd);
}

/* More than the agent buffers. */
static void
test_long_statistics_arrive_whole(Fixture *fixture, gconstpointer unused)
{
    g_autofree char *statistics = g_strnfill(100000, 's');
    g_autofree char *text = g_malloc(200000);
    int memfd = memfd_create("output", MFD_CLOEXEC);

    fake.statistics = statistics;
    g_assert_cmpint(ask_for_output(fixture, WIRE_OP_STATS, dup(memfd)), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.output.bytes, ==, 100001);
    g_assert_cmpint(pread(memfd, text, 200000, 0), ==, 100001);
    g_assert_true(memcmp(text, statistics, 100000) == 0);
    close(memfd);
}

static void
test_output_goes_to_memfds_alone(Fixture *fixture, gconstpointer unused)
{
    g_autofree char *path = NULL;
    int ends[2];
    int file = g_file_open_tmp("output-XXXXXX", &path, NULL);
    int sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int unreadable = memfd_create("unreadable", MFD_CLOEXEC);
    g_autofree char *name = g_strdup_printf("/proc/self/fd/%d", unreadable);

    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(fcntl(sealed, F_ADD_SEALS, F_SEAL_GROW), ==, 0);
    const int refused[] = {file, ends[1], sealed, open(name, O_RDONLY | O_CLOEXEC)};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_assert_cmpint(ask_for_output(fixture, WIRE_OP_DUMP, dup(refused[i])), ==, WIRE_STATUS_BAD_DESCRIPTOR);
        g_assert_cmpint(ask_for_output(fixture, WIRE_OP_STATS, refused[i]), ==, WIRE_STATUS_BAD_DESCRIPTOR);
    }
    close(ends[0]);
    close(unreadable);
    g_unlink(path);
}

static void
test_a_lease_is_one_at_a_time(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000), ==, WIRE_STATUS_OK);
    uint64_t first = fixture->answer.lease.lease.id;
    g_assert_true(fake.prof_active);
    g_assert_cmpuint(fixture->answer.lease.lease.remaining_ms, <=, 60000);
    g_assert_cmpuint(fixture->answer.lease.lease.restores, ==, 0);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000), ==, WIRE_STATUS_BUSY);
    g_assert_cmpuint(fixture->answer.lease.lease.id, ==, first);
    g_assert_cmpuint(fixture->answer.reply.header.size, ==, sizeof(WireLeaseReply));
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RENEW, 0, first + 1, 60000), ==, WIRE_STATUS_NO_LEASE);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RENEW, 0, 0, 60000), ==, WIRE_STATUS_NO_LEASE);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RENEW, 0, first, 120000), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.lease.lease.remaining_ms, >, 60000);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RELEASE, 0, first, 0), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.lease.lease.id, ==, 0);
    g_assert_false(fake.prof_active);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RELEASE, 0, first, 0), ==, WIRE_STATUS_NO_LEASE);
}

static void
test_a_replacing_lease_restores_the_first_state(Fixture *fixture, gconstpointer unused)
{
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, WIRE_LEASE_REPLACE, 0, 60000), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.lease.lease.restores, ==, 0);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_RELEASE, 0, fixture->answer.lease.lease.id, 0), ==, WIRE_STATUS_OK);
    g_assert_false(fake.prof_active);
}

static void
test_a_lease_ends_at_its_deadline(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(profiling_tick(&fixture->guest.profiling, &fixture->guest.allocator), ==, -1);
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    g_assert_cmpint(profiling_tick(&fixture->guest.profiling, &fixture->guest.allocator), >, 0);
    g_assert_true(fake.prof_active);
    fixture->guest.profiling.lease.deadline_ms = profiling_now_ms();
    g_assert_cmpint(profiling_tick(&fixture->guest.profiling, &fixture->guest.allocator), ==, -1);
    g_assert_false(fake.prof_active);
    g_assert_cmpint(ask_hello(fixture, 1, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.hello.flags & (WIRE_FLAG_LEASED | WIRE_FLAG_PROF_ACTIVE), ==, 0);
}

static void
test_whoever_sets_it_later_wins(Fixture *fixture, gconstpointer unused)
{
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    g_assert_cmpint(ask_ctl(fixture, "prof.active", WIRE_TYPE_BOOL, WIRE_CTL_WRITE, 1), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->guest.profiling.lease.id, ==, 0);
    g_assert_true(fake.prof_active); /* not restored */

    fake_reset(&fixture->guest);
    fake.prof_active = true;
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000); /* of true over true */
    fake.prof_active = false;                         /* by the program */
    fixture->guest.profiling.lease.deadline_ms = profiling_now_ms();
    profiling_tick(&fixture->guest.profiling, &fixture->guest.allocator);
    g_assert_false(fake.prof_active);
}

static void
test_a_failed_lease_is_none(Fixture *fixture, gconstpointer unused)
{
    fake.error = EFAULT;
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000), ==, WIRE_STATUS_CONTROL_FAILED);
    g_assert_cmpint(fixture->answer.reply.error, ==, EFAULT);
    g_assert_cmpuint(fixture->guest.profiling.lease.id, ==, 0);
}

static WireStatus
lease_with_period(Fixture *fixture, uint32_t flags, uint32_t period)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    fixture->request.lease.action = WIRE_LEASE_TAKE;
    fixture->request.lease.flags = flags;
    fixture->request.lease.duration_ms = 60000;
    fixture->request.lease.active = 1;
    fixture->request.lease.period = period;
    return ask(fixture, WIRE_OP_LEASE, sizeof(WireLeaseRequest));
}

static void
end_in_time(Fixture *fixture)
{
    fixture->guest.profiling.lease.deadline_ms = profiling_now_ms();
    g_assert_cmpint(profiling_tick(&fixture->guest.profiling, &fixture->guest.allocator), ==, -1);
}

static void
test_a_lease_restores_the_period(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(lease_with_period(fixture, 0, 1 + 12), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.lg_sample, ==, 12);
    g_assert_cmpuint(fixture->answer.lease.lease.period, ==, 1 + 19);
    g_assert_cmpint(lease_with_period(fixture, WIRE_LEASE_REPLACE, 1 + 10), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.lg_sample, ==, 10);
    g_assert_cmpint(ask_lease(fixture, WIRE_LEASE_TAKE, WIRE_LEASE_REPLACE, 0, 60000), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fake.lg_sample, ==, 10);
    end_in_time(fixture);
    g_assert_cmpuint(fake.lg_sample, ==, 19);
    g_assert_false(fake.prof_active);
    g_assert_cmpuint(fixture->guest.profiling.reset_at_ns, !=, 0);
    g_assert_cmpuint(fake.resets, ==, 3);
}

static void
test_a_period_that_others_change_stays(Fixture *fixture, gconstpointer unused)
{
    g_assert_cmpint(lease_with_period(fixture, 0, 1 + 12), ==, WIRE_STATUS_OK);
    fake.lg_sample = 16;
    end_in_time(fixture);
    g_assert_cmpuint(fake.lg_sample, ==, 16);
    /* The same period as before: no samples are discarded. */
    fake.resets = 0;
    g_assert_cmpint(lease_with_period(fixture, 0, 1 + 16), ==, WIRE_STATUS_OK);
    end_in_time(fixture);
    g_assert_cmpuint(fake.resets, ==, 0);
    g_assert_cmpint(lease_with_period(fixture, 0, WIRE_LEASE_PERIOD_MAX + 1), ==, WIRE_STATUS_BAD_MESSAGE);
    fake.error = EAGAIN;
    g_assert_cmpint(lease_with_period(fixture, 0, 1 + 12), ==, WIRE_STATUS_CONTROL_FAILED);
}

static void
test_a_child_inherits_the_lease(Fixture *fixture, gconstpointer unused)
{
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    Profiling child;
    profiling_inherit(&child);
    g_assert_cmpuint(child.lease.id, ==, fixture->guest.profiling.lease.id);
    g_assert_cmpuint(child.lease.deadline_ms, ==, fixture->guest.profiling.lease.deadline_ms);
    g_assert_false(child.lease.restores);
    g_assert_true(child.active);
    ask_lease(fixture, WIRE_LEASE_RELEASE, 0, child.lease.id, 0);
    profiling_inherit(&child);
    g_assert_cmpuint(child.lease.id, ==, 0);
}

static WireStatus
ask_sample(Fixture *fixture, const char *names, gsize length, uint32_t first, uint32_t count)
{
    memset(&fixture->request, 0, sizeof(fixture->request));
    memcpy(fixture->request.sample.names, names, length);
    fixture->request.sample.first = first;
    fixture->request.sample.count = count;
    fixture->request.sample.flags = WIRE_SAMPLE_REFRESH;
    return ask(fixture, WIRE_OP_SAMPLE, sizeof(WireSampleRequest));
}

static void
test_reads_many_numbers(Fixture *fixture, gconstpointer unused)
{
    static const char names[] = "3stats.allocated\0"
                                "3stats.nothing\0"
                                "3max_background_threads";
    fake.max_background_threads = 5;
    g_assert_cmpint(ask_sample(fixture, names, sizeof(names), 0, 1), ==, WIRE_STATUS_OK);
    const WireSampleReply *reply = &fixture->answer.sample;
    g_assert_cmpuint(reply->rows, ==, 1);
    g_assert_cmpuint(reply->words[0], ==, 5); /* the one in the middle is absent */
    g_assert_cmpuint(reply->words[1], >, 0);
    g_assert_cmpuint(reply->words[2], ==, 0);
    g_assert_cmpuint(reply->words[3], ==, 5);
}

static void
test_gives_as_many_rows_as_fit(Fixture *fixture, gconstpointer unused)
{
    static const char names[] = "3.pactive\0"
                                "3stats.allocated";
    g_assert_cmpint(ask_sample(fixture, names, sizeof(names), 10, 1000), ==, WIRE_STATUS_OK);
    const WireSampleReply *reply = &fixture->answer.sample;
    g_assert_cmpuint(reply->rows, ==, WIRE_SAMPLE_WORDS / 3);
    for (guint i = 0; i < reply->rows; i++)
        g_assert_cmpuint(reply->words[(gsize)i * 3], ==, 2);
}

static void
test_judges_each_of_many(Fixture *fixture, gconstpointer unused)
{
    static const char prof[] = "3stats.allocated\0"
                               "1prof.active";
    static const char acts[] = "3stats.allocated\0"
                               "4experimental.hooks.install";
    fake.config_prof = false;
    fake_examine(&fixture->guest);
    unsigned before = fake.prof_calls;
    g_assert_cmpint(ask_sample(fixture, prof, sizeof(prof), 0, 1), ==, WIRE_STATUS_PROF_DISABLED);
    g_assert_cmpuint(fake.prof_calls, ==, before);
    g_assert_cmpint(ask_sample(fixture, acts, sizeof(acts), 0, 1), !=, WIRE_STATUS_OK);
    fake.error = EFAULT;
    g_assert_cmpint(ask_sample(fixture, "3stats.allocated", 17, 0, 1), ==, WIRE_STATUS_CONTROL_FAILED);
}

static void
test_leaves_without_a_lease(Fixture *fixture, gconstpointer unused)
{
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    uint64_t earlier = fixture->answer.lease.lease.id;
    g_assert_true(fake.prof_active);
    g_assert_cmpint(ask(fixture, WIRE_OP_LEAVE, sizeof(WireLeaveRequest)), ==, WIRE_STATUS_OK);
    g_assert_cmpuint(fixture->answer.reply.header.size, ==, sizeof(WireReply));
    g_assert_true(fixture->guest.leaves);
    g_assert_false(fake.prof_active);
    /* The next agent of this process must not take an old client's lease for one of its own. */
    profiling_init(&fixture->guest.profiling, &fixture->guest.allocator, WIRE_SINCE_UNKNOWN);
    ask_lease(fixture, WIRE_LEASE_TAKE, 0, 0, 60000);
    g_assert_cmpuint(fixture->answer.lease.lease.id, >, earlier);
}

static void
test_leaves_a_profiler_alone_that_is_off(Fixture *fixture, gconstpointer unused)
{
    fake.opt_prof = false;
    fake_examine(&fixture->guest);
    unsigned before = fake.prof_calls;
    g_assert_cmpint(ask(fixture, WIRE_OP_LEAVE, sizeof(WireLeaveRequest)), ==, WIRE_STATUS_OK);
    g_assert_true(fixture->guest.leaves);
    g_assert_cmpuint(fake.prof_calls, ==, before);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function, data) g_test_add("/agent/request/" name, Fixture, data, set_up, function, tear_down)
    ADD("hello", test_hello, NULL);
    ADD("hello-sees-what-the-program-does", test_hello_sees_what_the_program_does, NULL);
    ADD("active-from-the-start", test_active_from_the_start, NULL);
    ADD("reads-and-writes", test_reads_and_writes, NULL);
    ADD("cuts-long-texts", test_cuts_long_texts, NULL);
    ADD("runs-actions", test_runs_actions, NULL);
    ADD("keeps-zero-background-threads-away", test_keeps_zero_background_threads_away, NULL);
    ADD("prof-false", test_does_not_touch_a_profiler_that_is_off, NULL);
    ADD("built-without-prof", test_does_not_touch_a_profiler_that_is_off, "built without");
    ADD("output-replaces-what-is-there", test_output_replaces_what_is_there, NULL);
    ADD("long-statistics-arrive-whole", test_long_statistics_arrive_whole, NULL);
    ADD("output-goes-to-memfds-alone", test_output_goes_to_memfds_alone, NULL);
    ADD("a-lease-is-one-at-a-time", test_a_lease_is_one_at_a_time, NULL);
    ADD("a-replacing-lease-restores-the-first-state", test_a_replacing_lease_restores_the_first_state, NULL);
    ADD("a-lease-ends-at-its-deadline", test_a_lease_ends_at_its_deadline, NULL);
    ADD("whoever-sets-it-later-wins", test_whoever_sets_it_later_wins, NULL);
    ADD("a-failed-lease-is-none", test_a_failed_lease_is_none, NULL);
    ADD("a-child-inherits-the-lease", test_a_child_inherits_the_lease, NULL);
    ADD("a-period-that-others-change-stays", test_a_period_that_others_change_stays, NULL);
    ADD("a-lease-restores-the-period", test_a_lease_restores_the_period, NULL);
    ADD("reads-many-numbers", test_reads_many_numbers, NULL);
    ADD("gives-as-many-rows-as-fit", test_gives_as_many_rows_as_fit, NULL);
    ADD("judges-each-of-many", test_judges_each_of_many, NULL);
    ADD("leaves-without-a-lease", test_leaves_without_a_lease, NULL);
    ADD("leaves-a-profiler-alone-that-is-off", test_leaves_a_profiler_alone_that_is_off, NULL);
    return g_test_run();
}
