/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/recordings.h"

#include "agent/life.h"
#include "embed/ask.h"
#include "embed/failure.h"
#include "embed/host.h"
#include "embed/kept.h"

#include <limits.h>
#include <string.h>
#include <time.h>

static struct {
    RouteRecording rows[ROUTE_RECORDINGS_MAX]; /* newest first; only the first can be running */
    size_t n;
    uint64_t lease;       /* of the one that runs */
    uint64_t deadline_ms; /* the lease's own: the tick comes before that ends */
} recordings;

static bool
is_running(void)
{
    return recordings.n > 0 && recordings.rows[0].state == ROUTE_RECORDING_RUNNING;
}

/* The lease is there as long as nobody else has set prof.active. */
static bool
has_lease(void)
{
    const Guest *guest = life_guest();
    return guest != NULL && guest->profiling.lease.id == recordings.lease;
}

static bool
is_still_active(void)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_HELLO, sizeof request.hello);
    request.hello.version_min = WIRE_VERSION_MIN;
    request.hello.version_max = WIRE_VERSION_MAX;
    return has_lease() && ask(&request, -1, &answer, NULL) == JESCOPE_OK &&
           (answer.hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0;
}

static void
release_lease(void)
{
    WireRequest request;
    WireAnswer answer;
    ask_prepare(&request, WIRE_OP_LEASE, sizeof request.lease);
    request.lease.action = WIRE_LEASE_RELEASE;
    request.lease.lease_id = recordings.lease;
    ask(&request, -1, &answer, NULL);
}

static void
end(void)
{
    RouteRecording *running = &recordings.rows[0];
    if (!is_still_active()) {
        running->state = ROUTE_RECORDING_DROPPED;
    } else {
        RouteDump dump;
        JescopeError error;
        bool taken = kept_take(running->id, &dump, &error) == JESCOPE_OK;
        running->state = taken ? ROUTE_RECORDING_DONE : ROUTE_RECORDING_FAILED;
        if (taken) {
            running->dump = dump.id;
        } else {
            host_describe_failure(&error, &running->failure);
        }
    }
    running->remaining_ms = 0;
    release_lease();
}

/* Brings the first row up to date: somebody may have ended it, or ended the thread that would have. */
static void
look_again(void)
{
    if (!is_running()) {
        return;
    }
    if (!has_lease()) {
        end();
        return;
    }
    uint64_t now = profiling_now_ms();
    recordings.rows[0].remaining_ms = recordings.deadline_ms > now ? recordings.deadline_ms - now : 0;
}

int
recordings_tick(void)
{
    if (!is_running()) {
        return -1;
    }
    uint64_t now = profiling_now_ms();
    if (now >= recordings.deadline_ms) {
        guest_settle(life_guest());
        end();
        return -1;
    }
    uint64_t left = recordings.deadline_ms - now;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static void
add(uint64_t duration_ms, const Lease *lease)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = (uint64_t)now.tv_sec;
    uint64_t last = recordings.n > 0 ? recordings.rows[0].id : 0;
    size_t kept = recordings.n < ROUTE_RECORDINGS_MAX ? recordings.n : ROUTE_RECORDINGS_MAX - 1;
    memmove(recordings.rows + 1, recordings.rows, kept * sizeof recordings.rows[0]);
    recordings.n = kept + 1;
    recordings.rows[0] = (RouteRecording){
        .id = id > last ? id : last + 1,
        .begin_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
        .duration_ms = duration_ms,
        .remaining_ms = duration_ms,
        .state = ROUTE_RECORDING_RUNNING,
    };
    recordings.lease = lease->id;
    recordings.deadline_ms = lease->deadline_ms;
}

/* What somebody else has switched on is not ours to switch off in the end. */
static int
check_free(JescopeError *error)
{
    WireRequest request;
    WireAnswer answer;
    look_again();
    if (is_running()) {
        return failure_set(error, JESCOPE_BUSY, 0, "recording %llu is running for another %llu s; wait, or stop it",
                           (unsigned long long)recordings.rows[0].id,
                           (unsigned long long)(recordings.rows[0].remaining_ms + 999) / 1000);
    }
    ask_prepare(&request, WIRE_OP_CTL, sizeof request.ctl);
    request.ctl.flags = WIRE_CTL_READ;
    request.ctl.type = WIRE_TYPE_BOOL;
    strcpy(request.ctl.name, "prof.active");
    int code = ask(&request, -1, &answer, error);
    if (code == JESCOPE_OK && answer.ctl.value != 0) {
        return failure_set(error, JESCOPE_BUSY, 0, "profiling is on already; switch it off first");
    }
    return code;
}

int
recordings_start(uint64_t duration_ms, RouteRecording *recording, JescopeError *error)
{
    WireRequest request;
    WireAnswer answer;
    int code = check_free(error);
    if (code != JESCOPE_OK) {
        return code;
    }
    ask_prepare(&request, WIRE_OP_LEASE, sizeof request.lease);
    request.lease.action = WIRE_LEASE_TAKE;
    request.lease.duration_ms = duration_ms;
    request.lease.active = 1;
    code = ask(&request, -1, &answer, error);
    if (code != JESCOPE_OK) {
        return code;
    }
    add(duration_ms, &life_guest()->profiling.lease);
    *recording = recordings.rows[0];
    return JESCOPE_OK;
}

int
recordings_stop(uint64_t id, RouteRecording *recording, JescopeError *error)
{
    look_again();
    for (size_t i = 0; i < recordings.n; i++) {
        if (recordings.rows[i].id == id) {
            if (i == 0 && is_running()) {
                end();
            }
            *recording = recordings.rows[i];
            return JESCOPE_OK;
        }
    }
    return failure_set(error, JESCOPE_NOT_FOUND, 0, "no recording %llu is known here", (unsigned long long)id);
}

size_t
recordings_list(RouteRecording *rows, size_t n)
{
    look_again();
    size_t i = 0;
    for (; i < n && i < recordings.n; i++) {
        rows[i] = recordings.rows[i];
    }
    return i;
}

void
recordings_forget(void)
{
    recordings.n = 0;
}
