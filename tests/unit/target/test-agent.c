/* SPDX-License-Identifier: Apache-2.0 */
#include "target/agent.h"
#include "target/implementation.h"

#include "fake-agent.h"
#include "slow-close.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Short, so that a test of silence is over soon; long enough for any machine to answer. */
static const AgentDeadlines patient = {.connect = 1000, .answer = 20000, .output = 20000};
static const AgentDeadlines hasty = {.connect = 50, .answer = 50, .output = 50};

static Target *
open_fake(const FakeAgent *fake, AgentDeadlines deadlines, GError **error)
{
    AgentAddress address = {.path = fake->path, .deadlines = deadlines};
    return agent_open(&address, error);
}

static void
test_hello(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", fake_answer_well, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Target) target = open_fake(fake, patient, &error);
    g_assert_no_error(error);
    g_assert_cmpint(target_pid(target), ==, getpid());
    g_assert_cmpstr(target_name(target), ==, "victim");
    WireHelloReply hello;
    g_assert_true(target_hello(target, &hello, &error));
    g_assert_cmpstr(hello.jemalloc_version, ==, "5.3.0");
}

static void
test_long_path(void)
{
    g_autofree char *deep = g_strnfill(200, 'd');
    g_autoptr(FakeAgent) fake = fake_agent_new(deep, fake_answer_well, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Target) target = open_fake(fake, patient, &error);
    g_assert_no_error(error);
    g_assert_nonnull(target);
}

enum { PROMPT_US = 20 * G_USEC_PER_SEC };

/* The kernel would close it in our place. */
static void
test_descriptor_with_a_reply(void)
{
    int other;
    g_autoptr(FakeAgent) fake = fake_agent_new("", fake_answer_well, NULL);
    g_autoptr(GError) error = NULL;
    fake->along = slow_close_open(&other);
    const gint64 begun = g_get_monotonic_time();
    g_assert_null(open_fake(fake, patient, &error));
    g_assert_cmpint(g_get_monotonic_time() - begun, <, PROMPT_US);
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    close(other);
}

static void
test_descriptor_that_is_not_received(void)
{
    int other;
    g_autoptr(FakeAgent) fake = fake_agent_new("", fake_answer_well, NULL);
    g_autoptr(GError) error = NULL;
    WireHelloReply hello;
    g_autoptr(Target) target = open_fake(fake, patient, &error);
    g_assert_no_error(error);
    fake->apart = TRUE;
    fake->along = slow_close_open(&other);
    g_assert_true(target_hello(target, &hello, &error));
    fake_agent_await(fake);
    const gint64 begun = g_get_monotonic_time();
    g_clear_pointer(&target, target_free);
    g_assert_cmpint(g_get_monotonic_time() - begun, <, PROMPT_US);
    close(other);
}

/* Another process's agent must not be taken for the requested one. */
static void
test_peer(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", fake_answer_well, NULL);
    Process init;
    g_assert_true(process_read(getppid(), &init));
    g_autoptr(GError) error = NULL;
    AgentAddress address = {.path = fake->path, .process = &init, .deadlines = patient};
    g_assert_null(agent_open(&address, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
}

static ssize_t
answer_short(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    return 7;
}

static ssize_t
answer_cut(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireHelloReply) - 8;
    return sizeof(WireHelloReply) - 8;
}

static ssize_t
answer_huge(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    return sizeof(reply->bytes);
}

static ssize_t
answer_other_magic(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.magic++;
    return sizeof(WireHelloReply);
}

static ssize_t
answer_other_sequence(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.sequence++;
    return sizeof(WireHelloReply);
}

static ssize_t
answer_other_op(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.op = WIRE_OP_CTL;
    return sizeof(WireHelloReply);
}

static ssize_t
answer_false_size(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireHelloReply) + 8;
    return sizeof(WireHelloReply);
}

static ssize_t
answer_bare_ok(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireReply);
    return sizeof(WireReply);
}

