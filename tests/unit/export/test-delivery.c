/* SPDX-License-Identifier: Apache-2.0 */
#include "export/delivery.h"

#include "export/batch-build.h"

#include <glib/gstdio.h>
#include <string.h>

/* The clock of delivery.c, in place of GLib's. */
static gint64 now_us;

gint64
g_get_monotonic_time(void)
{
    return now_us;
}

/* 1 s, 2 s, 4 s... 5 minutes; half of it at most is taken off at random. */
static void
test_back_off(void)
{
    g_assert_cmpint(delivery_back_off_us(1, 0, 0), ==, 1 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(1, 0, 1), ==, G_USEC_PER_SEC / 2);
    g_assert_cmpint(delivery_back_off_us(4, 0, 0), ==, 8 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(9, 0, 0), ==, 256 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(10, 0, 0), ==, 300 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(G_MAXUINT, 0, 1), ==, 150 * G_USEC_PER_SEC);
}

/* Never sooner than the other side said, and not all hosts at the same moment. */
static void
test_retry_after(void)
{
    g_assert_cmpint(delivery_back_off_us(1, 30, 0), ==, 30 * G_USEC_PER_SEC);
    g_assert_cmpint(delivery_back_off_us(1, 30, 0.5), ==, 30 * G_USEC_PER_SEC + G_USEC_PER_SEC / 2);
    g_assert_cmpint(delivery_back_off_us(10, 30, 0), ==, 300 * G_USEC_PER_SEC);
}

/* ---- an hour without a store, of a clock that is only counted ---- */

enum {
    MINUTES = 60,
    TARGETS = 1,
    BATCHES = MINUTES * TARGETS,
    ATTEMPTS_MAX = 40, /* that an hour has room for: 9 in the first minutes, then one every 150 s at most */
    ROOM_FOR = 15,     /* batches, in a queue that is too small */
    FIRST_S = 1000,
};

static const gint64 minute_us = 60 * G_USEC_PER_SEC, request_us = 50000;

/* A store that answers from BACK_US on. */
static struct {
    gint64 back_us, first_us; /* when the first batch arrived */
    guint attempts;           /* before that */
    GArray *arrived;          /* the times of the batches, seconds */
} store;

static gpointer
new_store(const Destination *destination, GError **error)
{
    return &store;
}

static void
free_store(gpointer state)
{
    g_assert_true(state == &store);
}

static ExportOutcome
send_to_store(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    now_us += request_us;
    if (now_us < store.back_us) {
        store.attempts++;
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_UNREACHED, "no answer");
        return EXPORT_LATER;
    }
    store.first_us = store.first_us != 0 ? store.first_us : now_us;
    for (guint i = 0; i < n; i++) {
        const gint64 seconds = batches[i]->dump.time / G_USEC_PER_SEC;
        g_array_append_val(store.arrived, seconds);
    }
    return EXPORT_SENT;
}

static const ExportSink sink = {
    .name = "store", .max_batches = 16, .new = new_store, .free = free_store, .send = send_to_store};

/* The dump of second NUMBER after the first. */
static GBytes *
make_batch(guint number)
{
    static const SymbolizeOptions options = {.no_cache = TRUE};
    static const char text[] = "--- symbol\n0x1000 main\n---\n--- heap\nheap profile: 1: 50 [0: 0] @ heapprofile\n"
                               "1: 50 [0: 0] @ 0x1001\n\nMAPPED_LIBRARIES:\n";
    const BatchCircumstances circumstances = {.service = "shop", .host = "host"};
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) dump = g_bytes_new_static(text, strlen(text));
    g_autoptr(Profile) profile = profile_read_bytes(dump, "dump", PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    g_autoptr(Symbols) symbols = symbolize(profile, &options, NULL);
    const ReportInput input = {
        .profile = profile, .symbols = symbols, .name = "dump", .text = dump, .time = FIRST_S + number};
    GBytes *batch = batch_build(&input, &circumstances, &error);
    g_assert_no_error(error);
    return batch;
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        remove_all(entry);
    }
    g_remove(path);
}

/* What a dump a minute gives in an hour is queued while nothing answers; then the store is back. */
static QueueFigures
spend_hour(guint64 max_bytes)
{
    const Destination destination = {.sink = &sink};
    g_autofree char *root = g_dir_make_tmp("jescope-delivery-XXXXXX", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Queue) queue = queue_open(root, "put://example.com/", max_bytes, &error);
    g_assert_no_error(error);
    g_autoptr(Delivery) delivery = delivery_new(queue, &destination, &error);
    QueueFigures figures;
    DeliveryState state = DELIVERY_WAITS;
    now_us = G_USEC_PER_SEC;
    store.back_us = now_us + MINUTES * minute_us;
    store.first_us = store.attempts = 0;
    store.arrived = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint n = 0; n < BATCHES; n++) {
        g_autoptr(GBytes) batch = make_batch(n);
        g_assert_true(queue_add(queue, batch, QUEUE_ACCOUNT_UNKNOWN, NULL));
        g_assert_true(queue_figures(queue, &figures, NULL));
        g_assert_cmpuint(figures.waiting_bytes, <=, max_bytes);
        for (const gint64 until_us = now_us + minute_us / TARGETS; now_us < until_us; now_us += G_USEC_PER_SEC) {
            g_autoptr(GError) why = NULL;
            delivery_step(delivery, &why);
        }
    }
    for (guint steps = 0; state != DELIVERY_IDLE; steps++, now_us += G_USEC_PER_SEC) {
        g_autoptr(GError) why = NULL;
        state = delivery_step(delivery, &why);
        g_assert_cmpuint(steps, <, 10000);
    }
    g_assert_true(queue_figures(queue, &figures, NULL));
    remove_all(root);
    return figures;
}

/* What has arrived are the last ones, each once, in their order. */
static void
check_arrived(guint first)
{
    g_assert_cmpuint(store.arrived->len, ==, BATCHES - first);
    for (guint i = 0; i < store.arrived->len; i++)
        g_assert_cmpint(g_array_index(store.arrived, gint64, i), ==, FIRST_S + first + i);
    g_array_unref(store.arrived);
}

static void
test_hour_without_store(void)
{
    const QueueFigures figures = spend_hour(64 << 20);
    g_assert_cmpuint(figures.sent, ==, BATCHES);
    g_assert_cmpuint(figures.dropped + figures.refused + figures.damaged + figures.waiting, ==, 0);
    g_assert_cmpuint(store.attempts, >=, 9);
    g_assert_cmpuint(store.attempts, <=, ATTEMPTS_MAX);
    g_assert_cmpint(store.first_us - store.back_us, <=, 5 * minute_us + 2 * G_USEC_PER_SEC);
    check_arrived(0);
}

/* The oldest ones give way, and are counted. */
static void
test_hour_in_a_small_queue(void)
{
    g_autoptr(GBytes) one = make_batch(0);
    const QueueFigures figures = spend_hour(ROOM_FOR * g_bytes_get_size(one));
    g_assert_cmpuint(figures.dropped, >, 0);
    g_assert_cmpuint(figures.sent, >=, ROOM_FOR / 2);
    g_assert_cmpuint(figures.sent + figures.dropped, ==, BATCHES);
    g_assert_cmpuint(figures.refused + figures.damaged + figures.waiting, ==, 0);
    check_arrived((guint)figures.dropped);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/delivery/back-off", test_back_off);
    g_test_add_func("/delivery/retry-after", test_retry_after);
    g_test_add_func("/delivery/hour-without-store", test_hour_without_store);
    g_test_add_func("/delivery/hour-in-a-small-queue", test_hour_in_a_small_queue);
    return g_test_run();
}
