/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/state.h"

#include "cli/command.h"
#include "cli/duration.h"

#include "routes/reply.h"
#include "routes/unprofiled.h"
#include "stats/live.h"
#include "stats/process.h"
#include "stats/status.h"
#include "target/process.h"

#include <unistd.h>

enum {
    MAPPINGS_TIME_US = G_USEC_PER_SEC / 5,
};

/* A jemalloc without statistics still has its profiler. */
static void
read_without_statistics(Target *target, RouteStatus *status)
{
    WireCtlReply lg;
    if (!unprofiled_applies(&status->hello) && target_read(target, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, NULL) &&
        lg.value < 64)
        status->sample_bytes = G_GUINT64_CONSTANT(1) << lg.value;
}

static void
read_ledger(const Target *target, const StatsSample *sample, Ledger *ledger)
{
    Mappings mappings;
    const LedgerReadings readings = {.sample = sample, .mappings = &mappings};
    if (target_pid(target) != 0 &&
        mappings_read(target_process(target), MAPPINGS_TIME_US, &mappings) == MEMORY_MAP_READ)
        ledger_compute(&readings, ledger);
}

static gboolean
read_numbers(Target *target, RouteStatus *status, Ledger *ledger, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_FIGURES, error);
    g_autoptr(StatsSample) sample = live != NULL ? stats_live_sample(live, &cause) : NULL;
    WireCtlReply threads;
    if (live == NULL)
        return FALSE;
    if (sample == NULL && !g_error_matches(cause, STATS_ERROR, STATS_ERROR_FORMAT)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (sample != NULL) {
        if (target_pid(target) != 0)
            stats_read_process(sample->totals, target_process(target));
        stats_set_status(status, sample);
        if (ledger != NULL)
            read_ledger(target, sample, ledger);
    } else {
        read_without_statistics(target, status);
    }
    if (!unprofiled_applies(&status->hello) &&
        target_read(target, "prof.thread_active_init", WIRE_TYPE_BOOL, &threads, NULL))
        status->threads_sampled = threads.value != 0;
    return target_check_unchanged(target, error);
}

gboolean
state_read_resident(Target *target, guint64 *bytes, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    guint64 row[2] = {0};
    g_string_append_printf(names, "%dstats.resident", WIRE_TYPE_SIZE);
    g_string_append_c(names, '\0');
    SampleRequest request = {.names = names->str, .n = 1, .count = 1, .refresh = TRUE};
    if (!target_sample(target, &request, row, NULL, error))
        return FALSE;
    *bytes = (row[0] & 1) != 0 ? row[1] : STATUS_UNKNOWN;
    return TRUE;
}

gboolean
state_read(Target *target, RouteStatus *status, GError **error)
{
    return state_read_with_ledger(target, status, NULL, error);
}

gboolean
state_read_with_ledger(Target *target, RouteStatus *status, Ledger *ledger, GError **error)
{
    WireHelloReply hello;
    pid_t pid = target_pid(target);
    status_init(status);
    if (ledger != NULL)
        *ledger = (Ledger){0};
    if (!target_hello(target, &hello, error))
        return FALSE;
    status->pid = target_own_pid(target);
    status->uid = hello.uid;
    status->name = target_name(target);
    status->state = "live";
    status->reach = target_via_name(target_via(target));
    status_set_hello(status, &hello);
    guint64 start_time = target_start_time(target);
    if (start_time != 0) {
        g_snprintf(status->unique, sizeof(status->unique), "%d.%" G_GUINT64_FORMAT, (int)pid, start_time);
        status->started_ms = (guint64)process_started_us(start_time) / 1000;
    }
    return read_numbers(target, status, ledger, error);
}

gboolean
state_check_unleased(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return FALSE;
    return hello.lease.id == 0 || target_set_busy(target, hello.lease.remaining_ms, error);
}

gboolean
state_end_lease(Target *target, GError **error)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, error))
        return FALSE;
    if (hello.lease.id == 0)
        return TRUE;
    /* Another process may have released it. */
    WireLeaseRequest request = {.action = WIRE_LEASE_RELEASE, .lease_id = hello.lease.id};
    WireLease lease;
    g_autoptr(GError) cause = NULL;
    if (target_lease(target, &request, &lease, &cause) || g_error_matches(cause, TARGET_ERROR, OUTCOME_NOT_FOUND))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

const char *
state_profiling_word(const RouteStatus *status)
{
    if ((status->hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return "active";
    return unprofiled_applies(&status->hello) ? "off" : "ready";
}

void
state_set_facts(RouteStatus *status, const ProcessFacts *facts)
{
    status->user = facts != NULL ? facts->user : NULL;
    status->arguments = facts != NULL ? facts->arguments : NULL;
    status->control_group = facts != NULL ? facts->group : NULL;
}

json_t *
state_json(const RouteStatus *status)
{
    RouteReply reply = {.descriptor = -1};
    status_reply(&reply, status);
    int body = reply_take_body(&reply);
    /* json_loadfd() would read it byte by byte. */
    g_autoptr(GMappedFile) text = body >= 0 ? g_mapped_file_new_from_fd(body, FALSE, NULL) : NULL;
    json_t *json =
        text != NULL ? json_loadb(g_mapped_file_get_contents(text), g_mapped_file_get_length(text), 0, NULL) : NULL;
    if (body >= 0)
        close(body);
    return json;
}