static ssize_t
answer_bad_version(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireReply);
    reply->reply.status = WIRE_STATUS_BAD_VERSION;
    return sizeof(WireReply);
}

static ssize_t
answer_odd_status(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireReply);
    reply->reply.status = 12345;
    return sizeof(WireReply);
}

static void
test_nonsense(void)
{
    static const FakeAnswer answers[] = {
        answer_short,    answer_cut,        answer_huge,    answer_other_magic, answer_other_sequence,
        answer_other_op, answer_false_size, answer_bare_ok, answer_bad_version, answer_odd_status,
    };
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        g_autoptr(FakeAgent) fake = fake_agent_new("", answers[i], NULL);
        g_autoptr(GError) error = NULL;
        g_assert_null(open_fake(fake, patient, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    }
}

static ssize_t
answer_silent(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    return FAKE_SILENT;
}

static void
test_silent(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_silent, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(open_fake(fake, hasty, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
}

static ssize_t
answer_hello_only(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    return request->header.op == WIRE_OP_HELLO ? fake_answer_well(request, reply, data) : FAKE_SILENT;
}

/* Every operation keeps the limit that was set for all of them. */
static void
test_wait_until(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_hello_only, NULL);
    const SampleRequest sample = {.names = "1epoch\0", .n = 1, .count = 1};
    guint64 row[2];
    WireCtlReply value;
    for (guint i = 0; i < 3; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Target) target = open_fake(fake, patient, &error);
        g_assert_no_error(error);
        target_wait_until(target, g_get_monotonic_time() + 20000);
        if (i == 0)
            g_assert_cmpint(target_stats(target, "Jx", &error), ==, -1);
        else if (i == 1)
            g_assert_false(target_read(target, "epoch", WIRE_TYPE_U64, &value, &error));
        else
            g_assert_false(target_sample(target, &sample, row, NULL, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
        g_assert_null(strstr(error->message, "within 20 s"));
    }
}

static ssize_t
answer_dirty(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    fake_answer_well(request, reply, data);
    memset(reply->hello.name, 0x1b, sizeof(reply->hello.name));
    memset(reply->hello.found_in, 0xff, sizeof(reply->hello.found_in));
    reply->hello.lease.remaining_ms = G_MAXUINT64;
    return sizeof(WireHelloReply);
}

static void
test_dirty_text(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_dirty, NULL);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    WireHelloReply hello;
    g_assert_true(target_hello(target, &hello, NULL));
    g_assert_cmpstr(target_name(target), ==, "???????????????");
    g_assert_true(g_utf8_validate(hello.found_in, -1, NULL));
    g_assert_cmpuint(strlen(hello.found_in), ==, WIRE_PATH_MAX - 1);
    g_assert_cmpuint(hello.lease.remaining_ms, <=, G_GUINT64_CONSTANT(30) * 86400 * 1000);
}

static ssize_t
answer_third(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    int *calls = data;
    return ++*calls < 3 ? FAKE_HANG_UP : fake_answer_well(request, reply, data);
}

static void
test_reconnect(void)
{
    int calls = 0;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_third, &calls);
    g_autoptr(GError) error = NULL;
    AgentDeadlines deadlines = patient;
    deadlines.connect = 20000;
    g_autoptr(Target) target = open_fake(fake, deadlines, &error);
    g_assert_no_error(error);
    g_assert_nonnull(target);
    g_assert_cmpint(calls, ==, 3);
}

static ssize_t
answer_hang_up(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    return FAKE_HANG_UP;
}

static void
test_always_broken(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_hang_up, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(open_fake(fake, (AgentDeadlines){.connect = 50, .answer = 20000}, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_AGENT);
}

static void
test_nobody(void)
{
    g_autoptr(GError) error = NULL;
    AgentAddress address = {.path = "/nonexistent/agent.sock", .deadlines = hasty};
    g_assert_null(agent_open(&address, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_AGENT);
    g_assert_nonnull(strstr(error->message, "/nonexistent/agent.sock"));
}

static ssize_t
answer_status(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO) {
        fake_answer_well(request, reply, NULL);
        reply->hello.flags = WIRE_FLAG_SERVES_MALLOC | WIRE_FLAG_CONFIG_PROF;
        return sizeof(WireHelloReply);
    }
    reply->header.size = sizeof(WireReply);
    reply->reply.status = *(const WireStatus *)data;
    reply->reply.error = ENOENT;
    return sizeof(WireReply);
}

static ssize_t
answer_taken(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    WireStatus status = WIRE_STATUS_CONTROL_FAILED;
    ssize_t size = answer_status(request, reply, &status);

    if (request->header.op != WIRE_OP_HELLO)
        reply->reply.error = EAGAIN;
    return size;
}

/* jemalloc has four places for hooks. */
static void
test_hooks_are_taken(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_taken, NULL);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;

    g_assert_false(target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, &error));
    g_assert_error(error, TARGET_ERROR, (int)OUTCOME_CONTROL_FAILED);
    g_assert_nonnull(strstr(error->message, "has all four hooks of this jemalloc"));
}

