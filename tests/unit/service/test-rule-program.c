/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-program.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FILE_3 = 3, /* the program's first file */
    DEADLINE_S = 60,
};

typedef struct {
    gboolean done;
    char *failure;
} End;

static void
on_done(const char *failure, gpointer data)
{
    End *end = data;
    g_assert_false(end->done);
    *end = (End){TRUE, g_strdup(failure)};
}

/* Runs COMMAND with FILE as its first file. Returns the failure, to be freed. */
static char *
run(const char *command, int file, gint64 limit_us)
{
    g_auto(GStrv) argv = g_strsplit(command, " ", -1);
    g_autoptr(GError) error = NULL;
    char *environment[] = {NULL};
    const RuleProgramSetup setup = {
        .argv = argv, .environment = environment, .files = &file, .n_files = 1, .limit_us = limit_us};
    End end = {0};
    g_autoptr(GMainContext) context = g_main_context_new();
    alarm(DEADLINE_S);
    RuleProgram *program = rule_program_start(&setup, context, on_done, &end, &error);
    g_assert_no_error(error);
    while (!end.done)
        g_main_context_iteration(context, TRUE);
    alarm(0);
    rule_program_free(program);
    return end.failure;
}

/* ---- this file as a program ---- */

static void
tell_pids(pid_t other)
{
    const pid_t pids[] = {getpid(), other};
    g_assert_cmpint(write(FILE_3, pids, sizeof(pids)), ==, sizeof(pids));
}

static void
leave_group(void)
{
    int ends[2];
    char byte;
    g_assert_no_errno(pipe(ends));
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        close(ends[1]);
        for (;;)
            pause();
    }
    setpgid(child, child);
    g_assert_no_errno(setpgid(0, child));
    signal(SIGTERM, SIG_IGN);
    tell_pids(child);
    for (;;)
        g_assert_cmpint(read(ends[0], &byte, 1), <, 0);
}

/* Ends when a child traces it that is in another group and does not wait for it. */
static void
be_traced(void)
{
    int ends[2];
    char byte;
    const pid_t parent = getpid();
    g_assert_no_errno(pipe(ends));
    const pid_t child = fork();
    if (child == 0) {
        if (setsid() < 0 || ptrace(PTRACE_SEIZE, parent, NULL, NULL) != 0)
            _exit(1);
        close(ends[0]);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
    tell_pids(child);
    _exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {{"leave-group", leave_group}, {"be-traced", be_traced}};

/* Runs the program NAME. Returns the failure, to be freed; sets PIDS to its own and that of its child. */
static char *
run_self(const char *name, pid_t pids[2])
{
    int ends[2];
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *command = g_strdup_printf("%s %s", self, name);
    g_assert_no_errno(pipe2(ends, O_CLOEXEC));
    char *failure = run(command, ends[1], G_USEC_PER_SEC);
    g_assert_cmpint(read(ends[0], pids, 2 * sizeof(*pids)), ==, 2 * sizeof(*pids));
    close(ends[0]);
    close(ends[1]);
    return failure;
}

/* ---- tests ---- */

static void
test_cannot_be_executed(void)
{
    g_autofree char *first = run("/no/such/program", -1, DEADLINE_S * G_USEC_PER_SEC);
    g_autofree char *second = run("/bin/true", -1, DEADLINE_S * G_USEC_PER_SEC);
    g_autofree char *third = run("/bin/false", -1, DEADLINE_S * G_USEC_PER_SEC);
    g_assert_cmpstr(first, ==, "cannot execute it: No such file or directory");
    g_assert_cmpstr(second, ==, NULL);
    g_assert_nonnull(strstr(third, "1"));
}

/* As one that processes of its user have stopped: a lease on the file holds up its execution. */
static void
test_held_up_before_it_is_executed(void)
{
    g_autofree char *folder = g_dir_make_tmp("jescope-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "program", NULL);
    g_autofree char *text = NULL;
    gsize size;
    g_assert_true(g_file_get_contents("/bin/true", &text, &size, NULL));
    g_assert_true(g_file_set_contents(path, text, (gssize)size, NULL));
    g_assert_no_errno(g_chmod(path, 0700));
    signal(SIGIO, SIG_IGN); /* that the lease is wanted back */
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(file, >=, 0);
    if (fcntl(file, F_SETLEASE, F_WRLCK) != 0)
        g_test_skip("no leases");
    else {
        g_autofree char *failure = run(path, -1, G_USEC_PER_SEC);
        g_assert_cmpstr(failure, ==, "it did not end within 1 s and was killed");
    }
    close(file);
    g_unlink(path);
    g_rmdir(folder);
}

static void
test_leaves_its_group(void)
{
    pid_t pids[2];
    g_autofree char *failure = run_self("leave-group", pids);
    g_assert_cmpstr(failure, ==, "it did not end within 1 s and was killed");
    g_assert_cmpint(kill(pids[0], 0), ==, -1);
    g_assert_cmpint(errno, ==, ESRCH);
    kill(pids[1], SIGKILL);
}

static void
test_traced(void)
{
    pid_t pids[2];
    g_autofree char *failure = run_self("be-traced", pids);
    g_assert_cmpstr(failure, ==, "its status is unknown, since another process traces it");
    kill(pids[1], SIGKILL);
}

int
main(int argc, char **argv)
{
    for (gsize i = 0; argc == 2 && i < G_N_ELEMENTS(programs); i++)
        if (strcmp(argv[1], programs[i].name) == 0)
            programs[i].run();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/rule-program/cannot-be-executed", test_cannot_be_executed);
    g_test_add_func("/service/rule-program/held-up-before-it-is-executed", test_held_up_before_it_is_executed);
    g_test_add_func("/service/rule-program/leaves-its-group", test_leaves_its_group);
    g_test_add_func("/service/rule-program/traced", test_traced);
    return g_test_run();
}
