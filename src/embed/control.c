/* SPDX-License-Identifier: Apache-2.0 */
/* Direct control: the functions of jescope.h that do one thing each. */
#include "agent/life.h"
#include "agent/server.h"
#include "embed/ask.h"
#include "embed/call.h"
#include "embed/failure.h"
#include "embed/memory-file.h"
#include "routes/reply.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DURATION_MAX_MS ((uint64_t)30 * 24 * 3600 * 1000)

static const struct {
    WireFlag flag;
    JescopeIs is;
} told_by_agent[] = {
    {WIRE_FLAG_SERVES_MALLOC, JESCOPE_IS_SERVING_MALLOC},
    {WIRE_FLAG_CONFIG_PROF, JESCOPE_IS_PROF_BUILT},
    {WIRE_FLAG_OPT_PROF, JESCOPE_IS_PROF_READY},
    {WIRE_FLAG_PROF_ACTIVE, JESCOPE_IS_PROF_ACTIVE},
    {WIRE_FLAG_LEASED, JESCOPE_IS_LEASED},
};

static int
say_hello(WireAnswer *answer, JescopeError *error)
{
    WireRequest request;
    ask_prepare(&request, WIRE_OP_HELLO, sizeof request.hello);
    request.hello.version_min = WIRE_VERSION_MIN;
    request.hello.version_max = WIRE_VERSION_MAX;
    return ask(&request, -1, answer, error);
}

static void
describe(const WireHelloReply *hello, JescopeStatus *status)
{
    _Static_assert(sizeof status->jemalloc_version == sizeof hello->jemalloc_version, "same text");
    _Static_assert(sizeof status->jemalloc_prefix == sizeof hello->prefix, "same text");
    _Static_assert(sizeof status->jemalloc_found_in == sizeof hello->found_in, "same text");
    const bool started = life_is_started();
    *status = (JescopeStatus){
        .size = sizeof *status,
        .flags = (started ? JESCOPE_IS_STARTED : 0) | (life_is_served_by_other() ? JESCOPE_IS_SERVED_BY_OTHER : 0),
        .clients = started ? hello->agent_clients : 0,
        .active_since_ns = hello->active_since_ns,
        .reset_at_ns = hello->reset_at_ns,
        .lease_remaining_ms = hello->lease.remaining_ms,
    };
    for (size_t i = 0; i < sizeof told_by_agent / sizeof told_by_agent[0]; i++) {
        status->flags |= (hello->flags & told_by_agent[i].flag) != 0 ? told_by_agent[i].is : 0;
    }
    memcpy(status->jemalloc_version, hello->jemalloc_version, sizeof status->jemalloc_version);
    memcpy(status->jemalloc_prefix, hello->prefix, sizeof status->jemalloc_prefix);
    memcpy(status->jemalloc_found_in, hello->found_in, sizeof status->jemalloc_found_in);
    strncpy(status->socket, server_socket_path(), sizeof status->socket - 1);
}

int
jescope_status(JescopeStatus *status, JescopeError *error)
{
    Call call;
    WireAnswer answer;
    if (status == NULL || status->size != sizeof *status) {
        return failure_set(error, JESCOPE_INVALID, 0, "status.size must be sizeof(JescopeStatus), %zu", sizeof *status);
    }
    call_begin(&call, CALL_WITH_TURN);
    int code = say_hello(&answer, error);
    if (code == JESCOPE_OK) {
        describe(&answer.hello, status);
    }
    call_end(&call);
    return code;
}

static int
ask_in_turn(const WireRequest *request, JescopeError *error)
{
    Call call;
    WireAnswer answer;
    call_begin(&call, CALL_WITH_TURN);
    int code = ask(request, -1, &answer, error);
    call_end(&call);
    return code;
}

static int
set_active(bool active, JescopeError *error)
{
    WireRequest request;
    ask_prepare(&request, WIRE_OP_CTL, sizeof request.ctl);
    request.ctl.flags = WIRE_CTL_WRITE;
    request.ctl.type = WIRE_TYPE_BOOL;
    request.ctl.value = active;
    strcpy(request.ctl.name, "prof.active");
    return ask_in_turn(&request, error);
}

int
jescope_enable(uint64_t duration_ms, JescopeError *error)
{
    if (duration_ms == 0) {
        return set_active(true, error);
    }
    if (duration_ms > DURATION_MAX_MS) {
        return failure_set(error, JESCOPE_INVALID, 0, "%llu ms are more than 30 days; give less, or 0 for good",
                           (unsigned long long)duration_ms);
    }
    WireRequest request;
    ask_prepare(&request, WIRE_OP_LEASE, sizeof request.lease);
    request.lease.action = WIRE_LEASE_TAKE;
    request.lease.duration_ms = duration_ms;
    request.lease.active = 1;
    return ask_in_turn(&request, error);
}

