/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-program.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    GMainLoop *loop;
    char *failure;
} End;

static void
on_done(const char *failure, gpointer data)
{
    End *end = data;
    end->failure = g_strdup(failure);
    g_main_loop_quit(end->loop);
}

/* The failure of a program; to be freed. */
static char *
run(const char *const *argv, const int *files, guint n_files, gint64 limit_us)
{
    char *environment[] = {NULL};
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GMainLoop) loop = g_main_loop_new(context, FALSE);
    g_autoptr(GError) error = NULL;
    End end = {.loop = loop};
    const RuleProgramSetup setup = {.argv = (char **)(gsize)argv,
                                    .environment = environment,
                                    .files = files,
                                    .n_files = n_files,
                                    .limit_us = limit_us};
    g_assert_nonnull(rule_program_start(&setup, context, on_done, &end, &error));
    g_assert_no_error(error);
    g_main_loop_run(loop);
    return end.failure;
}

static char *
run_script(const char *script, const int *files, guint n_files, gint64 limit_us)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return run(argv, files, n_files, limit_us);
}

static void
test_failures(void)
{
    const char *const nothing[] = {"/no/such/program", NULL};
    g_autofree char *done = run_script("exit 0", NULL, 0, G_USEC_PER_SEC * 60);
    g_autofree char *failed = run_script("exit 3", NULL, 0, G_USEC_PER_SEC * 60);
    g_autofree char *missing = run(nothing, NULL, 0, G_USEC_PER_SEC * 60);
    g_assert_null(done);
    g_assert_nonnull(strstr(failed, "code 3"));
    g_assert_cmpstr(missing, ==, "it cannot be executed: No such file or directory");
}

/* It has its files from 3 on, /dev/null as 0 to 2, and nothing else, even if a file is where another one has to be. */
static void
test_descriptors(void)
{
    int ends[2], files[] = {-1, -1};
    g_autofree char *name = NULL;
    const int seen = g_file_open_tmp("jescope-XXXXXX", &name, NULL);
    g_assert_cmpint(pipe(ends), ==, 0); /* without close-on-exec */
    g_assert_cmpint(seen, >=, 0);
    files[1] = dup2(seen, ends[0]);
    g_autofree char *failure =
        run_script("test $(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | sort -u) = /dev/null || exit 1\n"
                   "i=0; while test $i -lt 64; do test -e /proc/$$/fd/$i && echo $i >&4; i=$((i + 1)); done",
                   files, G_N_ELEMENTS(files), G_USEC_PER_SEC * 60);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    g_assert_cmpstr(failure, ==, NULL);
    g_assert_cmpstr(text, ==, "0\n1\n2\n4\n");
    g_unlink(name);
    close(seen);
    close(ends[0]);
    close(ends[1]);
}

/* Who can delay the execution of a program (here by a lease on its file), as its user can with SIGSTOP after the child
 * has become him, delays nothing else. */
static void
test_execution_that_is_held_up(void)
{
    g_autofree char *name = NULL;
    const int file = g_file_open_tmp("jescope-XXXXXX", &name, NULL);
    const char *const argv[] = {name, NULL};
    signal(SIGIO, SIG_IGN);
    g_assert_cmpint(fchmod(file, 0700), ==, 0);
    if (fcntl(file, F_SETLEASE, F_WRLCK) != 0) {
        g_test_skip("the file system has no leases");
    } else {
        g_autofree char *failure = run(argv, NULL, 0, 1000);
        g_assert_cmpstr(failure, ==, "it did not end within 0 s and was killed");
    }
    g_unlink(name);
    close(file);
}

/* A program that leaves its group, which is empty then, and ignores SIGTERM. */
static void
test_program_without_its_group(void)
{
    if (!g_file_test("/usr/bin/python3", G_FILE_TEST_IS_EXECUTABLE)) {
        g_test_skip("there is no python3");
        return;
    }
    const char *const argv[] = {"/usr/bin/python3", "-c",
                                "import os, signal, time\n"
                                "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                "child = os.fork()\n"
                                "if child == 0:\n"
                                "    os.setpgid(0, 0)\n"
                                "    time.sleep(1000)\n"
                                "while os.getpgid(child) != child:\n"
                                "    time.sleep(0.001)\n"
                                "os.setpgid(0, child)\n"
                                "os.kill(child, signal.SIGKILL)\n"
                                "time.sleep(1000)",
                                NULL};
    g_autofree char *failure = run(argv, NULL, 0, G_USEC_PER_SEC);
    g_assert_cmpstr(failure, ==, "it did not end within 1 s and was killed");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/rule-program/failures", test_failures);
    g_test_add_func("/service/rule-program/descriptors", test_descriptors);
    g_test_add_func("/service/rule-program/execution-that-is-held-up", test_execution_that_is_held_up);
    g_test_add_func("/service/rule-program/program-without-its-group", test_program_without_its_group);
    return g_test_run();
}
