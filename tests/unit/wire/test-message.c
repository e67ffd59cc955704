/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <glib.h>
#include <string.h>

static WireHeader
make_header(uint16_t op, size_t size)
{
    return (WireHeader){
        .magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = op, .sequence = 7, .size = (uint32_t)size};
}

static WireRequest
make_ctl(const char *name, uint32_t type, uint32_t flags)
{
    WireRequest request = {
        .ctl = {.header = make_header(WIRE_OP_CTL, sizeof(request.ctl)), .type = type, .flags = flags}};
    g_strlcpy(request.ctl.name, name, sizeof(request.ctl.name));
    return request;
}

static WireRequest
make_lease(uint32_t action, uint64_t duration_ms)
{
    return (WireRequest){.lease = {.header = make_header(WIRE_OP_LEASE, sizeof(WireLeaseRequest)),
                                   .action = action,
                                   .duration_ms = duration_ms,
                                   .active = 1}};
}

static void
test_accepts_what_is_whole(void)
{
    WireRequest hello = {
        .hello = {.header = make_header(WIRE_OP_HELLO, sizeof(hello.hello)), .version_min = 1, .version_max = 3}};
    WireRequest dump = {.header = make_header(WIRE_OP_DUMP, sizeof(dump.dump))};
    WireRequest stats = {.header = make_header(WIRE_OP_STATS, sizeof(stats.stats))};
    WireRequest ctl = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ | WIRE_CTL_WRITE);
    WireRequest lease = make_lease(WIRE_LEASE_TAKE, 1);

    g_assert_cmpint(wire_request_check(&hello, sizeof(hello.hello), false), ==, WIRE_STATUS_OK);
    g_assert_cmpint(wire_request_check(&dump, sizeof(dump.dump), true), ==, WIRE_STATUS_OK);
    g_assert_cmpint(wire_request_check(&stats, sizeof(stats.stats), true), ==, WIRE_STATUS_OK);
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl), false), ==, WIRE_STATUS_OK);
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_OK);
}

static void
test_refuses_broken_headers(void)
{
    WireRequest ctl = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ);

    g_assert_cmpint(wire_request_check(&ctl, sizeof(WireHeader) - 1, false), ==, WIRE_STATUS_BAD_MESSAGE);
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl) - 1, false), ==, WIRE_STATUS_BAD_MESSAGE);
    ctl.header.size--;
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl) - 1, false), ==, WIRE_STATUS_BAD_MESSAGE);
    ctl.header = make_header(WIRE_OP_CTL, sizeof(ctl.ctl));
    ctl.header.magic++;
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl), false), ==, WIRE_STATUS_BAD_MESSAGE);
}

static void
test_tells_unknown_ops_and_versions_apart(void)
{
    WireRequest request = {.header = make_header(WIRE_OP_LEAVE + 1, sizeof(request.header))};

    g_assert_cmpint(wire_request_check(&request, sizeof(request.header), false), ==, WIRE_STATUS_UNKNOWN_OP);
    request.header.op = 0;
    g_assert_cmpint(wire_request_check(&request, sizeof(request.header), false), ==, WIRE_STATUS_UNKNOWN_OP);
    request = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ);
    request.header.version = WIRE_VERSION_MAX + 1;
    g_assert_cmpint(wire_request_check(&request, sizeof(request.ctl), false), ==, WIRE_STATUS_BAD_VERSION);
    request = (WireRequest){.header = make_header(WIRE_OP_HELLO, sizeof(request.hello))};
    request.header.version = WIRE_VERSION_MAX + 1; /* HELLO is how one finds out */
    g_assert_cmpint(wire_request_check(&request, sizeof(request.hello), false), ==, WIRE_STATUS_OK);
}

static void
test_wants_a_descriptor_exactly_where_one_belongs(void)
{
    WireRequest dump = {.header = make_header(WIRE_OP_DUMP, sizeof(dump.dump))};
    WireRequest ctl = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ);

    g_assert_cmpint(wire_request_check(&dump, sizeof(dump.dump), false), ==, WIRE_STATUS_BAD_MESSAGE);
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl), true), ==, WIRE_STATUS_BAD_MESSAGE);
}

