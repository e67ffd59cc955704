/* SPDX-License-Identifier: Apache-2.0 */
#include "service/events.h"

#include <string.h>

static void
add(Events *events, guint count)
{
    for (guint i = 0; i < count; i++) {
        g_autofree char *detail = g_strdup_printf("%u", i);
        ServiceEvent event = {.type = SERVICE_EVENT_DUMP, .target = "1", .label = "one (1)", .detail = detail};
        events_add(events, &event);
    }
}

static void
take_id(const ServiceEvent *event, gpointer data)
{
    g_array_append_val((GArray *)data, event->id);
}

static void
test_replay(void)
{
    g_autoptr(Events) events = events_new();
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    add(events, 5);
    guint subscription = events_subscribe(events, 3, take_id, ids);
    g_assert_cmpuint(ids->len, ==, 2);
    g_assert_cmpuint(g_array_index(ids, guint64, 0), ==, 4);
    add(events, 1);
    g_assert_cmpuint(ids->len, ==, 3);
    g_assert_cmpuint(g_array_index(ids, guint64, 2), ==, 6);
    events_unsubscribe(events, subscription);
    add(events, 1);
    g_assert_cmpuint(ids->len, ==, 3);
    g_assert_cmpuint(events_last(events), ==, 7);
}

/* A subscriber with a future id, or one of an earlier server, gets new events. */
static void
test_after_the_last(void)
{
    g_autoptr(Events) events = events_new();
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    add(events, 2);
    events_subscribe(events, 2, take_id, ids);
    events_subscribe(events, G_MAXUINT64, take_id, ids);
    g_assert_cmpuint(ids->len, ==, 0);
    add(events, 1);
    g_assert_cmpuint(ids->len, ==, 2);
}

static void
test_ring(void)
{
    g_autoptr(Events) events = events_new();
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    add(events, EVENTS_KEPT);
    g_assert_false(events_lost(events, 0));
    add(events, 10);
    g_assert_true(events_lost(events, 0));
    g_assert_true(events_lost(events, 9));
    g_assert_false(events_lost(events, 10));
    events_subscribe(events, 0, take_id, ids);
    g_assert_cmpuint(ids->len, ==, EVENTS_KEPT);
    g_assert_cmpuint(g_array_index(ids, guint64, 0), ==, 11);
}

/* One user's events do not evict another's. */
static void
test_ring_is_shared(void)
{
    g_autoptr(Events) events = events_new();
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    ServiceEvent hostile = {
        .type = SERVICE_EVENT_TARGET_CAME, .target = "2", .label = "two (2)", .user = 65534, .account = 65534};
    add(events, 10);
    for (guint i = 0; i < 2 * EVENTS_KEPT; i++)
        events_add(events, &hostile);
    events_subscribe(events, 0, take_id, ids);
    g_assert_cmpuint(ids->len, ==, EVENTS_KEPT);
    g_assert_cmpuint(g_array_index(ids, guint64, 9), ==, 10);
    g_assert_cmpuint(g_array_index(ids, guint64, 10), >, EVENTS_KEPT);
    g_assert_true(events_lost(events, 10));
    g_assert_false(events_lost(events, g_array_index(ids, guint64, 10) - 1));
}

typedef struct {
    Events *events;
    guint subscription;
    guint calls;
} Leaver;

static void
leave(const ServiceEvent *event, gpointer data)
{
    Leaver *leaver = data;
    leaver->calls++;
    if (leaver->subscription != 0)
        events_unsubscribe(leaver->events, leaver->subscription);
}

static void
test_leaving(void)
{
    g_autoptr(Events) events = events_new();
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    Leaver leaver = {.events = events};
    leaver.subscription = events_subscribe(events, 0, leave, &leaver);
    events_subscribe(events, 0, take_id, ids);
    add(events, 3);
    g_assert_cmpuint(leaver.calls, ==, 1);
    g_assert_cmpuint(ids->len, ==, 3);
}

static void
test_names(void)
{
    for (int type = 0; type < SERVICE_EVENT_COUNT; type++)
        g_assert_nonnull(service_event_name((ServiceEventType)type));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/events/replay", test_replay);
    g_test_add_func("/service/events/after-the-last", test_after_the_last);
    g_test_add_func("/service/events/ring", test_ring);
    g_test_add_func("/service/events/ring-is-shared", test_ring_is_shared);
    g_test_add_func("/service/events/leaving", test_leaving);
    g_test_add_func("/service/events/names", test_names);
    return g_test_run();
}
