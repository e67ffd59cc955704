/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a client, with and without a descriptor, to the agent's request handling with a simulated jemalloc.
 * Input: one byte of setup, then records of one byte of options, one byte of length, and the message.
 */
#include "agent/request.h"

#include "fake-allocator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SETUP_NO_PROF = 1,
    SETUP_PROF_FALSE = 2,
    SETUP_ACTIVE = 4,
    SETUP_NEWER = 8,

    RECORD_MEMFD = 1,
    RECORD_PIPE = 2,     /* a pipe instead, which the agent must refuse */
    RECORD_HEADER = 4,   /* the header is corrected, so that the rest is reached */
    RECORD_DEADLINE = 8, /* the lease expires first */
    RECORD_LONG = 16,    /* padded with zeroes to the largest request, since the length is one byte */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
set_up(Guest *guest, uint8_t options)
{
    fake_reset(guest);
    fake.config_prof = (options & SETUP_NO_PROF) == 0;
    fake.opt_prof = (options & SETUP_PROF_FALSE) == 0;
    fake.prof_active = (options & SETUP_ACTIVE) != 0;
    fake.version = (options & SETUP_NEWER) != 0 ? "5.3.1" : "4.5.0";
    fake_examine(guest);
}

static int
open_descriptor(uint8_t options)
{
    static int memfd = -1;
    if (memfd < 0)
        memfd = memfd_create("fuzz", MFD_CLOEXEC);
    int ends[2];
    if ((options & RECORD_PIPE) != 0 && pipe(ends) == 0) {
        close(ends[0]);
        return ends[1];
    }
    return (options & RECORD_MEMFD) != 0 ? dup(memfd) : -1;
}

static void
send_record(Guest *guest, uint8_t options, const uint8_t *bytes, size_t n)
{
    static WireRequest request;
    WireAnswer answer;
    Descriptor descriptor = DESCRIPTOR_NONE;

    memset(&request, 0, sizeof(request));
    memcpy(&request, bytes, n);
    if ((options & RECORD_LONG) != 0)
        n = sizeof(WireSampleRequest);
    if ((options & RECORD_HEADER) != 0) {
        request.header.magic = WIRE_MAGIC;
        request.header.version = WIRE_VERSION_MAX;
        request.header.size = (uint32_t)n;
    }
    if ((options & RECORD_DEADLINE) != 0) {
        guest->profiling.lease.deadline_ms = 0;
        profiling_tick(&guest->profiling, &guest->allocator);
    }
    descriptor_adopt(&descriptor, open_descriptor(options));
    bool descriptor_came = descriptor.number >= 0;
    size_t replied = request_answer(guest, &request, n, &descriptor, &answer);
    descriptor_close(&descriptor);
    bool off = !allocator_can_profile(&guest->allocator);
    bool understood = wire_request_check(&request, n, descriptor_came) == WIRE_STATUS_OK;
    bool legal = !understood || wire_reply_size(request.header.op, answer.reply.status) == replied;
    if (replied < sizeof(answer.reply) || replied > sizeof(answer) || answer.reply.header.size != replied || !legal ||
        (off && fake.prof_calls != 0))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Guest guest;
    set_up(&guest, size > 0 ? data[0] : 0);
    for (size_t at = 1; at + 2 <= size;) {
        uint8_t options = data[at];
        size_t n = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;
        send_record(&guest, options, data + at + 2, n);
        at += 2 + n;
    }
    return 0;
}
