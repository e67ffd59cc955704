/* SPDX-License-Identifier: Apache-2.0 */
/* The child is the real program (JESCOPE), its dumps are real ones (TEST_DATA). */
#include "routes/render.h"
#include "routes/route.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_S = 60 };

static int
open_dump(void)
{
    g_autofree char *path = g_build_filename(g_getenv("TEST_DATA"), "profile", "5.3.0-heap-lg19.heap.gz", NULL);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(descriptor, >=, 0);
    return descriptor;
}

static char *
read_all(int descriptor)
{
    struct stat status;
    g_assert_cmpint(fstat(descriptor, &status), ==, 0);
    char *text = g_malloc0((gsize)status.st_size + 1);
    g_assert_cmpint(read(descriptor, text, (size_t)status.st_size), ==, status.st_size);
    close(descriptor);
    return text;
}

static Outcome
render(const RenderSetup *setup, const char *format, const char *const *options, char **text, Failure *failure)
{
    int descriptor = -1;
    RouteRendering rendering = {.format = format, .options = options, .dump = open_dump(), .base = -1};
    Outcome result = render_report(setup, &rendering, &descriptor, failure);
    /* It is still at its beginning, and ours. */
    g_assert_cmpint(lseek(rendering.dump, 0, SEEK_CUR), ==, 0);
    close(rendering.dump);
    if (result == OUTCOME_DONE)
        *text = read_all(descriptor);
    else
        g_assert_cmpint(descriptor, ==, -1);
    return result;
}

static RenderSetup
real_setup(void)
{
    return (RenderSetup){.program = g_getenv("JESCOPE"), .title = "served (4711)"};
}

static void
test_makes_reports(void)
{
    const RenderSetup setup = real_setup();
    const char *const options[] = {"--count=3", NULL};
    Failure failure;
    g_autofree char *table = NULL, *graph = NULL;
    g_assert_cmpint(render(&setup, "text", options, &table, &failure), ==, OUTCOME_DONE);
    g_assert_nonnull(strstr(table, "served (4711)"));
    g_assert_cmpint(render(&setup, "flamegraph", NULL, &graph, &failure), ==, OUTCOME_DONE);
    g_assert_true(g_str_has_prefix(graph, "<?xml") || g_str_has_prefix(graph, "<svg"));
}

static void
test_makes_differences(void)
{
    const RenderSetup setup = real_setup();
    RouteRendering rendering = {.format = "text", .dump = open_dump(), .base = open_dump()};
    Failure failure;
    int descriptor = -1;
    g_assert_cmpint(render_report(&setup, &rendering, &descriptor, &failure), ==, OUTCOME_DONE);
    g_autofree char *text = read_all(descriptor);
    g_assert_nonnull(strstr(text, "change"));
    close(rendering.dump);
    close(rendering.base);
}

/* Dumps go by their ids, of which there may be as many as the child takes, and no more. */
static void
test_finds_growth(void)
{
    const RenderSetup setup = real_setup();
    const char *const options[] = {"--count=1", NULL};
    int dumps[RENDER_GROWTH_MAX];
    uint64_t ids[RENDER_GROWTH_MAX];
    RenderGrowth growth = {.options = options, .dumps = dumps, .ids = ids, .n = RENDER_GROWTH_MAX};
    Failure failure;
    int descriptor = -1;
    for (size_t i = 0; i < RENDER_GROWTH_MAX; i++) {
        dumps[i] = open_dump();
        ids[i] = 700 + i;
    }
    g_assert_cmpint(render_growth(&setup, &growth, &descriptor, &failure), ==, OUTCOME_DONE);
    g_autofree char *text = read_all(descriptor);
    g_assert_nonnull(strstr(text, "{\"name\":\"700\","));
    g_assert_nonnull(strstr(text, "{\"name\":\"731\","));
    g_assert_null(strstr(text, "/proc/"));
    growth.n = 2;
    g_assert_cmpint(render_growth(&setup, &growth, &descriptor, &failure), ==, OUTCOME_INVALID);
    g_assert_nonnull(strstr(failure.why, "at least three dumps"));
    growth.n = RENDER_GROWTH_MAX + 1;
    g_assert_cmpint(render_growth(&setup, &growth, &descriptor, &failure), ==, OUTCOME_INVALID);
    for (size_t i = 0; i < RENDER_GROWTH_MAX; i++)
        close(dumps[i]);
}

static void
test_tells_what_was_wrong(void)
{
    RenderSetup setup = real_setup();
    const char *const options[] = {"--focus=(", NULL};
    Failure failure;
    g_autofree char *text = NULL;
    g_assert_cmpint(render(&setup, "text", options, &text, &failure), ==, OUTCOME_INVALID);
    g_assert_true(g_str_has_prefix(failure.why, "--focus: invalid regular expression '('"));
    setup.program = "/no/such/jescope";
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_SYSTEM);
    g_assert_cmpstr(failure.why, ==, "cannot run /no/such/jescope: No such file or directory");
    g_assert_cmpint(failure.error, ==, ENOENT);
}

