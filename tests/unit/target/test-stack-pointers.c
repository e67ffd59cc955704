/* SPDX-License-Identifier: Apache-2.0 */
#include "target/stack-pointers.h"

#include <unistd.h>

enum {
    NEAR = 64 << 10,
};

typedef struct {
    GAsyncQueue *started, *end;
} Waiter;

static gpointer
wait_for_end(gpointer data)
{
    Waiter *waiter = data;
    /* Not the address of a variable: a sanitizer keeps those elsewhere. */
    g_async_queue_push(waiter->started, __builtin_frame_address(0));
    g_async_queue_pop(waiter->end);
    return NULL;
}

static gboolean
has_near(const GArray *pointers, guint64 address)
{
    for (guint i = 0; i < pointers->len; i++) {
        guint64 pointer = g_array_index(pointers, guint64, i);
        if (pointer < address && address - pointer < NEAR)
            return TRUE;
    }
    return FALSE;
}

static void
check_ascending(const GArray *pointers)
{
    for (guint i = 1; i < pointers->len; i++)
        g_assert_cmphex(g_array_index(pointers, guint64, i - 1), <=, g_array_index(pointers, guint64, i));
}

/* A thread that waits shows where its stack is, as soon as it has gone to sleep. */
static void
test_waiting(void)
{
    g_autoptr(GAsyncQueue) started = g_async_queue_new();
    g_autoptr(GAsyncQueue) end = g_async_queue_new();
    Waiter waiter = {started, end};
    GThread *thread = g_thread_new("waiter", wait_for_end, &waiter);
    guint64 address = (guint64)(guintptr)g_async_queue_pop(started);
    gint64 deadline = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
    gboolean found = FALSE, readable = access("/proc/self/syscall", R_OK) == 0;
    while (readable && !found && g_get_monotonic_time() < deadline) {
        g_autoptr(GArray) pointers = stack_pointers_read(getpid());
        check_ascending(pointers);
        found = has_near(pointers, address);
    }
    g_async_queue_push(end, end);
    g_thread_join(thread);
    if (!readable)
        g_test_skip("this kernel has no /proc/PID/syscall");
    else
        g_assert_true(found);
}

static void
test_gone(void)
{
    g_autoptr(GArray) pointers = stack_pointers_read(G_MAXINT32);
    g_assert_cmpuint(pointers->len, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/target/stack-pointers/waiting", test_waiting);
    g_test_add_func("/target/stack-pointers/gone", test_gone);
    return g_test_run();
}
