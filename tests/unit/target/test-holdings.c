/* SPDX-License-Identifier: Apache-2.0 */
#include "target/holdings.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SOMEONE = 61000,
    BYTES = 16 << 20,
};

typedef struct {
    uid_t user; /* 0: that of this process */
    gboolean closed;
    const char *program; /* NULL: none is executed */
} Child;

static void
hold(int said)
{
    char *memory = malloc(BYTES);
    memset(memory, 1, BYTES);
    if (write(said, memory, 1) == 1)
        pause();
    _exit(0);
}

static void
act(const Child *child, int said)
{
    g_autofree char *descriptor = g_strdup_printf("%d", said);
    if (child->user != 0 && setresuid(child->user, child->user, child->user) != 0)
        _exit(1);
    prctl(PR_SET_DUMPABLE, !child->closed);
    if (child->program != NULL)
        execl(child->program, child->program, "hold", descriptor, NULL);
    else
        hold(said);
    _exit(1);
}

/* The children line of FOUND, a parent of such a child. */
static guint64
children_of(const Process *found, const Child *child)
{
    Holdings holdings;
    int said[2];
    char byte;
    g_assert_cmpint(pipe(said), ==, 0);
    pid_t pid = fork();
    if (pid == 0)
        act(child, said[1]);
    close(said[1]);
    g_assert_cmpint(read(said[0], &byte, 1), ==, 1);
    holdings_read(found, &holdings);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    close(said[0]);
    return holdings.children;
}

static Process
self_as(uid_t user)
{
    Process self;
    g_assert_true(process_look(getpid(), &self));
    for (guint i = 0; user != 0 && i < PROCESS_UIDS; i++)
        self.uids[i] = user;
    self.closed = self.closed && user == 0;
    return self;
}

static void
test_own(void)
{
    const Process self = self_as(0);
    g_assert_cmpuint(children_of(&self, &(Child){0}), >=, BYTES);
}

static gboolean
is_root(void)
{
    if (geteuid() != 0)
        g_test_skip("needs the rights to become another user");
    return geteuid() == 0;
}

/* As of a program that starts a set-user-ID program, or has become the parent of one whose parent has ended. */
static void
test_of_another_user(void)
{
    if (!is_root())
        return;
    const Process found = self_as(SOMEONE);
    g_assert_cmpuint(children_of(&found, &(Child){.user = SOMEONE}), >=, BYTES);
    g_assert_cmpuint(children_of(&found, &(Child){0}), ==, 0);
    g_assert_cmpuint(children_of(&found, &(Child){.user = SOMEONE + 1}), ==, 0);
    g_assert_cmpuint(children_of(&found, &(Child){.user = SOMEONE, .closed = TRUE}), ==, 0);
}

/* Root's process may start its children as any user, as servers do. */
static void
test_of_root(void)
{
    if (!is_root())
        return;
    const Process self = self_as(0);
    g_assert_cmpuint(children_of(&self, &(Child){.user = SOMEONE, .closed = TRUE}), >=, BYTES);
}

/* Another file of the name is another program, another name of the file is not. */
static void
test_namesake(void)
{
    const Process self = self_as(0);
    g_autofree char *folder = g_dir_make_tmp("jescope-holdings-XXXXXX", NULL);
    g_autofree char *own = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *name = g_path_get_basename(own);
    g_autofree char *copy = g_build_filename(folder, name, NULL);
    char *bytes;
    gsize length;
    g_assert_true(g_file_get_contents(own, &bytes, &length, NULL));
    g_assert_true(g_file_set_contents_full(copy, bytes, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    g_assert_cmpuint(children_of(&self, &(Child){.program = own}), >=, BYTES);
    g_assert_cmpuint(children_of(&self, &(Child){.program = copy}), ==, 0);
    g_free(bytes);
    g_unlink(copy);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        hold(atoi(argv[2]));
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/holdings/own", test_own);
    g_test_add_func("/holdings/of-another-user", test_of_another_user);
    g_test_add_func("/holdings/of-root", test_of_root);
    g_test_add_func("/holdings/namesake", test_namesake);
    return g_test_run();
}