static gboolean
ask_for_lease(Target *target, GError **error)
{
    WireLeaseRequest request = {.action = WIRE_LEASE_RENEW, .lease_id = 1, .duration_ms = 1000};
    WireLease lease;
    return target_lease(target, &request, &lease, error);
}

static void
test_refusals(void)
{
    static const struct {
        WireStatus status;
        Outcome code;
        const char *says;
    } rows[] = {
        {WIRE_STATUS_PROF_DISABLED, OUTCOME_NO_PROFILING, "MALLOC_CONF=prof:true,prof_active:false"},
        {WIRE_STATUS_NOT_ALLOWED, OUTCOME_NOT_ALLOWED, "'prof.active'"},
        {WIRE_STATUS_CONTROL_FAILED, OUTCOME_CONTROL_FAILED, "No such file"},
        {WIRE_STATUS_BUSY, OUTCOME_PROTOCOL, "a reply that the protocol does not allow"},
        {WIRE_STATUS_UNKNOWN_OP, OUTCOME_PROTOCOL, "status 1"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        WireStatus status = rows[i].status;
        g_autoptr(FakeAgent) fake = fake_agent_new("", answer_status, &status);
        g_autoptr(Target) target = open_fake(fake, patient, NULL);
        g_autoptr(GError) error = NULL;
        WireCtlReply value = {.value = 77};
        g_assert_false(target_read(target, "prof.active", WIRE_TYPE_BOOL, &value, &error));
        g_assert_error(error, TARGET_ERROR, (int)rows[i].code);
        g_assert_nonnull(strstr(error->message, rows[i].says));
        g_assert_cmpuint(value.value, ==, 77);
        if (rows[i].code == OUTCOME_CONTROL_FAILED)
            g_assert_cmpint(target_errno(target), ==, ENOENT);
    }
}

static void
test_lease_refusals(void)
{
    static const struct {
        WireStatus status;
        Outcome code;
        const char *says;
    } rows[] = {
        {WIRE_STATUS_NO_LEASE, OUTCOME_NOT_FOUND, "victim"},
        {WIRE_STATUS_BUSY, OUTCOME_PROTOCOL, "a reply of the wrong size"}, /* without the lease in the way */
        {WIRE_STATUS_NOT_ALLOWED, OUTCOME_PROTOCOL, "a reply that the protocol does not allow"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        WireStatus status = rows[i].status;
        g_autoptr(FakeAgent) fake = fake_agent_new("", answer_status, &status);
        g_autoptr(Target) target = open_fake(fake, patient, NULL);
        g_autoptr(GError) error = NULL;
        g_assert_false(ask_for_lease(target, &error));
        g_assert_error(error, TARGET_ERROR, (int)rows[i].code);
        g_assert_nonnull(strstr(error->message, rows[i].says));
    }
}

static ssize_t
answer_busy(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, data);
    reply->reply.status = WIRE_STATUS_BUSY;
    reply->lease.lease.remaining_ms = 2500;
    return sizeof(WireLeaseReply);
}

static void
test_busy(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_busy, NULL);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_false(ask_for_lease(target, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_BUSY);
    g_assert_nonnull(strstr(error->message, "for another 3 s"));
    g_assert_nonnull(strstr(error->message, "jescope disable"));
}

static ssize_t
answer_any_status(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    reply->header.size = sizeof(WireReply);
    reply->reply.status = *(const WireStatus *)data;
    return sizeof(WireReply);
}

/* A refused HELLO once led to another HELLO, without end. */
static void
test_hello_refused(void)
{
    for (WireStatus status = WIRE_STATUS_OK; status <= WIRE_STATUS_WRITE_FAILED + 1; status++) {
        g_autoptr(FakeAgent) fake = fake_agent_new("", answer_any_status, &status);
        g_autoptr(GError) error = NULL;
        g_assert_null(open_fake(fake, patient, &error));
        g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    }
}

/* Says that profiling is possible, then that it is not, and then refuses to repeat the first. */
static ssize_t
answer_contradicting(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    int *greeted = data;
    if (request->header.op == WIRE_OP_HELLO && ++*greeted == 1)
        return fake_answer_well(request, reply, NULL);
    reply->header.size = sizeof(WireReply);
    reply->reply.status = WIRE_STATUS_PROF_DISABLED;
    return sizeof(WireReply);
}

static void
test_contradiction(void)
{
    int greeted = 0;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_contradicting, &greeted);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_false(target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    g_assert_cmpint(greeted, ==, 2);
}

/* One row at a time, each just within the deadline of one answer. */
static ssize_t
answer_slowly(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, data);
    g_usleep(200000);
    if (request->header.op == WIRE_OP_CTL)
        return sizeof(WireCtlReply);
    WireSampleReply *sample = (WireSampleReply *)reply->bytes;
    sample->rows = 1;
    return sizeof(WireSampleReply);
}

