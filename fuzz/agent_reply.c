/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile target answers. Byte 0, bit 0: HELLO is answered well, so that the others get their turn; bit 1: the
 * header of the answers is right. The rest is the answer.
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

typedef struct {
    const uint8_t *data;
    size_t size;
} Input;

static Input input;
static FakeAgent *fake;

static ssize_t
answer(const FakeRequest *request, FakeReply *reply, gpointer unused)
{
    if (request->header.op == WIRE_OP_HELLO && (input.data[0] & GOOD_HELLO) != 0)
        return fake_answer_well(request, reply, NULL);
    WireHeader good = reply->header;
    size_t length = MIN(input.size - 1, sizeof(reply->bytes));
    memcpy(reply->bytes, input.data + 1, length);
    if ((input.data[0] & GOOD_HEADER) != 0 && length >= sizeof(good)) {
        reply->header = good;
        reply->header.size = (uint32_t)length;
    }
    return length > 0 ? (ssize_t)length : FAKE_HANG_UP;
}

static void
stop_listening(void)
{
    fake_agent_free(fake);
}

static void
ask_everything(Target *target)
{
    ControlValue value;
    WireLease lease;
    LeaseRequest request = {.action = WIRE_LEASE_TAKE, .duration_ms = 1000};
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
    input = (Input){data, size};
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
