/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/prekill.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void
test_parse(void)
{
    static const struct {
        const char *text, *group, *answer;
    } rows[] = {
        {"{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"/a.slice/b.service\"}}",
         "/a.slice/b.service", NULL},
        {"{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"relative\"}}", NULL,
         "InvalidParameter"},
        {"{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":7}}", NULL, "InvalidParameter"},
        {"{\"method\":\"io.systemd.oom.Prekill.Notify\"}", NULL, "InvalidParameter"},
        {"{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":{}}", NULL, "MethodNotFound"},
        {"{\"parameters\":{}}", NULL, NULL},
        {"[]", NULL, NULL},
        {"", NULL, NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *answer = NULL;
        g_autofree char *group = prekill_parse(rows[i].text, &answer);
        g_assert_cmpstr(group, ==, rows[i].group);
        g_assert_true((answer != NULL) == (rows[i].answer != NULL));
        g_assert_true(answer == NULL || strstr(answer, rows[i].answer) != NULL);
    }
}

static void
test_concerns(void)
{
    g_assert_true(prekill_concerns("/a", "/a"));
    g_assert_true(prekill_concerns("/a", "/a/b"));
    g_assert_true(prekill_concerns("/", "/a/b"));
    g_assert_false(prekill_concerns("/a", "/ab"));
    g_assert_false(prekill_concerns("/a/b", "/a"));
}

static void
note(const char *group, gpointer data)
{
    g_string_append_printf(data, "%s ", group);
}

/* Sends TEXT as systemd-oomd would, or as it would not; returns everything that is received until the other side
 * closes. */
static char *
call(const char *path, const char *text, gsize length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    GString *got = g_string_new(NULL);
    char part[256];
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(send(fd, text, length, MSG_NOSIGNAL), ==, (gssize)length);
    shutdown(fd, SHUT_WR);
    for (gssize n; (n = recv(fd, part, sizeof(part), 0)) > 0;)
        for (gssize i = 0; i < n; i++)
            g_string_append_c(got, part[i] != '\0' ? part[i] : '|');
    close(fd);
    return g_string_free(got, FALSE);
}

static void
test_calls(void)
{
    static const char two[] = "{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"/a\"}}";
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "hook", NULL);
    g_autoptr(GString) groups = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    struct stat status;
    PrekillHook *hook = prekill_hook_new(path, &error);
    prekill_hook_begin(hook, note, groups);
    g_assert_no_error(error);
    g_assert_cmpint(g_lstat(path, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 07777, ==, 0600);
    g_autofree char *answer = call(path, two, sizeof(two));
    g_assert_cmpstr(answer, ==, "{\"parameters\":{}}|");
    g_autofree char *cut = call(path, two, 20);
    g_assert_cmpstr(cut, ==, "");
    g_autofree char *again = call(path, two, sizeof(two));
    g_assert_cmpstr(again, ==, "{\"parameters\":{}}|");
    prekill_hook_free(hook);
    g_assert_cmpstr(groups->str, ==, "/a /a ");
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_set_contents(path, "mine", -1, NULL));
    g_assert_null(prekill_hook_new(path, &error));
    g_assert_nonnull(strstr(error->message, "Address already in use"));
    g_unlink(path);
    g_rmdir(folder);
}

typedef struct {
    GMutex lock;
    GCond changed;
    gboolean fast; /* the fast group was called */
} Pair;

static void
wait_for_fast(const char *group, gpointer data)
{
    Pair *pair = data;
    const gint64 until_us = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    g_mutex_lock(&pair->lock);
    pair->fast = pair->fast || strcmp(group, "/fast") == 0;
    g_cond_broadcast(&pair->changed);
    while (!pair->fast)
        g_assert_true(g_cond_wait_until(&pair->changed, &pair->lock, until_us));
    g_mutex_unlock(&pair->lock);
}

static gpointer
call_slow(gpointer path)
{
    static const char slow[] = "{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"/slow\"}}";
    return call(path, slow, sizeof(slow));
}

/* A call about the processes of one user, which may be slow, and a client that is silent hold up no other call. */
static void
test_calls_beside_each_other(void)
{
    static const char fast[] = "{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"/fast\"}}";
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "hook", NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    Pair pair = {.fast = FALSE};
    PrekillHook *hook = prekill_hook_new(path, NULL);
    prekill_hook_begin(hook, wait_for_fast, &pair);
    const int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(connect(silent, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    GThread *thread = g_thread_new("slow", call_slow, path);
    g_usleep(100000); /* the slow call comes first */
    g_autofree char *answer = call(path, fast, sizeof(fast));
    g_autofree char *slow_answer = g_thread_join(thread);
    g_assert_cmpstr(answer, ==, "{\"parameters\":{}}|");
    g_assert_cmpstr(slow_answer, ==, answer);
    close(silent);
    prekill_hook_free(hook);
    g_rmdir(folder);
}

static gint64
processor_time_us(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (gint64)spent.tv_sec * G_USEC_PER_SEC + spent.tv_nsec / 1000;
}

/* Without a descriptor for the client, the hook waits instead of trying without end, and answers later. */
static void
test_no_descriptor(void)
{
    static const char message[] = "{\"method\":\"io.systemd.oom.Prekill.Notify\",\"parameters\":{\"cgroup\":\"/a\"}}";
    enum { WAIT_US = 500000 };
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "hook", NULL);
    g_autoptr(GString) groups = g_string_new(NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rlimit limit, none;
    char answer[64];
    PrekillHook *hook = prekill_hook_new(path, NULL);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)fd + 1, .rlim_max = limit.rlim_max};
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    const gint64 before_us = processor_time_us();
    prekill_hook_begin(hook, note, groups);
    g_usleep(WAIT_US);
    g_assert_cmpint(processor_time_us() - before_us, <, WAIT_US / 2);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    g_assert_cmpint(send(fd, message, sizeof(message), MSG_NOSIGNAL), ==, (gssize)sizeof(message));
    g_assert_cmpint(recv(fd, answer, sizeof(answer), 0), >, 0);
    close(fd);
    prekill_hook_free(hook);
    g_assert_cmpstr(groups->str, ==, "/a ");
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prekill/parse", test_parse);
    g_test_add_func("/prekill/concerns", test_concerns);
    g_test_add_func("/prekill/calls", test_calls);
    g_test_add_func("/prekill/calls-beside-each-other", test_calls_beside_each_other);
    g_test_add_func("/prekill/no-descriptor", test_no_descriptor);
    return g_test_run();
}