static void
test_slow_rows(void)
{
    enum { ROWS = 200 };
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_slowly, NULL);
    AgentDeadlines deadlines = {.connect = 1000, .answer = 1000, .output = 1000};
    g_autoptr(Target) target = open_fake(fake, deadlines, NULL);
    g_autofree guint64 *rows = g_new(guint64, ROWS * 2);
    SampleRequest request = {.names = "3.a\0", .n = 1, .count = ROWS};
    g_autoptr(GError) error = NULL;
    gint64 begun = g_get_monotonic_time();
    g_assert_false(target_sample(target, &request, rows, NULL, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_cmpint(g_get_monotonic_time() - begun, <, 20 * G_USEC_PER_SEC);
}

static void
test_slow_answers(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_slowly, NULL);
    AgentDeadlines deadlines = {.connect = 1000, .answer = 1000, .output = 1000};
    g_autoptr(Target) target = open_fake(fake, deadlines, NULL);
    g_autoptr(GError) error = NULL;
    int answered = 0;
    while (answered < 200 && target_read(target, "epoch", WIRE_TYPE_U64, &(WireCtlReply){0}, &error))
        answered++;
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_cmpint(answered, <, 20);
}

static void
test_slow_samples(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_slowly, NULL);
    AgentDeadlines deadlines = {.connect = 1000, .answer = 1000, .output = 1000};
    g_autoptr(Target) target = open_fake(fake, deadlines, NULL);
    const SampleRequest request = {.names = "3.a\0", .n = 1, .count = 1};
    guint64 row[2];
    g_autoptr(GError) error = NULL;
    int answered = 0;
    while (answered < 200 && target_sample(target, &request, row, NULL, &error))
        answered++;
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    g_assert_cmpint(answered, <, 20);
}

