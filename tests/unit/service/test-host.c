/* SPDX-License-Identifier: Apache-2.0 */
/* The events of what requests write. */
#include "acting-agent.h"

enum {
    ARENAS = 4096,
    FLIPS = 5000,
    EVENTS_MAX = 2000, /* a share of 1024 at once and 50 per second, of a minute at most */
};

typedef struct {
    guint counts[SERVICE_EVENT_COUNT];
    char *last; /* detail */
} Heard;

static void
hear(const ServiceEvent *event, gpointer data)
{
    Heard *heard = data;
    heard->counts[event->type]++;
    g_free(heard->last);
    heard->last = g_strdup(event->detail);
}

static void
write_one(const RouteHost *host, const char *control, WireType type, guint64 value)
{
    Failure failure;
    g_assert_cmpint(host->ops->write(host->data, control, type, value, &failure), ==, OUTCOME_DONE);
}

/* What PUT .../decay writes. */
static gpointer
set_decay(const RouteHost *host, gpointer data)
{
    const guint64 *ms = data;
    write_one(host, "arenas.dirty_decay_ms", WIRE_TYPE_SSIZE, *ms);
    for (guint i = 0; i < ARENAS; i++) {
        g_autofree char *control = g_strdup_printf("arena.%u.dirty_decay_ms", i);
        write_one(host, control, WIRE_TYPE_SSIZE, *ms);
    }
    return NULL;
}

static gpointer
flip(const RouteHost *host, gpointer data)
{
    for (guint i = 0; i < FLIPS; i++)
        write_one(host, "prof.active", WIRE_TYPE_BOOL, i % 2 == 0);
    return NULL;
}

static void
test_one_event_of_a_request(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Heard heard = {0};
    service_subscribe(stage->service, service_last_event(stage->service), hear, &heard);
    for (guint64 ms = 1; ms <= 2; ms++)
        stage_do(stage, SERVICE_QUICK, set_decay, &ms);
    g_assert_cmpuint(heard.counts[SERVICE_EVENT_CONTROL], ==, 2);
    g_assert_cmpstr(heard.last, ==, "arenas.dirty_decay_ms=2");
    g_free(heard.last);
}

/* However often a client or a target switches, the events have a share of the server's thread, and what is left out is
 * counted. */
static void
test_share_of_events(void)
{
    g_autoptr(Stage) stage = stage_new(NULL);
    Heard heard = {0};
    service_subscribe(stage->service, service_last_event(stage->service), hear, &heard);
    stage_do(stage, SERVICE_QUICK, flip, NULL);
    const guint events = heard.counts[SERVICE_EVENT_PROFILING_ON] + heard.counts[SERVICE_EVENT_PROFILING_OFF];
    g_assert_cmpuint(events, >=, 1024);
    g_assert_cmpuint(events, <, EVENTS_MAX);
    g_usleep(G_USEC_PER_SEC / 10);
    guint64 ms = 1;
    stage_do(stage, SERVICE_QUICK, set_decay, &ms);
    g_assert_true(g_str_has_prefix(heard.last, "arenas.dirty_decay_ms=1; "));
    g_assert_true(g_str_has_suffix(heard.last, " events before this one were left out"));
    g_free(heard.last);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/host/one-event-of-a-request", test_one_event_of_a_request);
    g_test_add_func("/service/host/share-of-events", test_share_of_events);
    return g_test_run();
}
