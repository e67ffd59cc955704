/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies of a hostile target. Byte 0, bit 0: the reply to HELLO is valid, so that other requests follow; bit 1: the
 * headers of the replies are valid. The rest is the reply.
 */
#include "fake-agent.h"
#include "target/agent.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    GOOD_HELLO = 1 << 0,
    GOOD_HEADER = 1 << 1,
};

/* A copy, since the fake agent's thread may still reply after the client has given up and the input is freed. */
typedef struct {
    GMutex lock;
    uint8_t flags;
    size_t size;
    uint8_t bytes[sizeof(((FakeReply *)NULL)->bytes)];
} Input;

static Input input;
static FakeAgent *fake;

static void
keep_input(const uint8_t *data, size_t size)
{
    g_mutex_lock(&input.lock);
    input.flags = data[0];
    input.size = MIN(size - 1, sizeof(input.bytes));
    memcpy(input.bytes, data + 1, input.size);
    g_mutex_unlock(&input.lock);
}

static ssize_t
answer_input(const FakeRequest *request, FakeReply *reply)
{
    if (request->header.op == WIRE_OP_HELLO && (input.flags & GOOD_HELLO) != 0)
        return fake_answer_well(request, reply, NULL);
    WireHeader good = reply->header;
    memcpy(reply->bytes, input.bytes, input.size);
    if ((input.flags & GOOD_HEADER) != 0 && input.size >= sizeof(good)) {
        reply->header = good;
        reply->header.size = (uint32_t)input.size;
    }
    return input.size > 0 ? (ssize_t)input.size : FAKE_HANG_UP;
}

static ssize_t
answer(const FakeRequest *request, FakeReply *reply, gpointer unused)
{
    g_mutex_lock(&input.lock);
    ssize_t size = answer_input(request, reply);
    g_mutex_unlock(&input.lock);
    return size;
}

static void
stop_listening(void)
{
    fake_agent_free(fake);
}

static void
ask_everything(Target *target)
{
    WireCtlReply value;
    WireLease lease;
    WireLeaseRequest request = {.action = WIRE_LEASE_TAKE, .duration_ms = 1000};
    if (target_read(target, "version", WIRE_TYPE_STRING, &value, NULL))
        g_assert_true(g_utf8_validate(value.text, -1, NULL));
    target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, NULL);
    target_lease(target, &request, &lease, NULL);
    int fd = target_dump(target, NULL);
    if (fd >= 0)
        close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    keep_input(data, size);
    if (fake == NULL) {
        fake = fake_agent_new("", answer, NULL);
        atexit(stop_listening);
    }
    AgentAddress address = {.path = fake->path, .deadlines = {.connect = 1, .answer = 1000, .output = 1000}};
    g_autoptr(Target) target = agent_open(&address, NULL);
    if (target != NULL)
        ask_everything(target);
    return 0;
}