static void
test_refuses_senseless_controls(void)
{
    static const struct {
        const char *name;
        uint32_t type;
        uint32_t flags;
    } cases[] = {
        {"epoch", WIRE_TYPE_U64, 0},
        {"epoch", WIRE_TYPE_U64, 4},
        {"epoch", WIRE_TYPE_STRING + 1, WIRE_CTL_READ},
        {"prof.reset", WIRE_TYPE_NONE, WIRE_CTL_READ},
        {"prof.reset", WIRE_TYPE_NONE, WIRE_CTL_READ | WIRE_CTL_WRITE},
        {"prof.prefix", WIRE_TYPE_STRING, WIRE_CTL_WRITE},
        {"", WIRE_TYPE_U64, WIRE_CTL_READ},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        WireRequest request = make_ctl(cases[i].name, cases[i].type, cases[i].flags);
        g_assert_cmpint(wire_request_check(&request, sizeof(request.ctl), false), ==, WIRE_STATUS_BAD_MESSAGE);
    }
}

static void
test_refuses_text_without_an_end(void)
{
    WireRequest ctl = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ);
    WireRequest stats = {.header = make_header(WIRE_OP_STATS, sizeof(stats.stats))};

    memset(ctl.ctl.name, 'a', sizeof(ctl.ctl.name));
    memset(stats.stats.letters, 'J', sizeof(stats.stats.letters));
    g_assert_cmpint(wire_request_check(&ctl, sizeof(ctl.ctl), false), ==, WIRE_STATUS_BAD_MESSAGE);
    g_assert_cmpint(wire_request_check(&stats, sizeof(stats.stats), true), ==, WIRE_STATUS_BAD_MESSAGE);
}

static void
test_bounds_leases(void)
{
    const uint64_t longest = 30ull * 24 * 60 * 60 * 1000;
    WireRequest lease = make_lease(WIRE_LEASE_TAKE, longest);

    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_OK);
    lease.lease.duration_ms = longest + 1;
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_BAD_MESSAGE);
    lease.lease.duration_ms = 0;
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_BAD_MESSAGE);
    lease.lease.action = WIRE_LEASE_RELEASE; /* which lasts no time */
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_OK);
    lease = make_lease(0, 1);
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_BAD_MESSAGE);
    lease = make_lease(WIRE_LEASE_TAKE, 1);
    lease.lease.active = 2;
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_BAD_MESSAGE);
    lease = make_lease(WIRE_LEASE_TAKE, 1);
    lease.lease.flags = 16;
    g_assert_cmpint(wire_request_check(&lease, sizeof(lease.lease), false), ==, WIRE_STATUS_BAD_MESSAGE);
}