static ssize_t
answer_output(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, NULL);
    const guint64 *claimed = data;
    g_assert_cmpint(request->descriptor, >=, 0);
    g_assert_cmpint(write(request->descriptor, "heap_v2", 7), ==, 7);
    reply->output.bytes = *claimed;
    return sizeof(WireOutputReply);
}

static void
test_dump(void)
{
    guint64 bytes = 7;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_output, &bytes);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    int fd = target_dump(target, &error);
    g_assert_no_error(error);
    char text[8] = "";
    g_assert_cmpint(read(fd, text, 7), ==, 7);
    g_assert_cmpstr(text, ==, "heap_v2");
    g_assert_cmpint(write(fd, "x", 1), ==, -1); /* sealed */
    g_assert_cmpint(ftruncate(fd, 0), ==, -1);
    close(fd);
}

/* The agent's answer comes from a child of the process; what is read of that by its pid would not be the target's. */
static void
test_dump_of_a_process_that_has_changed(void)
{
    enum { SOMEONE = 61000 };
    guint64 bytes = 7;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_output, &bytes);
    g_autoptr(GError) reused = NULL, other = NULL;
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    target->found.start_time--;
    g_assert_cmpint(target_dump(target, &reused), ==, -1);
    g_assert_error(reused, TARGET_ERROR, OUTCOME_GONE);
    target->found.start_time++;
    for (guint i = 0; i < PROCESS_UIDS; i++)
        target->found.uids[i] = SOMEONE;
    g_assert_cmpint(target_dump(target, &other), ==, -1);
    g_assert_error(other, TARGET_ERROR, OUTCOME_PERMISSION);
}

static void
test_dump_of_other_size(void)
{
    guint64 bytes = 8;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_output, &bytes);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(target_dump(target, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
}

static ssize_t
answer_sparse(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, NULL);
    const off_t size = 64 << 20;
    g_assert_cmpint(ftruncate(request->descriptor, size), ==, 0);
    reply->output.bytes = (guint64)size;
    return sizeof(WireOutputReply);
}

static void
test_sparse_dump(void)
{
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_sparse, NULL);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(target_dump(target, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    g_assert_nonnull(strstr(error->message, "holes"));
}

/* Writes until it is stopped; *DATA is then the size that its own descriptor still has, once it is empty or 20 s later.
 */
static ssize_t
answer_endless(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    static const char block[1 << 16];
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, NULL);
    while (write(request->descriptor, block, sizeof(block)) > 0)
        ;
    struct stat st = {.st_size = -1};
    for (int i = 0; i < 2000 && st.st_size != 0; i++) {
        g_usleep(10000);
        g_assert_cmpint(fstat(request->descriptor, &st), ==, 0);
    }
    *(goffset *)data = st.st_size;
    return FAKE_HANG_UP;
}

static void
test_endless_dump(void)
{
    goffset left = -1;
    guint64 limit = target_output_limit();
    g_autoptr(GError) error = NULL;
    FakeAgent *fake = fake_agent_new("", answer_endless, &left);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    target_set_output_limit(1 << 20);
    g_assert_cmpint(target_dump(target, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_TOO_LARGE);
    g_assert_nonnull(strstr(error->message, "--max-output"));
    target_set_output_limit(limit);
    fake_agent_free(fake);
    g_assert_cmpint(left, ==, 0);
}

/* Says that it writes more statistics than any jemalloc prints, and waits until they are discarded. */
static ssize_t
answer_endless_statistics(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, NULL);
    struct stat st = {.st_size = -1};
    g_assert_cmpint(ftruncate(request->descriptor, (off_t)TARGET_STATISTICS_MAX + 1), ==, 0);
    for (int i = 0; i < 2000 && st.st_size != 0; i++) {
        g_usleep(10000);
        g_assert_cmpint(fstat(request->descriptor, &st), ==, 0);
    }
    *(goffset *)data = st.st_size;
    return FAKE_HANG_UP;
}