int
jescope_disable(JescopeError *error)
{
    return set_active(false, error);
}

int
jescope_reset(uint64_t sample_bytes, JescopeError *error)
{
    if ((sample_bytes & (sample_bytes - 1)) != 0) {
        return failure_set(error, JESCOPE_INVALID, 0, "%llu is no power of two; 524288 is a good one",
                           (unsigned long long)sample_bytes);
    }
    WireRequest request;
    ask_prepare(&request, WIRE_OP_CTL, sizeof request.ctl);
    request.ctl.flags = WIRE_CTL_WRITE;
    if (sample_bytes != 0) {
        request.ctl.type = WIRE_TYPE_SIZE;
        request.ctl.value = (uint64_t)__builtin_ctzll(sample_bytes);
    }
    strcpy(request.ctl.name, "prof.reset");
    return ask_in_turn(&request, error);
}

/* As write(2), but no signal comes of a socket whose other end is gone, and one that does not block is waited for. */
static ssize_t
write_some(int descriptor, const char *bytes, size_t n)
{
    for (;;) {
        ssize_t written = send(descriptor, bytes, n, MSG_NOSIGNAL);
        if (written < 0 && errno == ENOTSOCK) {
            written = write(descriptor, bytes, n);
        }
        struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
        bool again = written < 0 && (errno == EINTR || (errno == EAGAIN && poll(&wanted, 1, -1) >= 0));
        if (!again) {
            return written;
        }
    }
}

static int
write_all(int descriptor, const Mapped *content, JescopeError *error)
{
    for (size_t done = 0; done < content->size;) {
        ssize_t n = write_some(descriptor, content->bytes + done, content->size - done);
        if (n < 0) {
            int why = errno;
            return failure_set(error, JESCOPE_SYSTEM, why, "cannot write to descriptor %d: %s", descriptor,
                               reply_error_name(why));
        }
        done += (size_t)n;
    }
    return JESCOPE_OK;
}

/* A dump or statistics, mapped: the descriptor that jemalloc wrote to is closed again. */
static int
take(const char *letters, Mapped *content, JescopeError *error)
{
    Call call;
    int file;
    call_begin(&call, CALL_WITH_TURN);
    int code = ask_for_file(letters, &file, error);
    if (code == JESCOPE_OK && !memory_file_keep(file, content)) {
        code = failure_set_system(error, "map what jemalloc wrote");
    }
    call_end(&call);
    return code;
}

static int
take_and_write(const char *letters, int descriptor, JescopeError *error)
{
    Mapped content;
    int code = take(letters, &content, error);
    if (code != JESCOPE_OK) {
        return code;
    }
    Call call;
    call_begin(&call, CALL_ALONE);
    code = write_all(descriptor, &content, error);
    call_end(&call);
    memory_file_drop(&content);
    return code;
}

int
jescope_dump(int descriptor, JescopeError *error)
{
    return take_and_write(NULL, descriptor, error);
}

int
jescope_stats(const char *letters, int descriptor, JescopeError *error)
{
    return take_and_write(letters != NULL ? letters : "", descriptor, error);
}

int
jescope_stats_write(const char *letters, JescopeWrite write, void *opaque, JescopeError *error)
{
    Mapped content;
    int code = take(letters != NULL ? letters : "", &content, error);
    if (code == JESCOPE_OK) {
        write(opaque, content.bytes != NULL ? content.bytes : "", content.size);
        memory_file_drop(&content);
    }
    return code;
}

int
jescope_exchange(const void *request, size_t request_size, int descriptor, void *reply, size_t *reply_size,
                 JescopeError *error)
{
    WireRequest copy = {0};
    WireAnswer answer;
    size_t size;
    Call call;
    if (request_size > sizeof copy) {
        return failure_set(error, JESCOPE_INVALID, 0, "a message has at most %zu bytes, not %zu", sizeof copy,
                           request_size);
    }
    memcpy(&copy, request, request_size);
    call_begin(&call, CALL_WITH_TURN);
    int code = ask_any(&copy, request_size, descriptor, &answer, &size, error);
    call_end(&call);
    if (code == JESCOPE_OK) {
        memcpy(reply, &answer, size);
        *reply_size = size;
    }
    return code;
}
