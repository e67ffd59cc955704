/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_S = 60 };

/* Reads from the terminal until it has shown the text. */
static void
wait_for_text(int leader, GString *shown, const char *text)
{
    gint64 deadline = g_get_monotonic_time() + DEADLINE_S * G_USEC_PER_SEC;

    while (strstr(shown->str, text) == NULL) {
        struct pollfd waits = {.fd = leader, .events = POLLIN};
        char buffer[512];
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        if (poll(&waits, 1, 1000) > 0) {
            ssize_t got = read(leader, buffer, sizeof(buffer));
            g_assert_cmpint(got, >, 0);
            g_string_append_len(shown, buffer, got);
        }
    }
}

/* A child tells what it is at, and ends. */
static void
tell(ProgressPhase phase, guint done, guint whole)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        progress_phase(phase, done, whole);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
}

static void
test_phases(void)
{
    int leader = -1, follower = -1, before = dup(STDERR_FILENO);
    struct winsize size = {.ws_row = 24, .ws_col = 60};
    g_autoptr(GString) shown = g_string_new(NULL);

    g_assert_cmpint(openpty(&leader, &follower, NULL, NULL, &size), ==, 0);
    dup2(follower, STDERR_FILENO);
    Progress *progress = progress_begin("making the report");
    progress_follow_phases(progress);
    g_assert_nonnull(progress);
    tell(PROGRESS_READS, 0, 0);
    wait_for_text(leader, shown, "making the report: reading");
    tell(PROGRESS_NAMES, 3, 12);
    wait_for_text(leader, shown, "making the report: naming functions, 3 of 12 objects");
    tell(PROGRESS_WRITES, 0, 0);
    wait_for_text(leader, shown, "making the report: writing the report");
    /* Output of a child that was taken over. */
    tell(PROGRESS_NAMES, 99, 1);
    wait_for_text(leader, shown, "1 of 1 objects");
    tell(PROGRESS_N_PHASES + 1000, 1, 1);
    g_string_truncate(shown, 0);
    wait_for_text(leader, shown, "\r\x1b[Kmaking the report");
    progress_end(progress);
    fputs("end", stderr);
    wait_for_text(leader, shown, "\r\x1b[Kend");
    dup2(before, STDERR_FILENO);
    progress_phase(PROGRESS_READS, 0, 0); /* nothing follows */
    close(leader);
    close(follower);
    close(before);
}

static void
test_no_terminal(void)
{
    int before = dup(STDERR_FILENO), ends[2];

    g_assert_cmpint(pipe(ends), ==, 0);
    dup2(ends[1], STDERR_FILENO);
    Progress *progress = progress_begin("making the report");
    progress_follow_phases(progress);
    progress_phase(PROGRESS_READS, 0, 0);
    progress_end(progress);
    dup2(before, STDERR_FILENO);
    close(ends[1]);
    g_assert_null(progress);
    g_assert_cmpint(read(ends[0], &(char){0}, 1), ==, 0);
    close(ends[0]);
    close(before);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/progress/phases", test_phases);
    g_test_add_func("/cli/progress/no-terminal", test_no_terminal);
    return g_test_run();
}