/* The limit of dumps is higher. */
static void
test_endless_statistics(void)
{
    goffset left = -1;
    g_autoptr(GError) error = NULL;
    FakeAgent *fake = fake_agent_new("", answer_endless_statistics, &left);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_assert_cmpuint(TARGET_STATISTICS_MAX, <, target_output_limit());
    g_assert_cmpint(target_stats(target, "J", &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_TOO_LARGE);
    g_assert_nonnull(strstr(error->message, "--options"));
    fake_agent_free(fake);
    g_assert_cmpint(left, ==, 0);
}

/* Moves the offset of the descriptor it was sent, for as long as the test runs. */
static ssize_t
answer_with_offset(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op == WIRE_OP_HELLO)
        return fake_answer_well(request, reply, NULL);
    g_assert_cmpint(pwrite(request->descriptor, "heap_v2", 7, 0), ==, 7);
    *(int *)data = dup(request->descriptor);
    reply->output.bytes = 7;
    return sizeof(WireOutputReply);
}

static void
test_moving_offset(void)
{
    int theirs = -1;
    g_autoptr(FakeAgent) fake = fake_agent_new("", answer_with_offset, &theirs);
    g_autoptr(Target) target = open_fake(fake, patient, NULL);
    g_autoptr(GError) error = NULL;
    int fd = target_dump(target, &error);
    g_assert_no_error(error);
    char text[8] = "";
    g_assert_cmpint(lseek(theirs, 3, SEEK_SET), ==, 3);
    g_assert_cmpint(read(fd, text, 7), ==, 7);
    g_assert_cmpint(lseek(theirs, 0, SEEK_SET), ==, 0);
    g_assert_cmpint(lseek(fd, 0, SEEK_CUR), ==, 7);
    g_assert_cmpstr(text, ==, "heap_v2");
    close(theirs);
    close(fd);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/hello", test_hello);
    g_test_add_func("/agent/long-path", test_long_path);
    g_test_add_func("/agent/descriptor-with-a-reply", test_descriptor_with_a_reply);
    g_test_add_func("/agent/descriptor-not-received", test_descriptor_that_is_not_received);
    g_test_add_func("/agent/peer", test_peer);
    g_test_add_func("/agent/nonsense", test_nonsense);
    g_test_add_func("/agent/silent", test_silent);
    g_test_add_func("/agent/wait-until", test_wait_until);
    g_test_add_func("/agent/dirty-text", test_dirty_text);
    g_test_add_func("/agent/reconnect", test_reconnect);
    g_test_add_func("/agent/always-broken", test_always_broken);
    g_test_add_func("/agent/nobody", test_nobody);
    g_test_add_func("/agent/refusals", test_refusals);
    g_test_add_func("/agent/hooks-are-taken", test_hooks_are_taken);
    g_test_add_func("/agent/lease-refusals", test_lease_refusals);
    g_test_add_func("/agent/busy", test_busy);
    g_test_add_func("/agent/hello-refused", test_hello_refused);
    g_test_add_func("/agent/contradiction", test_contradiction);
    g_test_add_func("/agent/slow-rows", test_slow_rows);
    g_test_add_func("/agent/slow-samples", test_slow_samples);
    g_test_add_func("/agent/slow-answers", test_slow_answers);
    g_test_add_func("/agent/sparse-dump", test_sparse_dump);
    g_test_add_func("/agent/endless-dump", test_endless_dump);
    g_test_add_func("/agent/endless-statistics", test_endless_statistics);
    g_test_add_func("/agent/moving-offset", test_moving_offset);
    g_test_add_func("/agent/dump", test_dump);
    g_test_add_func("/agent/dump-of-a-process-that-has-changed", test_dump_of_a_process_that_has_changed);
    g_test_add_func("/agent/dump-of-other-size", test_dump_of_other_size);
    return g_test_run();
}
