/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scan.h"

#include "enclosed.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MANY = 100000, /* targets of one user */
    ENCLOSED = 600,
    SCAN_MS = 3000, /* of processor time */
};

/* A program that says where its agent would listen, and has none: the socket is the test's. */
typedef struct {
    char *directory;
    char *path;
    pid_t pid;
    Process process;
} Program;

static void
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    close(fd); /* the name stays */
}

static Program *
program_new(void)
{
    static const char *const argv[] = {"/bin/sleep", "600", NULL};
    Program *program = g_new0(Program, 1);
    g_autoptr(GError) error = NULL;
    program->directory = g_dir_make_tmp("jescope-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *variable = g_strconcat("JESCOPE_SOCKET_DIR=", program->directory, NULL);
    const char *const envp[] = {variable, NULL};
    GPid pid;
    g_spawn_async(NULL, (char **)(guintptr)argv, (char **)(guintptr)envp, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                  &error);
    g_assert_no_error(error);
    program->pid = pid;
    g_assert_true(process_read(pid, &program->process));
    program->path =
        g_strdup_printf("%s/%d.%" G_GUINT64_FORMAT ".sock", program->directory, (int)pid, program->process.start_time);
    return program;
}

static void
program_end(Program *program)
{
    kill(program->pid, SIGKILL);
    waitpid(program->pid, NULL, 0);
}

static void
program_free(Program *program)
{
    g_remove(program->path);
    g_assert_cmpint(g_rmdir(program->directory), ==, 0);
    g_free(program->path);
    g_free(program->directory);
    g_free(program);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

static const ScanFound *
find(const ScanResult *result, pid_t pid)
{
    for (guint i = 0; i < result->found->len; i++)
        if (g_array_index(result->found, ScanFound, i).process.pid == pid)
            return &g_array_index(result->found, ScanFound, i);
    return NULL;
}

static gboolean
is_lost(const ScanResult *result, pid_t pid)
{
    for (guint i = 0; i < result->lost->len; i++)
        if (g_array_index(result->lost, ScanLost, i).pid == pid)
            return TRUE;
    return FALSE;
}

/* The scan's result for the program's pid. */
static void
assert_scan(Scanner *scanner, const Program *program, const GArray *hints, const char *expected)
{
    g_autoptr(ScanResult) result = scanner_run(scanner, hints);
    const ScanFound *found = find(result, program->pid);
    const char *told = is_lost(result, program->pid) ? "lost" : found != NULL ? "found" : "nothing";
    g_assert_cmpstr(told, ==, expected);
    if (found != NULL)
        g_assert_cmpuint(found->process.start_time, ==, program->process.start_time);
}

static void
test_coming_and_going(void)
{
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(NULL, MANY);
    listen_at(program->path);
    assert_scan(scanner, program, NULL, "found");
    assert_scan(scanner, program, NULL, "nothing");
    program_end(program);
    assert_scan(scanner, program, NULL, "lost");
    assert_scan(scanner, program, NULL, "nothing");
}

/* The agent may leave a process that lives on, and come back. */
static void
test_agent_leaves(void)
{
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(NULL, MANY);
    listen_at(program->path);
    assert_scan(scanner, program, NULL, "found");
    g_remove(program->path);
    assert_scan(scanner, program, NULL, "lost");
    listen_at(program->path);
    g_autoptr(GArray) hints = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_array_append_val(hints, program->pid);
    assert_scan(scanner, program, hints, "found");
    program_end(program);
}

/* Above the limit they are ignored, with one message. (None at all, since other tests' targets count as well.) */
static void
test_targets_of_one_user(void)
{
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(NULL, 0);
    g_autoptr(GArray) hints = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_array_append_val(hints, program->pid);
    listen_at(program->path);
    g_autoptr(ScanResult) first = scanner_run(scanner, NULL);
    g_autoptr(ScanResult) second = scanner_run(scanner, hints);
    g_assert_cmpuint(first->found->len + second->found->len, ==, 0);
    g_assert_nonnull(strstr(first->trouble, "more than 0 processes with an agent; the others are ignored"));
    g_assert_null(second->trouble);
    program_end(program);
}

/* A process that is not a target is examined again, at the latest by the sixteenth scan, or on a hint. */
static void
test_looked_at_again(void)
{
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(NULL, MANY);
    for (guint i = 0; i < 5; i++)
        assert_scan(scanner, program, NULL, "nothing");
    listen_at(program->path);
    guint scans = 0;
    for (gboolean found = FALSE; !found; scans++) {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        found = find(result, program->pid) != NULL;
        g_assert_cmpuint(scans, <, 16);
    }
    g_assert_cmpuint(scans, >, 1);
    program_end(program);
}

static gint64
processor_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (gint64)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Of processes which the kernel takes milliseconds to describe, some are left for later scans. */
static void
test_many_groups(void)
{
    const char *obstacle;
    const pid_t first = enclosed_start(ENCLOSED, &obstacle);
    if (first == 0) {
        g_test_skip(obstacle);
        return;
    }
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(NULL, MANY);
    listen_at(program->path);
    const gint64 before = processor_ms();
    assert_scan(scanner, program, NULL, "found");
    const gint64 used = processor_ms() - before;
    program_end(program);
    assert_scan(scanner, program, NULL, "lost");
    enclosed_end(first);
    g_assert_cmpint(used, <, SCAN_MS);
}

static void
test_named(void)
{
    g_autoptr(Program) program = program_new();
    g_autofree char *pid = g_strdup_printf("%d", (int)program->pid);
    const char *const names[] = {pid, "no-such-program", NULL};
    g_autoptr(Scanner) scanner = scanner_new(names, MANY);
    {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        const ScanFound *found = find(result, program->pid);
        g_assert_true(found != NULL && found->named);
        g_assert_cmpstr(found != NULL ? found->address : NULL, ==, pid);
        g_assert_nonnull(strstr(result->trouble, "no-such-program"));
    }
    {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        g_assert_cmpuint(result->found->len, ==, 0);
        g_assert_null(result->trouble); /* one message */
    }
    program_end(program);
    assert_scan(scanner, program, NULL, "lost");
    /* A pid names one process, not whichever has it next. */
    assert_scan(scanner, program, NULL, "nothing");
}

/* A copy of a program that sleeps, called NAME, in a new directory. To be removed with forget_copy(). */
static char *
copy_program(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *directory = g_dir_make_tmp("jescope-XXXXXX", &error);
    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_no_error(error);
    char *path = g_build_filename(directory, name, NULL);
    g_assert_true(g_file_get_contents("/bin/sleep", &bytes, &length, &error));
    g_assert_true(g_file_set_contents_full(path, bytes, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0755, &error));
    g_assert_no_error(error);
    return path;
}

static void
forget_copy(char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(directory), ==, 0);
    g_free(path);
}

static pid_t
run_copy(const char *path)
{
    const char *const argv[] = {path, "600", NULL};
    g_autoptr(GError) error = NULL;
    GPid pid;
    g_spawn_async(NULL, (char **)(guintptr)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error);
    g_assert_no_error(error);
    return pid;
}

static void
end_copy(pid_t pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* Any user may start a process of the name, which is no restart of the one that was named. */
static void
test_source_and_its_namesake(void)
{
    g_autofree char *name = g_strdup_printf("scan-%d", (int)getpid());
    char *own = copy_program(name), *other = copy_program(name);
    pid_t first = run_copy(own), namesake = run_copy(other);
    g_autofree char *pid = g_strdup_printf("%d", (int)first);
    const ServiceSource source = {.kind = SERVICE_SOURCE_PROCESS, .series = "service", .name = pid, .program = name};
    g_autoptr(Scanner) scanner = scanner_new_of(&source, 1);
    {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        g_assert_nonnull(find(result, first));
    }
    end_copy(first);
    {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        g_assert_true(is_lost(result, first));
        g_assert_cmpuint(result->found->len, ==, 0);
        g_assert_cmpuint(result->remarks->len, ==, 1);
    }
    first = run_copy(own);
    {
        g_autoptr(ScanResult) result = scanner_run(scanner, NULL);
        g_assert_nonnull(find(result, first));
    }
    end_copy(first);
    end_copy(namesake);
    forget_copy(own);
    forget_copy(other);
}

/* Only the named ones. */
static void
test_named_alone(void)
{
    static const char *const names[] = {"no-such-program", NULL};
    g_autoptr(Program) program = program_new();
    g_autoptr(Scanner) scanner = scanner_new(names, MANY);
    listen_at(program->path);
    assert_scan(scanner, program, NULL, "nothing");
    program_end(program);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/scan/coming-and-going", test_coming_and_going);
    g_test_add_func("/service/scan/agent-leaves", test_agent_leaves);
    g_test_add_func("/service/scan/targets-of-one-user", test_targets_of_one_user);
    g_test_add_func("/service/scan/looked-at-again", test_looked_at_again);
    g_test_add_func("/service/scan/many-groups", test_many_groups);
    g_test_add_func("/service/scan/named", test_named);
    g_test_add_func("/service/scan/named-alone", test_named_alone);
    g_test_add_func("/service/scan/source-and-its-namesake", test_source_and_its_namesake);
    return g_test_run();
}