/* A program that says nothing and does not end. */
static void
test_ends_what_takes_too_long(void)
{
    g_autofree char *folder = g_dir_make_tmp("render-XXXXXX", NULL);
    g_autofree char *program = g_build_filename(folder, "jescope", NULL);
    g_assert_true(g_file_set_contents_full(program, "#!/bin/sh\nexec sleep 1000\n", -1, 0, 0755, NULL));
    const RenderSetup setup = {.program = program, .seconds = 1};
    Failure failure;
    g_autofree char *text = NULL;
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_SYSTEM);
    g_assert_nonnull(strstr(failure.why, "took more than 1 seconds"));
    g_assert_true(g_file_set_contents_full(program, "#!/bin/sh\nkill -KILL $$\n", -1, 0, 0755, NULL));
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_SYSTEM);
    g_assert_nonnull(strstr(failure.why, "signal 9"));
    unlink(program);
    rmdir(folder);
}

/* What it has started ends too, whether it is ended or ends by itself. */
static void
test_ends_what_the_child_has_left(void)
{
    static const char *const ends[] = {"exec sleep 1000", "exit 1"};
    g_autofree char *folder = g_dir_make_tmp("render-XXXXXX", NULL);
    g_autofree char *program = g_build_filename(folder, "jescope", NULL);
    g_autofree char *path = g_build_filename(folder, "pid", NULL);
    const RenderSetup setup = {.program = program, .seconds = 1};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autofree char *script = g_strdup_printf("#!/bin/sh\nsleep 1000 &\necho $! > ${0%%/*}/pid\n%s\n", ends[i]);
        g_autofree char *pid = NULL, *text = NULL;
        Failure failure;
        g_assert_true(g_file_set_contents_full(program, script, -1, 0, 0755, NULL));
        g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_SYSTEM);
        g_assert_true(g_file_get_contents(path, &pid, NULL, NULL));
        const gint64 until = g_get_monotonic_time() + DEADLINE_S * G_USEC_PER_SEC;
        pid_t ended;
        while ((ended = waitpid(atoi(pid), NULL, WNOHANG)) == 0 && g_get_monotonic_time() < until)
            g_usleep(1000);
        g_assert_cmpint(ended, ==, atoi(pid));
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    unlink(path);
    unlink(program);
    rmdir(folder);
}

/* A process that the host has forked holds the pipe open; that the child has ended is noticed all the same. */
static void
test_is_not_held_up_by_other_children(void)
{
    g_autofree char *folder = g_dir_make_tmp("render-XXXXXX", NULL);
    g_autofree char *program = g_build_filename(folder, "jescope", NULL);
    static const char script[] = "#!/bin/sh\n"
                                 "setsid sleep 1000 &\n"
                                 "echo $! > ${0%/*}/pid\n"
                                 "echo 'jescope: no luck' >&2\n"
                                 "exit 1\n";
    g_autofree char *path = g_build_filename(folder, "pid", NULL);
    g_autofree char *pid = NULL;
    g_assert_true(g_file_set_contents_full(program, script, -1, 0, 0755, NULL));
    const RenderSetup setup = {.program = program, .seconds = 300};
    Failure failure;
    g_autofree char *text = NULL;
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_SYSTEM);
    g_assert_nonnull(strstr(failure.why, "ended early"));
    g_assert_true(g_file_get_contents(path, &pid, NULL, NULL));
    kill(atoi(pid), SIGKILL);
    unlink(path);
    unlink(program);
    rmdir(folder);
}

/* 32 and 33, the C library's own: its posix_spawn() leaves them ignored, and its sigaction() refuses to change them. */
static const guint64 internal_signals = G_GUINT64_CONSTANT(3) << 31;

/* The environment of a child: five descriptors, no signal blocked or ignored, a short environment. */
static void
test_gives_the_child_nothing_else(void)
{
    g_autofree char *folder = g_dir_make_tmp("render-XXXXXX", NULL);
    g_autofree char *program = g_build_filename(folder, "jescope", NULL);
    static const char script[] = "#!/bin/sh\n"
                                 "ls /proc/$$/fd | tr '\\n' ' '\n"
                                 "grep -E '^Sig(Blk|Ign):' /proc/self/status\n"
                                 "env | sed 's/=.*//' | sort | tr '\\n' ' '\n"
                                 "printf '\\000' >&5\n";
    g_assert_true(g_file_set_contents_full(program, script, -1, 0, 0755, NULL));
    const RenderSetup setup = {.program = program};
    Failure failure;
    g_autofree char *text = NULL;
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */
    g_assert_cmpint(dup2(leak, 200), ==, 200);
    g_setenv("LD_PRELOAD", "", TRUE);
    signal(SIGPIPE, SIG_IGN);
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_DONE);
    signal(SIGPIPE, SIG_DFL);
    g_unsetenv("LD_PRELOAD");
    close(leak);
    close(200);
    g_assert_null(strstr(text, " 200 "));
    g_assert_null(strstr(text, "LD_PRELOAD"));
    g_assert_nonnull(strstr(text, "SigBlk:\t0000000000000000"));
    const char *ignored = strstr(text, "SigIgn:\t");
    g_assert_nonnull(ignored);
    g_assert_cmphex(g_ascii_strtoull(ignored + strlen("SigIgn:\t"), NULL, 16) & ~internal_signals, ==, 0);
    unlink(program);
    rmdir(folder);
}

