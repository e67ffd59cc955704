/* SPDX-License-Identifier: Apache-2.0 */
/* Direct control: the simple functions of jescope.h. */
#include "agent/life.h"
#include "agent/server.h"
#include "embed/ask.h"
#include "embed/call.h"
#include "embed/capture.h"
#include "embed/failure.h"
#include "embed/memory-file.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
    WireFlag flag;
    JescopeIs is;
} told_by_agent[] = {
    {WIRE_FLAG_SERVES_MALLOC, JESCOPE_IS_SERVING_MALLOC}, {WIRE_FLAG_CONFIG_PROF, JESCOPE_IS_PROF_BUILT},
    {WIRE_FLAG_OPT_PROF, JESCOPE_IS_PROF_READY},          {WIRE_FLAG_SAMPLER_SERVES, JESCOPE_IS_PROF_READY},
    {WIRE_FLAG_PROF_ACTIVE, JESCOPE_IS_PROF_ACTIVE},      {WIRE_FLAG_LEASED, JESCOPE_IS_LEASED},
};

static void
describe(const WireHelloReply *hello, JescopeStatus *status)
{
    _Static_assert(sizeof(status->jemalloc_version) == sizeof(hello->jemalloc_version), "same text");
    _Static_assert(sizeof(status->jemalloc_prefix) == sizeof(hello->prefix), "same text");
    _Static_assert(sizeof(status->jemalloc_found_in) == sizeof(hello->found_in), "same text");
    const bool started = life_is_started();
    *status = (JescopeStatus){
        .size = sizeof(*status),
        .flags = (started ? JESCOPE_IS_STARTED : 0) | (life_is_served_by_other() ? JESCOPE_IS_SERVED_BY_OTHER : 0),
        .clients = started ? hello->agent_clients : 0,
        .active_since_ns = hello->active_since_ns,
        .reset_at_ns = hello->reset_at_ns,
        .lease_remaining_ms = hello->lease.remaining_ms,
    };
    for (size_t i = 0; i < sizeof(told_by_agent) / sizeof(told_by_agent[0]); i++)
        status->flags |= (hello->flags & told_by_agent[i].flag) != 0 ? told_by_agent[i].is : 0;
    memcpy(status->jemalloc_version, hello->jemalloc_version, sizeof(status->jemalloc_version));
    memcpy(status->jemalloc_prefix, hello->prefix, sizeof(status->jemalloc_prefix));
    memcpy(status->jemalloc_found_in, hello->found_in, sizeof(status->jemalloc_found_in));
    strncpy(status->socket, server_socket_path(), sizeof(status->socket) - 1);
}

static Outcome
read_status(JescopeStatus *status, Failure *failure)
{
    WireHelloReply hello;
    if (status == NULL || status->size != sizeof(*status))
        return failure_set(failure, OUTCOME_INVALID, "status.size must be sizeof(JescopeStatus), %zu", sizeof(*status));
    CALL_SCOPE(CALL_WITH_TURN);
    Outcome result = ask_hello(NULL, &hello, failure);
    if (result == OUTCOME_DONE)
        describe(&hello, status);
    return result;
}

int
jescope_status(JescopeStatus *status, JescopeError *error)
{
    Failure failure;
    return failure_publish(read_status(status, &failure), &failure, error);
}

static int
write_control(const char *control, WireType type, uint64_t value, JescopeError *error)
{
    Failure failure;
    CALL_SCOPE(CALL_WITH_TURN);
    return failure_publish(ask_write(NULL, control, type, value, &failure), &failure, error);
}

int
jescope_enable(uint64_t duration_ms, JescopeError *error)
{
    const WireLeaseRequest take = {.action = WIRE_LEASE_TAKE, .duration_ms = duration_ms, .active = 1};
    WireLease lease;
    Failure failure;
    if (duration_ms == 0)
        return write_control("prof.active", WIRE_TYPE_BOOL, 1, error);
    if (duration_ms > WIRE_LEASE_MAX_MS) {
        failure_set(&failure, OUTCOME_INVALID,
                    "%llu ms is more than " WIRE_LEASE_MAX_TEXT "; give less, or 0 for no limit",
                    (unsigned long long)duration_ms);
        return failure_publish(OUTCOME_INVALID, &failure, error);
    }
    CALL_SCOPE(CALL_WITH_TURN);
    return failure_publish(ask_lease(NULL, &take, &lease, &failure), &failure, error);
}

