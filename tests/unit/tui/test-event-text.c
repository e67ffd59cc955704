/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/event-text.h"

#include "service/service.h"

#include <string.h>

static void
assert_text(const char *expected, const EventFacts *facts)
{
    g_autofree char *text = event_text(facts);
    g_assert_cmpstr(text, ==, expected);
}

static void
test_words(void)
{
    assert_text("heap dump 3 was kept (by alice)", &(EventFacts){"dump", 3, NULL, "alice"});
    assert_text("recording 2 ended: failed: no space", &(EventFacts){"recording-ended", 2, "failed: no space", ""});
    assert_text("recording began", &(EventFacts){"recording-started", 0, "", NULL});
    assert_text("a control was written: prof.active = true", &(EventFacts){"control", 0, "prof.active = true", NULL});
    assert_text("advice: Memory is allocated and never freed", &(EventFacts){"advice", 0, "heap-leak", NULL});
    assert_text("advice no longer holds: something new", &(EventFacts){"advice-off", 0, "something new", NULL});
    assert_text("of a newer jescope", &(EventFacts){"of-a_newer-jescope", 0, NULL, NULL});
}

/* No event of the service is shown by its identifier. */
static void
test_all(void)
{
    for (ServiceEventType type = 0; type < SERVICE_EVENT_COUNT; type++) {
        g_autofree char *text = event_text(&(EventFacts){service_event_name(type), 0, NULL, NULL});
        g_autofree char *plain = g_strdelimit(g_strdup(service_event_name(type)), "-", ' ');
        g_assert_null(strchr(text, '-'));
        if (type != SERVICE_EVENT_ADVICE && type != SERVICE_EVENT_RECORDING_ENDED)
            g_assert_cmpstr(text, !=, plain);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/event-text/words", test_words);
    g_test_add_func("/event-text/all", test_all);
    return g_test_run();
}
