/* SPDX-License-Identifier: Apache-2.0 */
#include "acting-agent.h"

#include "service/rule-work.h"

#include "rules/file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = "[holds]\nwhen = held above 1GiB\ndo = dump; run /bin/sleep 60\n"
                           "[dumps]\nwhen = held above 1GiB\ndo = dump\n";

typedef struct {
    guint failed;
    guint64 bytes;
    gboolean done;
} End;

static void
on_done(const RuleOutcome *outcome, gpointer data)
{
    *(End *)data = (End){outcome->failed, outcome->bytes, TRUE};
}

static void
note_dump(const ServiceEvent *event, gpointer data)
{
    *(gboolean *)data = *(gboolean *)data || event->type == SERVICE_EVENT_DUMP;
}

/* The dumps of several firings count together, and what is not held is kept all the same. */
static void
test_bytes_of_a_user(void)
{
    ServiceOptions options = service_options_default;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    g_autoptr(GPtrArray) rules = rules_new();
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    End end = {0};
    gboolean dumped = FALSE;
    rules_file_parse("any.rules", text, strlen(text), rules, problems);
    g_assert_cmpuint(problems->len, ==, 0);
    RuleWorks *works = rule_works_new(stage->service, on_done, &end);
    rule_works_begin(works, rules->pdata[1], stage->target, "the test");
    stage_wait(&end.done);
    g_assert_cmpuint(end.failed, ==, 0);
    stage->service->options.limits.rule_bytes = end.bytes * 3 / 2; /* of one dump and not of two */
    guint subscription = service_subscribe(stage->service, 0, note_dump, &dumped);
    rule_works_begin(works, rules->pdata[0], stage->target, "the test");
    stage_wait(&dumped);
    service_unsubscribe(stage->service, subscription);
    end.done = FALSE;
    rule_works_begin(works, rules->pdata[1], stage->target, "the test");
    stage_wait(&end.done);
    g_assert_cmpuint(end.failed, ==, 1);
    g_assert_cmpuint(stage_get(stage, &stage->acting.dumps), ==, 3);
    rule_works_close(works);
    rule_works_free(works);
}

/* ---- a program that leaves a process behind, which has its files open ---- */

enum { DUMP_FILE = 3 };

/* Writes the pid of that process and what it has seen of the dump to PATH. */
static void
leave_process(const char *path)
{
    int ends[2];
    char byte;
    g_assert_no_errno(pipe(ends));
    if (fork() == 0) {
        struct stat status;
        g_assert_cmpint(setsid(), >, 0);
        g_assert_no_errno(fstat(DUMP_FILE, &status));
        g_autofree char *seen =
            g_strdup_printf("%d %d %d %d", (int)getpid(), (int)status.st_size, (int)ftruncate(DUMP_FILE, 0),
                            (int)(fcntl(DUMP_FILE, F_GETFL) & O_ACCMODE));
        g_assert_true(g_file_set_contents(path, seen, -1, NULL));
        close(ends[0]);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
    _exit(0);
}

static guint64
size_of_file(int pid, int file)
{
    struct stat status;
    g_autofree char *path = g_strdup_printf("/proc/%d/fd/%d", pid, file);
    g_assert_no_errno(stat(path, &status));
    return (guint64)status.st_size;
}

/* What a program has left keeps no memory beyond the actions. */
static void
test_files_that_stay_open(void)
{
    ServiceOptions options = service_options_default;
    options.every_us = 0;
    g_autoptr(Stage) stage = stage_new(&options);
    g_autoptr(GPtrArray) rules = rules_new();
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = g_dir_make_tmp("jescope-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "seen", NULL);
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *rule = g_strdup_printf("[keeps]\nwhen = held above 1GiB\ndo = dump; run %s leave-process %s\n%s",
                                            self, path, geteuid() == 0 ? "run-as = root\n" : "");
    g_autofree char *seen = NULL;
    End end = {0};
    int pid, size, truncated, mode;
    rules_file_parse("any.rules", rule, strlen(rule), rules, problems);
    g_assert_cmpuint(problems->len, ==, 0);
    RuleWorks *works = rule_works_new(stage->service, on_done, &end);
    rule_works_begin(works, rules->pdata[0], stage->target, "the test");
    stage_wait(&end.done);
    g_assert_cmpuint(end.failed, ==, 0);
    g_assert_true(g_file_get_contents(path, &seen, NULL, NULL));
    g_assert_cmpint(sscanf(seen, "%d %d %d %d", &pid, &size, &truncated, &mode), ==, 4);
    g_assert_cmpint(size, ==, (int)end.bytes);
    g_assert_cmpint(truncated, ==, -1);
    g_assert_cmpint(mode, ==, O_RDONLY);
    g_assert_cmpuint(size_of_file(pid, DUMP_FILE), ==, 0);
    kill(pid, SIGKILL);
    rule_works_close(works);
    rule_works_free(works);
    g_unlink(path);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "leave-process") == 0)
        leave_process(argv[2]);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service/rule-work/bytes-of-a-user", test_bytes_of_a_user);
    g_test_add_func("/service/rule-work/files-that-stay-open", test_files_that_stay_open);
    return g_test_run();
}