/* The host ignores SIGCHLD: the kernel reaps the child, which must report its status itself. */
static void
test_does_not_need_wait(void)
{
    const RenderSetup setup = real_setup();
    const char *const bad[] = {"--by=nothing", NULL};
    Failure failure;
    g_autofree char *text = NULL;
    signal(SIGCHLD, SIG_IGN);
    g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_DONE);
    g_assert_cmpint(render(&setup, "text", bad, &text, &failure), ==, OUTCOME_INVALID);
    signal(SIGCHLD, SIG_DFL);
}

static Outcome
own_maps(void *host, int *descriptor, Failure *failure)
{
    *descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return OUTCOME_DONE;
}

static Outcome
own_render(void *host, const RouteRendering *rendering, int *descriptor, Failure *failure)
{
    RenderSetup setup = real_setup();
    setup.pid = getpid();
    return render_report(&setup, rendering, descriptor, failure);
}

__attribute__((noinline)) static int
a_function_of_ours(int x)
{
    return x * 3;
}

/* /pprof/symbol of a process is answered without a symbolizer in it. */
static void
test_names_addresses_of_this_process(void)
{
    static const RouteHostOps ops = {.maps = own_maps, .render = own_render};
    const RouteHost host = {.ops = &ops};
    g_autofree char *body = g_strdup_printf("0x%" G_GINT64_MODIFIER "x+0x1", (guint64)(guintptr)a_function_of_ours);
    g_autofree char *wanted = g_strdup_printf("num_symbols: 1\n0x%016" G_GINT64_MODIFIER "x\ta_function_of_ours\n",
                                              (guint64)(guintptr)a_function_of_ours);
    const RouteRequest request = {"POST", "/pprof/symbol", "", body, strlen(body)};
    RouteReply reply;
    const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_PPROF, &request);
    routes_answer(&host, &match, &request, &reply);
    g_assert_cmpuint(reply.status, ==, 200);
    g_assert_cmpint(reply.descriptor, ==, -1);
    g_assert_cmpint(strncmp(reply.body, wanted, reply.body_size), ==, 0);
    g_assert_cmpuint(reply.body_size, ==, strlen(wanted));
    g_assert_cmpint(a_function_of_ours(2), ==, 6);
}

static gpointer
reap_everything(gpointer stop)
{
    while (!g_atomic_int_get((int *)stop))
        if (waitpid(-1, NULL, 0) < 0)
            g_usleep(100);
    return NULL;
}

/* The host has a thread that waits for whatever child comes along. */
static void
test_gets_on_with_those_who_reap_everything(void)
{
    const RenderSetup setup = real_setup();
    int stop = 0;
    g_autoptr(GThread) thread = g_thread_new("reaper", reap_everything, &stop);
    for (int i = 0; i < 5; i++) {
        Failure failure;
        g_autofree char *text = NULL;
        g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_DONE);
    }
    g_atomic_int_set(&stop, 1);
    g_thread_join(g_steal_pointer(&thread));
}

static gpointer
render_some(gpointer data)
{
    const RenderSetup setup = real_setup();
    for (int i = 0; i < 3; i++) {
        Failure failure;
        g_autofree char *text = NULL;
        g_assert_cmpint(render(&setup, "text", NULL, &text, &failure), ==, OUTCOME_DONE);
    }
    return NULL;
}

static guint
count_descriptors(void)
{
    g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;
    while (g_dir_read_name(folder) != NULL)
        n++;
    return n;
}

static void
test_works_in_many_threads_and_leaves_nothing(void)
{
    GThread *threads[4];
    guint before = count_descriptors();
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("render", render_some, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_assert_cmpuint(count_descriptors(), ==, before);
    g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1);
    g_assert_cmpint(errno, ==, ECHILD);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/routes/render/makes-reports", test_makes_reports);
    g_test_add_func("/routes/render/makes-differences", test_makes_differences);
    g_test_add_func("/routes/render/finds-growth", test_finds_growth);
    g_test_add_func("/routes/render/tells-what-was-wrong", test_tells_what_was_wrong);
    g_test_add_func("/routes/render/ends-what-takes-too-long", test_ends_what_takes_too_long);
    g_test_add_func("/routes/render/ends-what-the-child-has-left", test_ends_what_the_child_has_left);
    g_test_add_func("/routes/render/is-not-held-up-by-other-children", test_is_not_held_up_by_other_children);
    g_test_add_func("/routes/render/gives-the-child-nothing-else", test_gives_the_child_nothing_else);
    g_test_add_func("/routes/render/does-not-need-wait", test_does_not_need_wait);
    g_test_add_func("/routes/render/gets-on-with-those-who-reap-everything",
                    test_gets_on_with_those_who_reap_everything);
    g_test_add_func("/routes/render/names-addresses-of-this-process", test_names_addresses_of_this_process);
    g_test_add_func("/routes/render/works-in-many-threads", test_works_in_many_threads_and_leaves_nothing);
    return g_test_run();
}
