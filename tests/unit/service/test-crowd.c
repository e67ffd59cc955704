/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of processes that become targets at once, and end at once, as a user may have them again and again. */
#include "service/core.h"
#include "service/registry.h"
#include "service/scan-result.h"

#include <glib/gstdio.h>
#include <time.h>

enum {
    TARGETS = 2048,
    FIRST_PID = 4200000, /* above every process id */
    MOST_MS = 1000,      /* a tenth of what it took when each looked at all others */
};

static gint scans;

static gpointer
scanner_open(guint per_user)
{
    return &scans;
}

static void
scanner_close(gpointer scanner)
{
}

/* The first one finds all. */
static ScanResult *
scan(gpointer scanner, const GArray *hints)
{
    ScanResult *result = scan_result_new();
    if (g_atomic_int_add(&scans, 1) > 0)
        return result;
    for (guint i = 0; i < TARGETS; i++) {
        ScanFound found = {.process = {.pid = FIRST_PID + (pid_t)i, .start_time = 7, .uids = {1000, 1000, 1000}},
                           .address = g_strdup("/nonexistent"),
                           .identity = identity_of(1000, "", "/bin/true")};
        g_snprintf(found.process.name, sizeof(found.process.name), "name%u", i);
        g_array_append_val(result->found, found);
    }
    return result;
}

static gint64
spent_ms(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (gint64)spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

typedef struct {
    guint came, gone;
} Counts;

static void
count_event(const ServiceEvent *event, gpointer data)
{
    Counts *counts = data;
    counts->came += event->type == SERVICE_EVENT_TARGET_CAME;
    counts->gone += event->type == SERVICE_EVENT_TARGET_GONE;
}

/* The main context, which answers all clients, has little to do for each. */
static void
test_black_box(void)
{
    static const ServiceRoot root = {.scanner_new = scanner_open, .scanner_free = scanner_close, .scan = scan};
    g_autofree char *directory = g_dir_make_tmp("jescope-crowd-XXXXXX", NULL);
    ServiceOptions options = service_options_default;
    options.root = &root;
    options.every_us = 0;
    options.blackbox =
        (ServiceBlackbox){.scope = SERVICE_BLACKBOX_ALL, .directory = directory, .quota = blackbox_quota_default};
    g_autoptr(Service) service = service_new(&options, NULL);
    Counts counts = {0};
    const gint64 before_ms = spent_ms();
    service_subscribe(service, 0, count_event, &counts);
    while (counts.came < TARGETS)
        g_main_context_iteration(NULL, TRUE);
    registry_set_names(service->registry); /* all end */
    while (counts.gone < TARGETS)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpint(spent_ms() - before_ms, <, MOST_MS);
    g_clear_pointer(&service, service_free);
    g_rmdir(directory);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/crowd/black-box", test_black_box);
    return g_test_run();
}
