/* SPDX-License-Identifier: Apache-2.0 */
/* Threads simulate watches; their process is this one, so "/" includes them. */
#include "blackbox/call.h"

#include <poll.h>
#include <unistd.h>

enum { LONG_MS = 60000 };

typedef struct {
    WatchCall *call;
    gint taken;  /* atomic */
    gint *first; /* atomic: that of the other watch, to wait for; NULL: none */
} Watch;

static gpointer
answer_once(gpointer data)
{
    Watch *watch = data;
    struct pollfd wake = {.fd = watch_call_wake(watch->call), .events = POLLIN};
    if (poll(&wake, 1, LONG_MS) != 1 || !watch_call_take(watch->call))
        return NULL;
    g_atomic_int_set(&watch->taken, 1);
    const gint64 until = g_get_monotonic_time() + LONG_MS * G_GINT64_CONSTANT(1000);
    while (watch->first != NULL && g_atomic_int_get(watch->first) == 0 && g_get_monotonic_time() < until)
        g_usleep(1000);
    watch_call_done(watch->call);
    return NULL;
}

/* The dump of one process, perhaps of another user, may take any time: the other one is asked meanwhile. */
static void
test_all_at_once(void)
{
    Watch second = {.call = watch_call_new()}, first = {.call = watch_call_new(), .first = &second.taken};
    WatchCall *const calls[] = {first.call, second.call};
    GThread *threads[] = {g_thread_new("first", answer_once, &first), g_thread_new("second", answer_once, &second)};
    watch_call_answers_for(first.call, getpid());
    watch_call_answers_for(second.call, getpid());
    const gint64 begin = g_get_monotonic_time();
    watch_calls_before_kill(calls, G_N_ELEMENTS(calls), "/", LONG_MS);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, LONG_MS * G_GINT64_CONSTANT(1000));
    g_assert_true(g_atomic_int_get(&first.taken) && g_atomic_int_get(&second.taken));
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
        g_thread_join(threads[i]);
        watch_call_free(calls[i]);
    }
}

/* Calls do not wait for watches that have no process, are of another group, or stop meanwhile. */
static void
test_not_waited_for(void)
{
    g_autoptr(GTimer) timer = g_timer_new();
    WatchCall *call = watch_call_new();
    watch_calls_before_kill(&call, 1, "/", LONG_MS);
    watch_call_answers_for(call, getpid());
    watch_calls_before_kill(&call, 1, "/no such group", LONG_MS);
    g_assert_false(watch_call_take(call));
    watch_calls_before_kill(&call, 1, "/", 1);
    g_assert_true(watch_call_take(call));
    watch_call_answers_for(call, 0);
    watch_calls_before_kill(&call, 1, "/", LONG_MS);
    g_assert_cmpfloat(g_timer_elapsed(timer, NULL), <, LONG_MS / 1000.0);
    watch_call_free(call);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/call/all-at-once", test_all_at_once);
    g_test_add_func("/call/not-waited-for", test_not_waited_for);
    return g_test_run();
}
