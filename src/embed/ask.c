/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/ask.h"

#include "agent/life.h"
#include "agent/request.h"
#include "agent/waker.h"
#include "embed/failure.h"
#include "embed/memory-file.h"
#include "routes/reply.h"

#include <string.h>
#include <unistd.h>

void
ask_prepare(WireRequest *request, WireOp op, size_t size)
{
    memset(request, 0, sizeof *request);
    request->header =
        (WireHeader){.magic = WIRE_MAGIC, .version = WIRE_VERSION_MAX, .op = (uint16_t)op, .size = (uint32_t)size};
}

/* What the request is about, for messages. */
static const char *
subject(const WireRequest *request)
{
    static const char *const subjects[] = {[WIRE_OP_DUMP] = "prof.dump", [WIRE_OP_LEASE] = "prof.active"};
    const uint16_t op = request->header.op;
    if (op == WIRE_OP_CTL) {
        return request->ctl.name;
    }
    return op < sizeof subjects / sizeof subjects[0] && subjects[op] != NULL ? subjects[op] : "the request";
}

/* Nobody would end it. */
static bool
is_lease_without_end(const WireRequest *request, size_t received)
{
    return received == sizeof request->lease && request->header.op == WIRE_OP_LEASE &&
           request->lease.action != WIRE_LEASE_RELEASE && !life_is_started();
}

/* The thread sleeps towards deadlines that these may have moved. */
static bool
moves_deadlines(const WireRequest *request)
{
    return request->header.op == WIRE_OP_LEASE || request->header.op == WIRE_OP_LEAVE;
}

static int
refuse(const WireRequest *request, const WireAnswer *answer, const Allocator *allocator, JescopeError *error)
{
    const char *what = subject(request);
    const int why = answer->reply.error;
    switch (answer->reply.status) {
    case WIRE_STATUS_OK:
        return JESCOPE_OK;
    case WIRE_STATUS_PROF_DISABLED:
        return failure_set_no_profiling(error, allocator);
    case WIRE_STATUS_NOT_ALLOWED:
        return failure_set(error, JESCOPE_NOT_ALLOWED, 0,
                           "'%s' may not be used through jescope; docs/protocol.md lists what may", what);
    case WIRE_STATUS_CONTROL_FAILED:
        return failure_set(error, JESCOPE_CONTROL_FAILED, why, "jemalloc refused '%s': %s", what,
                           reply_error_name(why));
    case WIRE_STATUS_BUSY:
        return failure_set(error, JESCOPE_BUSY, 0,
                           "profiling is on for another %llu s already; wait, or switch it off first",
                           (unsigned long long)((answer->lease.lease.remaining_ms + 999) / 1000));
    case WIRE_STATUS_NO_LEASE:
        return failure_set(error, JESCOPE_NOT_FOUND, 0, "this lease is not running any more");
    case WIRE_STATUS_WRITE_FAILED:
        return failure_set(error, JESCOPE_SYSTEM, why, "cannot write to the memory file: %s", reply_error_name(why));
    default:
        return failure_set(error, JESCOPE_INVALID, 0, "'%s' was not understood (status %u)", what,
                           answer->reply.status);
    }
}

int
ask_any(const WireRequest *request, size_t received, int descriptor, WireAnswer *answer, size_t *size,
        JescopeError *error)
{
    Descriptor borrowed = DESCRIPTOR_NONE;
    Guest *guest = life_guest();
    if (guest == NULL || !guest_examine(guest)) {
        return failure_set_no_jemalloc(error);
    }
    if (is_lease_without_end(request, received)) {
        return failure_set(error, JESCOPE_NOT_STARTED, 0,
                           "only the library's thread could end it in time; call jescope_start() first");
    }
    descriptor_borrow(&borrowed, descriptor);
    *size = request_answer(guest, request, received, &borrowed, answer);
    if (moves_deadlines(request)) {
        waker_wake();
    }
    return JESCOPE_OK;
}

int
ask(const WireRequest *request, int descriptor, WireAnswer *answer, JescopeError *error)
{
    size_t size;
    int code = ask_any(request, request->header.size, descriptor, answer, &size, error);
    return code != JESCOPE_OK ? code : refuse(request, answer, &life_guest()->allocator, error);
}

int
ask_for_file(const char *letters, int *descriptor, JescopeError *error)
{
    WireRequest request;
    WireAnswer answer;
    if (letters != NULL && strlen(letters) >= sizeof request.stats.letters) {
        return failure_set(error, JESCOPE_INVALID, 0, "'%.64s' are too many option letters; at most %d are taken",
                           letters, (int)sizeof request.stats.letters - 1);
    }
    int file = memory_file_make();
    if (file < 0) {
        return failure_set_system(error, "make a memory file");
    }
    if (letters == NULL) {
        ask_prepare(&request, WIRE_OP_DUMP, sizeof request.dump);
    } else {
        ask_prepare(&request, WIRE_OP_STATS, sizeof request.stats);
        memcpy(request.stats.letters, letters, strlen(letters));
    }
    int code = ask(&request, file, &answer, error);
    if (code != JESCOPE_OK) {
        close(file);
        return code;
    }
    *descriptor = file;
    return JESCOPE_OK;
}
