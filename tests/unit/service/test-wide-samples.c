/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a process that says it has 4096 arenas of 1024 size classes of each kind. */
#include "crowd-agent.h"

#include "service/service.h"

#include <stdio.h>
#include <string.h>

enum {
    SAMPLES = 12,
    MOST_BYTES = 256 << 20, /* one was 1.2 GB, and its storing left 200 MB in the heap of each thread */
    DEADLINE_S = 100,
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static guint64
resident_bytes(void)
{
    unsigned long pages = 0;
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%*u %lu", &pages), ==, 1);
    return (guint64)pages * 4096;
}

static gboolean
on_deadline(gpointer data)
{
    g_error("fewer than %d samples in %d s", SAMPLES, DEADLINE_S);
    return G_SOURCE_REMOVE;
}

static gboolean
turn_again(gpointer data)
{
    return G_SOURCE_CONTINUE;
}

static void
note_left_out(const char *text, gpointer data)
{
    *(guint *)data += strstr(text, "of 3968 of 4096 arenas were left out") != NULL;
}

/* Other threads take them one after the other. */
static void
test_memory(void)
{
    Crowd crowd = {.arenas = 4096, .classes = STATS_CLASSES_MAX, .used = 1};
    g_autoptr(FakeAgent) fake = fake_agent_new("", crowd_answer, &crowd);
    g_autofree char *name = g_strconcat("unix:", fake->path, NULL);
    const char *const targets[] = {name, NULL};
    guint said = 0;
    ServiceOptions options = service_options_default;
    ServiceFigures figures = {0};
    g_autoptr(GError) error = NULL;
    options.targets = targets;
    options.parts = HISTORY_EVERYTHING;
    options.every_us = 10000;
    options.say = note_left_out;
    options.data = &said;
    Service *service = service_new(&options, &error);
    g_assert_no_error(error);
    const guint alarm = g_timeout_add_seconds(DEADLINE_S, on_deadline, NULL);
    const guint turns = g_timeout_add(20, turn_again, NULL);
    while (figures.samples < SAMPLES) {
        g_main_context_iteration(NULL, TRUE);
        service_figures(service, &figures);
    }
    g_source_remove(alarm);
    g_source_remove(turns);
    g_assert_cmpuint(said, ==, 1);
    if (!IS_SANITIZED)
        g_assert_cmpuint(resident_bytes(), <, MOST_BYTES);
    service_free(service);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/wide-samples/memory", test_memory);
    return g_test_run();
}
