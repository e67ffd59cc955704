/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/core.h"
#include "service/live.h"
#include "service/published-bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 1 << 20, SMALL = 1 << 10 };

/* A report of one run. */
static void
publish(const RouteHost *host, off_t bytes)
{
    char directory[ROUTE_DIRECTORY_MAX];
    Failure failure;
    int fd = memfd_create("report", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(fd, bytes), ==, 0);
    const RoutePublication what = {
        .file = ROUTE_FILE_TEXT, .recording = 1, .descriptor = fd, .directory = directory, .size = sizeof(directory)};
    g_assert_cmpint(host->ops->publish(host->data, &what, &failure), ==, OUTCOME_DONE);
    close(fd);
}

static gpointer
publish_a_long_and_a_short_one(const RouteHost *host, gpointer data)
{
    publish(host, LARGE);
    publish(host, SMALL);
    return NULL;
}

/* What counts is the file that is there, which a shorter report of the same run does not replace. */
static void
test_published(void)
{
    Stage *stage = stage_new(NULL);
    const uid_t account = live_account(stage->target);
    stage_do(stage, SERVICE_SLOW, publish_a_long_and_a_short_one, NULL);
    g_assert_false(published_bytes_change(account, 0, PUBLISHED_BYTES_MAX - LARGE + 1));
    g_assert_true(published_bytes_change(account, 0, PUBLISHED_BYTES_MAX - LARGE));
    g_assert_true(published_bytes_change(account, PUBLISHED_BYTES_MAX - LARGE, 0));
    stage_free(stage);
    g_assert_true(published_bytes_change(account, 0, PUBLISHED_BYTES_MAX));
}

/* Keeps a base for the next difference. */
static gpointer
keep(const RouteHost *host, gpointer data)
{
    const off_t *bytes = data;
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(fd, *bytes), ==, 0);
    host->ops->delta_keep(host->data, fd);
    close(fd);
    return NULL;
}

/* The size of the base; -1: none. */
static gpointer
look(const RouteHost *host, gpointer data)
{
    off_t *bytes = data;
    struct stat status;
    Failure failure;
    int fd = -1;
    *bytes = -1;
    g_assert_cmpint(host->ops->delta_open(host->data, &fd, &failure), ==, OUTCOME_DONE);
    if (fd < 0)
        return NULL;
    g_assert_cmpint(fstat(fd, &status), ==, 0);
    *bytes = status.st_size;
    close(fd);
    return NULL;
}

static off_t
base_of(Stage *stage)
{
    off_t bytes;
    stage_do(stage, SERVICE_SLOW, look, &bytes);
    return bytes;
}

/* Bases are bounded in bytes, those of other targets count, and none outlives its target. */
static void
test_bases(void)
{
    ServiceOptions options = service_options_default;
    off_t small = SMALL, large = LARGE;
    options.limits.base_bytes = LARGE;
    g_autoptr(Stage) stage = stage_new(&options);
    HeldFiles *bases = stage->service->bases;
    g_assert_cmpint(base_of(stage), ==, -1);
    stage_do(stage, SERVICE_SLOW, keep, &small);
    g_assert_cmpint(base_of(stage), ==, SMALL);
    int other = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(other, LARGE), ==, 0);
    g_assert_true(held_files_add(bases, "another target of the user", live_account(stage->target), other));
    close(other);
    g_assert_cmpint(base_of(stage), ==, -1);
    stage_do(stage, SERVICE_SLOW, keep, &large);
    g_assert_cmpint(base_of(stage), ==, LARGE);
    g_assert_false(held_files_has(bases, "another target of the user"));
    live_set_gone(stage->target);
    g_assert_false(held_files_has(bases, service_target_unique(stage->target)));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/route-host/published", test_published);
    g_test_add_func("/service/route-host/bases", test_bases);
    return g_test_run();
}