int
jescope_disable(JescopeError *error)
{
    return write_control("prof.active", WIRE_TYPE_BOOL, 0, error);
}

int
jescope_reset(uint64_t sample_bytes, JescopeError *error)
{
    Failure failure;
    if ((sample_bytes & (sample_bytes - 1)) != 0) {
        failure_set(&failure, OUTCOME_INVALID, "%llu is not a power of two; use for example 524288",
                    (unsigned long long)sample_bytes);
        return failure_publish(OUTCOME_INVALID, &failure, error);
    }
    if (sample_bytes == 0)
        return write_control("prof.reset", WIRE_TYPE_NONE, 0, error);
    return write_control("prof.reset", WIRE_TYPE_SIZE, (uint64_t)__builtin_ctzll(sample_bytes), error);
}

/* Like write(2), but without SIGPIPE for a closed socket, and waits for non-blocking descriptors. */
static ssize_t
write_some(int descriptor, const char *bytes, size_t n)
{
    for (;;) {
        ssize_t written = send(descriptor, bytes, n, MSG_NOSIGNAL);
        if (written < 0 && errno == ENOTSOCK)
            written = write(descriptor, bytes, n);
        struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
        bool again = written < 0 && (errno == EINTR || (errno == EAGAIN && poll(&wanted, 1, -1) >= 0));
        if (!again)
            return written;
    }
}

static Outcome
write_all(int descriptor, const Mapped *content, Failure *failure)
{
    CALL_SCOPE(CALL_ALONE);
    for (size_t done = 0; done < content->size;) {
        ssize_t n = write_some(descriptor, content->bytes + done, content->size - done);
        if (n < 0)
            return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot write to descriptor %d", descriptor);
        done += (size_t)n;
    }
    return OUTCOME_DONE;
}

/* Takes a dump as WANTED, or if NULL, statistics, and maps the result; the descriptor that jemalloc wrote to is
 * closed. */
static Outcome
take(const CaptureWanted *wanted, const char *letters, Mapped *content, Failure *failure)
{
    int file;
    CALL_SCOPE(CALL_WITH_TURN);
    Outcome result = wanted != NULL ? capture_take(wanted, &file, failure) : ask_for_file(letters, &file, failure);
    if (result == OUTCOME_DONE && !memory_file_keep(file, content))
        result = failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot map what jemalloc wrote");
    return result;
}

static int
take_and_write(const CaptureWanted *wanted, const char *letters, int descriptor, JescopeError *error)
{
    Mapped content;
    Failure failure;
    Outcome result = take(wanted, letters, &content, &failure);
    if (result == OUTCOME_DONE) {
        result = write_all(descriptor, &content, &failure);
        memory_file_drop(&content);
    }
    return failure_publish(result, &failure, error);
}

int
jescope_dump(int descriptor, JescopeError *error)
{
    return jescope_dump_flags(descriptor, 0, error);
}

int
jescope_dump_flags(int descriptor, unsigned flags, JescopeError *error)
{
    const CaptureWanted wanted = {.capture.forced = (flags & JESCOPE_DUMP_FORCE) != 0};
    Failure failure;
    if ((flags & ~(unsigned)JESCOPE_DUMP_FORCE) != 0) {
        failure_set(&failure, OUTCOME_INVALID, "flags %#x have bits that are not in JescopeDumpFlag", flags);
        return failure_publish(OUTCOME_INVALID, &failure, error);
    }
    return take_and_write(&wanted, NULL, descriptor, error);
}

int
jescope_stats(const char *letters, int descriptor, JescopeError *error)
{
    return take_and_write(NULL, letters != NULL ? letters : "", descriptor, error);
}

int
jescope_stats_write(const char *letters, JescopeWrite write, void *opaque, JescopeError *error)
{
    Mapped content;
    Failure failure;
    Outcome result = take(NULL, letters != NULL ? letters : "", &content, &failure);
    if (result == OUTCOME_DONE) {
        write(opaque, content.bytes != NULL ? content.bytes : "", content.size);
        memory_file_drop(&content);
    }
    return failure_publish(result, &failure, error);
}
