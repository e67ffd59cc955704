/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/live.h"
#include "service/published-bytes.h"

#include <string.h>
#include <sys/mman.h>
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/route-host/published", test_published);
    return g_test_run();
}