static void
test_judges_lists_of_controls(void)
{
    static const struct {
        const char names[64];
        WireStatus status;
    } lists[] = {
        {"3stats.allocated\0"
         "4.small.nmalloc\0",
         WIRE_STATUS_OK},
        {"1arena.*.initialized\0", WIRE_STATUS_OK},
        {"", WIRE_STATUS_BAD_MESSAGE},
        {"3\0", WIRE_STATUS_BAD_MESSAGE},
        {"6version\0", WIRE_STATUS_BAD_MESSAGE}, /* a text is no number */
        {"0arena.0.purge\0", WIRE_STATUS_BAD_MESSAGE},
        {"stats.allocated\0", WIRE_STATUS_BAD_MESSAGE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
        WireRequest request = {.sample = {.header = make_header(WIRE_OP_SAMPLE, sizeof(request.sample)), .count = 1}};
        memcpy(request.sample.names, lists[i].names, sizeof(lists[i].names));
        g_assert_cmpint(wire_request_check(&request, sizeof(request.sample), false), ==, lists[i].status);
        request.sample.count = 0;
        g_assert_cmpint(wire_request_check(&request, sizeof(request.sample), false), ==, WIRE_STATUS_BAD_MESSAGE);
    }
    WireRequest endless = {.sample = {.header = make_header(WIRE_OP_SAMPLE, sizeof(endless.sample)), .count = 1}};
    memset(endless.sample.names, '3', sizeof(endless.sample.names));
    g_assert_cmpint(wire_request_check(&endless, sizeof(endless.sample), false), ==, WIRE_STATUS_BAD_MESSAGE);
    WireRequest many = {.sample = {.header = make_header(WIRE_OP_SAMPLE, sizeof(many.sample)), .count = 1}};
    for (gsize i = 0; i <= WIRE_SAMPLE_CONTROLS_MAX; i++)
        memcpy(many.sample.names + i * 3, "3a", 3);
    g_assert_cmpint(wire_request_check(&many, sizeof(many.sample), false), ==, WIRE_STATUS_BAD_MESSAGE);
}

static void
test_a_reply_echoes_its_request(void)
{
    WireRequest ctl = make_ctl("epoch", WIRE_TYPE_U64, WIRE_CTL_READ);
    WireAnswer answer;

    memset(&answer, 0xff, sizeof(answer));
    wire_answer_begin(&answer, &ctl, sizeof(ctl.ctl), WIRE_STATUS_BUSY, sizeof(answer.ctl));
    g_assert_cmpuint(answer.reply.header.op, ==, WIRE_OP_CTL);
    g_assert_cmpuint(answer.reply.header.sequence, ==, 7);
    g_assert_cmpuint(answer.reply.header.size, ==, sizeof(answer.ctl));
    g_assert_cmpuint(answer.reply.status, ==, WIRE_STATUS_BUSY);
    g_assert_cmpuint(answer.ctl.value, ==, 0);
    wire_answer_begin(&answer, &ctl, 3, WIRE_STATUS_BAD_MESSAGE, sizeof(answer.reply));
    g_assert_cmpuint(answer.reply.header.sequence, ==, 0); /* of three bytes nothing is taken for a header */
}

static void
test_replies_that_are_legal(void)
{
    static const struct {
        uint32_t op;
        uint32_t status;
        size_t size;
    } rows[] = {
        {WIRE_OP_HELLO, WIRE_STATUS_OK, sizeof(WireHelloReply)},
        {WIRE_OP_HELLO, WIRE_STATUS_BAD_VERSION, sizeof(WireReply)},
        {WIRE_OP_HELLO, WIRE_STATUS_PROF_DISABLED, 0},
        {WIRE_OP_CTL, WIRE_STATUS_PROF_DISABLED, sizeof(WireReply)},
        {WIRE_OP_CTL, WIRE_STATUS_BUSY, 0},
        {WIRE_OP_LEASE, WIRE_STATUS_BUSY, sizeof(WireLeaseReply)},
        {WIRE_OP_LEASE, WIRE_STATUS_NO_LEASE, sizeof(WireReply)},
        {WIRE_OP_STATS, WIRE_STATUS_PROF_DISABLED, 0},
        {WIRE_OP_LEAVE, WIRE_STATUS_OK, sizeof(WireReply)},
        {WIRE_OP_LEAVE, WIRE_STATUS_CONTROL_FAILED, 0},
        {0, WIRE_STATUS_OK, 0},
        {WIRE_OP_LEAVE + 1, WIRE_STATUS_OK, 0},
        {WIRE_OP_CTL, WIRE_STATUS_WRITE_FAILED + 1, 0},
        {UINT16_MAX, UINT32_MAX, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpuint(wire_reply_size(rows[i].op, rows[i].status), ==, rows[i].size);
}

static void
test_names_of_samples(void)
{
    static const struct {
        const char *item;
        guint32 arena;
        const char *name;
    } cases[] = {
        {"stats.allocated", 7, "stats.allocated"},
        {".small.allocated", 7, "stats.arenas.7.small.allocated"},
        {".small.allocated", 0, "stats.arenas.0.small.allocated"},
        {"arenas.bin.*.size", 4294967295, "arenas.bin.4294967295.size"},
        {"arena.*", 10, "arena.10"},
    };
    char name[WIRE_CONTROL_NAME_MAX];
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_true(wire_sample_name(cases[i].item, cases[i].arena, name));
        g_assert_cmpstr(name, ==, cases[i].name);
    }
    g_autofree char *longest = g_strnfill(WIRE_CONTROL_NAME_MAX - 1, 'x');
    g_autofree char *too_long = g_strnfill(WIRE_CONTROL_NAME_MAX, 'x');
    g_assert_true(wire_sample_name(longest, 0, name));
    g_assert_cmpstr(name, ==, longest);
    g_assert_false(wire_sample_name(too_long, 0, name));
    longest[0] = '*';
    g_assert_true(wire_sample_name(longest, 9, name));
    g_assert_false(wire_sample_name(longest, 10, name));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/message/accepts-what-is-whole", test_accepts_what_is_whole);
    g_test_add_func("/wire/message/refuses-broken-headers", test_refuses_broken_headers);
    g_test_add_func("/wire/message/unknown-ops-and-versions", test_tells_unknown_ops_and_versions_apart);
    g_test_add_func("/wire/message/descriptors", test_wants_a_descriptor_exactly_where_one_belongs);
    g_test_add_func("/wire/message/refuses-senseless-controls", test_refuses_senseless_controls);
    g_test_add_func("/wire/message/refuses-text-without-an-end", test_refuses_text_without_an_end);
    g_test_add_func("/wire/message/bounds-leases", test_bounds_leases);
    g_test_add_func("/wire/message/lists-of-controls", test_judges_lists_of_controls);
    g_test_add_func("/wire/message/a-reply-echoes-its-request", test_a_reply_echoes_its_request);
    g_test_add_func("/wire/message/legal-replies", test_replies_that_are_legal);
    g_test_add_func("/wire/message/names-of-samples", test_names_of_samples);
    return g_test_run();
}
