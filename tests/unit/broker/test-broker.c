/* SPDX-License-Identifier: Apache-2.0 */
/* A broker with a client that was taken over. */
#include "broker/broker.h"
#include "broker/protocol.h"

#include "confine/channel.h"
#include "routes/native-parameters.h"
#include "routes/render.h"
#include "target/discovery.h"
#include "target/exit-events.h"
#include "target/own-dump.h"
#include "target/proxy.h"
#include "target/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    int socket;
    pid_t broker;
    pid_t other; /* a process that is neither */
    char *folder;
    char *file, *secret, *made; /* that may be read; that may not; a socket that may be removed */
    int handed;                 /* comes with requests that carry descriptors */
} Scene;

static BrokerPolicy *
read_policy(gpointer data)
{
    const Scene *scene = data;
    const char *const files[] = {scene->file, NULL}, *const sockets[] = {scene->made, scene->secret, NULL};
    g_autofree char *named = g_strconcat("unix:", scene->made, NULL);
    const char *const targets[] = {"1", named, NULL};
    static const char *const variables[] = {"LANG", NULL};
    BrokerPolicy *policy = g_new0(BrokerPolicy, 1);
    policy->variables = g_strdupv((char **)(gsize)variables);
    policy->files = g_strdupv((char **)(gsize)files);
    policy->sockets = g_strdupv((char **)(gsize)sockets);
    policy->targets = g_strdupv((char **)(gsize)targets);
    return policy;
}

static pid_t
start_other(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

static void
set_up(Scene *scene, gconstpointer data)
{
    int ends[2];
    scene->folder = g_dir_make_tmp("jescope-broker-XXXXXX", NULL);
    scene->file = g_build_filename(scene->folder, "tokens", NULL);
    scene->secret = g_build_filename(scene->folder, "secret", NULL);
    scene->made = g_build_filename(scene->folder, "made.sock", NULL);
    g_assert_true(g_file_set_contents(scene->file, "granted", -1, NULL));
    g_assert_true(g_file_set_contents(scene->secret, "secret", -1, NULL));
    g_setenv("SECRET_MALLOC_CONF", "prof:true", TRUE);
    scene->handed = memfd_create("dump", MFD_CLOEXEC);
    scene->other = start_other();
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==, 0);
    scene->broker = fork();
    if (scene->broker == 0) {
        const BrokerSettings settings = {.read = read_policy, .data = scene};
        broker_run(ends[1], &settings);
        _exit(0);
    }
    close(ends[1]);
    scene->socket = ends[0];
}

/* The broker ends by itself when its client has. */
static void
tear_down(Scene *scene, gconstpointer data)
{
    int status = -1;
    close(scene->socket);
    close(scene->handed);
    g_assert_cmpint(waitpid(scene->broker, &status, 0), ==, scene->broker);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kill(scene->other, SIGKILL);
    waitpid(scene->other, NULL, 0);
    g_unlink(scene->file);
    g_unlink(scene->secret);
    g_unlink(scene->made);
    g_rmdir(scene->folder);
    g_free(scene->folder);
    g_free(scene->file);
    g_free(scene->secret);
    g_free(scene->made);
}

/* The error of the reply to SIZE bytes that come with N_FDS descriptors. *FD is what it carries. */
static int
exchange(const Scene *scene, gpointer bytes, gsize size, guint n_fds, int *fd)
{
    BrokerReply reply;
    ChannelMessage asked = {.bytes = bytes, .size = size, .n_fds = n_fds};
    ChannelMessage message = {.bytes = &reply, .size = sizeof(reply)};
    *fd = -1;
    for (guint i = 0; i < n_fds; i++)
        asked.fds[i] = scene->handed;
    g_assert_true(channel_send(scene->socket, &asked));
    g_assert_true(channel_receive(scene->socket, &message));
    g_assert_cmpuint(message.size, ==, sizeof(reply));
    if (message.n_fds > 0)
        *fd = message.fds[0];
    g_assert_cmpuint(message.n_fds, ==, reply.error == 0 && *fd >= 0 ? 1 : 0);
    return reply.error;
}

static BrokerRequest *
about(BrokerKind kind, pid_t pid, const char *text)
{
    BrokerRequest *request = g_new0(BrokerRequest, 1);
    request->magic = BROKER_MAGIC;
    request->kind = kind;
    request->pid = pid;
    request->start_time = pid > 0 ? process_start_time(pid) : 0;
    g_strlcpy(request->text, text, sizeof(request->text));
    return request;
}

/* Takes REQUEST. */
static int
ask(const Scene *scene, BrokerRequest *request, guint n_fds, int *fd)
{
    int error = exchange(scene, request, sizeof(*request), n_fds, fd);
    g_free(request);
    return error;
}

static void
assert_refused(const Scene *scene, BrokerRequest *request, guint n_fds, int expected)
{
    int fd;
    g_assert_cmpint(ask(scene, request, n_fds, &fd), ==, expected);
    g_assert_cmpint(fd, ==, -1);
}

static void
assert_reads(int fd, const char *beginning)
{
    char text[256] = {0};
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
    g_assert_cmpint(read(fd, text, sizeof(text) - 1), >, 0);
    g_assert_true(g_str_has_prefix(text, beginning));
    close(fd);
}

static void
assert_serves(const Scene *scene)
{
    int fd;
    g_assert_cmpint(ask(scene, about(BROKER_FILE, 0, scene->file), 0, &fd), ==, 0);
    assert_reads(fd, "granted");
}

/* ---- tests ---- */

static void
test_sizes(Scene *scene, gconstpointer data)
{
    g_autofree BrokerRequest *request = about(BROKER_FILE, 0, scene->file);
    g_autofree char *large = g_malloc0(2 * sizeof(*request));
    int fd;
    memcpy(large, request, sizeof(*request));
    g_assert_cmpint(exchange(scene, request, 1, 0, &fd), ==, EBADMSG);
    g_assert_cmpint(exchange(scene, request, sizeof(*request) - 1, 0, &fd), ==, EBADMSG);
    g_assert_cmpint(exchange(scene, large, sizeof(*request) + 1, 0, &fd), ==, EMSGSIZE);
    g_assert_cmpint(exchange(scene, large, 2 * sizeof(*request), 2, &fd), ==, EMSGSIZE);
    request->magic++;
    g_assert_cmpint(exchange(scene, request, sizeof(*request), 0, &fd), ==, EBADMSG);
    assert_serves(scene);
}

static void
test_kinds(Scene *scene, gconstpointer data)
{
    assert_refused(scene, about(BROKER_N_KINDS, 0, ""), 0, ENOSYS);
    assert_refused(scene, about((BrokerKind)G_MAXINT32, 0, ""), 0, ENOSYS);
    assert_refused(scene, about(BROKER_FILE, 0, scene->file), 1, EBADF);
    assert_refused(scene, about(BROKER_WATCH, 0, ""), 0, EBADF);
    assert_refused(scene, about(BROKER_FILE, 1, scene->file), 0, EINVAL);
    BrokerRequest *endless = about(BROKER_FILE, 0, "");
    memset(endless->text, 'x', sizeof(endless->text));
    assert_refused(scene, endless, 0, EINVAL);
    assert_serves(scene);
}

/* One subscription, for each who asks; only where the broker has the right. */
static void
test_exits(Scene *scene, gconstpointer data)
{
    int own = exit_events_subscribe(), first, second;
    const int expected = own >= 0 ? 0 : EPERM;
    assert_refused(scene, about(BROKER_EXITS, 0, "1"), 0, EINVAL);
    assert_refused(scene, about(BROKER_EXITS, scene->other, ""), 0, EINVAL);
    assert_refused(scene, about(BROKER_EXITS, 0, ""), 1, EBADF);
    g_assert_cmpint(ask(scene, about(BROKER_EXITS, 0, ""), 0, &first), ==, expected);
    g_assert_cmpint(ask(scene, about(BROKER_EXITS, 0, ""), 0, &second), ==, expected);
    if (own >= 0) {
        g_assert_cmpint(first, >=, 0);
        g_assert_cmpint(second, >=, 0);
        close(first);
        close(second);
        exit_events_unsubscribe(own);
    }
    assert_serves(scene);
}

static void
test_processes(Scene *scene, gconstpointer data)
{
    g_autofree BrokerResult *result = g_new0(BrokerResult, 1);
    ChannelMessage message = {.bytes = result, .size = sizeof(*result)};
    int session;
    char byte;
    BrokerRequest *later = about(BROKER_OPEN, scene->other, "");
    later->start_time++;
    assert_refused(scene, later, 0, ESRCH);
    BrokerRequest *unknown = about(BROKER_OPEN, scene->other, "");
    unknown->detail = REACH_N_FILES;
    assert_refused(scene, unknown, 0, EINVAL);
    assert_refused(scene, about(BROKER_OPEN, scene->other, "environ"), 0, EINVAL);
    assert_refused(scene, about(BROKER_OPEN, 0, ""), 0, ESRCH);
    assert_refused(scene, about(BROKER_OPEN, -1, ""), 0, ESRCH);
    g_assert_cmpint(ask(scene, about(BROKER_OPEN, scene->other, ""), 0, &session), ==, 0);
    g_assert_true(channel_receive(session, &message));
    g_assert_cmpint(result->error, ==, 0);
    g_assert_cmpuint(message.n_fds, ==, 1);
    g_assert_cmpint(read(message.fds[0], &byte, 1), ==, 1);
    channel_close_fds(&message);
    close(session);
    kill(scene->other, SIGKILL);
    BrokerRequest *ended = about(BROKER_OPEN, scene->other, "");
    g_assert_cmpint(waitpid(scene->other, NULL, 0), ==, scene->other);
    assert_refused(scene, ended, 0, ESRCH);
}

static void
test_files(Scene *scene, gconstpointer data)
{
    g_autofree char *around = g_build_filename(scene->folder, ".", "tokens", NULL);
    assert_refused(scene, about(BROKER_FILE, 0, scene->secret), 0, EPERM);
    assert_refused(scene, about(BROKER_FILE, 0, around), 0, EPERM);
    assert_refused(scene, about(BROKER_FILE, 0, "/etc/shadow"), 0, EPERM);
    assert_refused(scene, about(BROKER_UNLINK, 0, scene->file), 0, EPERM);
    assert_refused(scene, about(BROKER_UNLINK, 0, scene->secret), 0, EINVAL); /* listed, but no socket */
    assert_refused(scene, about(BROKER_UNLINK, 0, "tokens"), 0, EINVAL);
    g_assert_true(g_file_test(scene->secret, G_FILE_TEST_EXISTS));
    assert_serves(scene);
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(fd, 4), ==, 0);
    return fd;
}

/* A BrokerResult received at SESSION: its error, and whether it has a descriptor. */
static BrokerResult *
receive_result(int session, gboolean *carries)
{
    BrokerResult *result = g_new0(BrokerResult, 1);
    ChannelMessage message = {.bytes = result, .size = sizeof(*result)};
    g_assert_true(channel_receive(session, &message));
    *carries = message.n_fds > 0;
    channel_close_fds(&message);
    close(session);
    return result;
}

/* A new socket of the name that an agent of PID has. */
static char *
socket_of(const Scene *scene, pid_t pid)
{
    Process process;
    g_assert_true(process_look(pid, &process));
    g_autofree char *name = discovery_socket_name(&process);
    return g_build_filename(scene->folder, name, NULL);
}

static void
assert_connects(const Scene *scene, pid_t pid, const char *path, int expected)
{
    int session;
    gboolean carries;
    g_assert_cmpint(ask(scene, about(BROKER_CONNECT, pid, path), 0, &session), ==, 0);
    g_autofree BrokerResult *result = receive_result(session, &carries);
    g_assert_cmpint(result->error, ==, expected);
    g_assert_cmpint(carries, ==, expected == 0);
}

/* A connection is to an agent of that very process. */
static void
test_connections(Scene *scene, gconstpointer data)
{
    g_autofree char *own = socket_of(scene, getpid()), *others = socket_of(scene, scene->other);
    const int listeners[] = {listen_at(own), listen_at(others), listen_at(scene->made)};
    assert_connects(scene, getpid(), own, 0);
    assert_connects(scene, scene->other, others, EPERM);                           /* we listen there */
    assert_refused(scene, about(BROKER_CONNECT, getpid(), scene->made), 0, EPERM); /* ours, but no agent's */
    assert_refused(scene, about(BROKER_CONNECT, getpid(), others), 0, EPERM);
    g_assert_cmpint(g_chmod(scene->folder, 0755), ==, 0); /* others could put a socket there */
    assert_connects(scene, getpid(), own, EPERM);
    assert_refused(scene, about(BROKER_CONNECT, getpid(), "made.sock"), 0, EINVAL);
    for (gsize i = 0; i < G_N_ELEMENTS(listeners); i++)
        close(listeners[i]);
    g_unlink(own);
    g_unlink(others);
    assert_refused(scene, about(BROKER_UNLINK, 0, scene->made), 0, 0);
    g_assert_false(g_file_test(scene->made, G_FILE_TEST_EXISTS));
}

/* Of an environment, what jemalloc is set up with and nothing else. */
static void
test_variables(Scene *scene, gconstpointer data)
{
    int session;
    gboolean carries;
    assert_refused(scene, about(BROKER_VARIABLE, scene->other, "PATH"), 0, EPERM);
    assert_refused(scene, about(BROKER_VARIABLE, scene->other, "MALLOC_CONFX"), 0, EPERM);
    g_assert_cmpint(ask(scene, about(BROKER_VARIABLE, scene->other, "MALLOC_CONF"), 0, &session), ==, 0);
    g_autofree BrokerResult *result = receive_result(session, &carries);
    g_assert_cmpint(result->error, ==, 0);
    g_assert_false(carries);
    g_assert_cmpint(ask(scene, about(BROKER_VARIABLE, scene->other, "LANG"), 0, &session), ==, 0);
    close(session);
}

/* A process that has other ids than the server found is not the one that it means. */
static void
test_other_ids(Scene *scene, gconstpointer data)
{
    enum { SOMEONE = 61000 };
    static const BrokerKind kinds[] = {BROKER_OPEN, BROKER_VARIABLE};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        BrokerRequest *request = about(kinds[i], scene->other, kinds[i] == BROKER_VARIABLE ? "MALLOC_CONF" : "");
        for (guint j = 0; j < PROCESS_UIDS; j++)
            request->uids[j] = SOMEONE;
        assert_refused(scene, request, 0, EPERM);
    }
}

/* The result of a dump of PID, of which the server chooses PREFIX and bytes: EXPECTED, and a file if that is 0. */
static void
assert_own_dump(const Scene *scene, pid_t pid, const char *prefix, int expected)
{
    int session;
    gboolean carries;
    BrokerRequest *request = about(BROKER_OWN_DUMP, pid, prefix);
    request->detail = 1;
    g_assert_cmpint(ask(scene, request, 1, &session), ==, 0);
    g_autofree BrokerResult *result = receive_result(session, &carries);
    g_autofree char *name = g_strconcat(prefix, ".1.0.m0.heap", NULL);
    g_autofree char *file = g_canonicalize_filename(name, scene->folder);
    g_assert_cmpint(g_file_test(file, G_FILE_TEST_EXISTS), ==, expected == 0);
    g_assert_cmpint(result->error, ==, expected);
    g_unlink(file);
}

/* The process, as it was found and as its dump is stored, is not the same: no file is created. */
static void
assert_late_own_dump(const Scene *scene, pid_t pid)
{
    enum { SOMEONE = 61000 };
    Process found, reused;
    g_assert_true(process_look(pid, &found));
    reused = found;
    reused.start_time--;
    ReachOwnDump late = {.process = &reused, .inner = 1, .prefix = "late", .dump = scene->handed};
    g_assert_cmpint(own_dump_store(&late), ==, ESRCH);
    late.process = &found;
    late.user = SOMEONE; /* of who listens at its socket */
    g_assert_cmpint(own_dump_store(&late), ==, EPERM);
    late.user = 0;
    for (guint i = 0; i < PROCESS_UIDS; i++)
        found.uids[i] = SOMEONE; /* it has executed sudo(8) since */
    g_assert_cmpint(own_dump_store(&late), ==, EPERM);
    g_assert_false(g_file_test("late.1.0.m0.heap", G_FILE_TEST_EXISTS));
}

/* A process of root gets files where root has configured, not where the server says; one that is not a target gets
 * none: any user may start some programs as root, in any directory and with its own environment. */
static void
test_own_dumps(Scene *scene, gconstpointer data)
{
    if (geteuid() != 0) {
        g_test_skip("needs a process of root's");
        return;
    }
    g_autofree char *chosen = g_build_filename(scene->folder, "chosen", NULL);
    Process self;
    g_assert_true(process_look(getpid(), &self));
    g_autofree char *name = discovery_socket_name(&self);
    g_autofree char *agent = g_build_filename("/tmp/.jescope-0", name, NULL);
    g_mkdir("/tmp/.jescope-0", 0700);
    g_autofree char *before = g_get_current_dir();
    g_assert_no_errno(g_chdir(scene->folder));
    pid_t no_target = start_other();
    int listener = listen_at(agent);
    assert_own_dump(scene, getpid(), chosen, EPERM);
    assert_own_dump(scene, getpid(), "jeprof", 0);
    close(listener);
    g_unlink(agent);
    assert_own_dump(scene, no_target, "jeprof", EPERM);
    assert_late_own_dump(scene, no_target);
    g_assert_no_errno(g_chdir(before));
    kill(no_target, SIGKILL);
    waitpid(no_target, NULL, 0);
}

/* The session says so, since who a process is may be told by its memory alone. */
static void
assert_not_named(const Scene *scene, const char *address)
{
    g_autoptr(GError) error = NULL;
    int session;
    g_assert_cmpint(ask(scene, about(BROKER_TARGET, scene->other, address), 0, &session), ==, 0);
    g_assert_null(proxy_open(session, &(Process){.pid = scene->other}, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_PERMISSION);
}

static void
test_targets(Scene *scene, gconstpointer data)
{
    g_autofree char *pid = g_strdup_printf("%d", (int)scene->other);
    assert_not_named(scene, pid);
    assert_not_named(scene, "1");
    assert_not_named(scene, "unix:/run/another.sock");
    BrokerRequest *via = about(BROKER_TARGET, scene->other, pid);
    via->detail = TARGET_VIA_ATTACH + 1;
    assert_refused(scene, via, 0, EINVAL);
}

static BrokerRequest *
worded(BrokerKind kind, const char *const *words)
{
    BrokerRequest *request = about(kind, 0, "");
    for (gsize at = 0; *words != NULL; at += strlen(*words) + 1, words++)
        g_strlcpy(request->text + at, *words, sizeof(request->text) - at);
    return request;
}

static BrokerRequest *
rendering(const char *const *words)
{
    return worded(BROKER_RENDER, words);
}

/* The arguments of the program that answers REQUEST, which is taken, with N_FDS dumps. */
static char *
arguments_for(const Scene *scene, BrokerRequest *request, guint n_fds)
{
    BrokerRendered rendered;
    ChannelMessage message = {.bytes = &rendered, .size = sizeof(rendered)};
    char text[4096] = {0};
    int session;
    g_assert_cmpint(ask(scene, request, n_fds, &session), ==, 0);
    g_assert_true(channel_receive(session, &message));
    g_assert_cmpuint(rendered.result, ==, OUTCOME_DONE);
    g_assert_cmpuint(message.n_fds, ==, 1);
    g_assert_cmpint(pread(message.fds[0], text, sizeof(text) - 1, 0), >, 0);
    channel_close_fds(&message);
    close(session);
    return g_strdup(text);
}

/* The names in a dump that the server may have written are not those of its process. */
static void
test_files_of_reports(Scene *scene, gconstpointer data)
{
    static const char *const report[] = {"text", "title", NULL}, *const growth[] = {"1", "2", "3", NULL};
    BrokerRequest *of_process = rendering(report);
    of_process->pid = scene->other;
    of_process->start_time = process_start_time(scene->other);
    BrokerRequest *requests[] = {of_process, rendering(report), worded(BROKER_GROWTH, growth)};
    for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_autofree char *words = arguments_for(scene, requests[i], i < 2 ? 1 : 3);
        g_assert_nonnull(strstr(words, " --public-files "));
    }
}

/* A report is root's program: it takes no option that a request cannot lead to. */
static void
test_reports(Scene *scene, gconstpointer data)
{
    static const char *const refused[][6] = {
        {"raw", "title"},
        {"nonsense", "title"},
        {"source", "title"},
        {"text"},
        {"text", "title", "--output=/etc/passwd"},
        {"text", "title", "--debug-path=/root"},
        {"text", "title", "--sysroot=/"},
        {"text", "title", "--count=3", "-o/etc/passwd"},
        {"text", "title", "--count"},
        {"text", "title", "--bytes=/etc/passwd"},
        {"text", "title", "/etc/shadow"},
        {"text", "title", "--"},
        {"text", "title", "--="},
        {"batch", "title", "--count=3"},
        {"batch"},
    };
    static const char *const granted[] = {"text", "title", "--count=3", "--bytes", "--focus=main", NULL};
    int session;
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
        assert_refused(scene, rendering(refused[i]), 1, EPERM);
    assert_refused(scene, rendering(granted), 0, EBADF);
    assert_refused(scene, rendering(granted), 3, EBADF);
    BrokerRequest *slow = rendering(granted), *large = rendering(granted);
    slow->detail = RENDER_SECONDS + 1;
    assert_refused(scene, slow, 1, EINVAL);
    large->number = RENDER_BYTES + 1;
    assert_refused(scene, large, 1, EINVAL);
    static const char *const batch[] = {"batch-with-heap", "title", NULL};
    g_assert_cmpint(ask(scene, rendering(granted), 1, &session), ==, 0);
    close(session);
    g_assert_cmpint(ask(scene, rendering(batch), 1, &session), ==, 0);
    close(session);
}

/* So is the growth over dumps, each of which has an id. */
static void
test_growth(Scene *scene, gconstpointer data)
{
    static const char *const refused[][6] = {
        {"1", "2"},
        {"1", "2", "x"},
        {"1", "2", "-3"},
        {"1", "2", "3", "--output=/etc/passwd"},
        {"1", "2", "3", "--title=x"},
        {"1", "2", "3", "/etc/shadow"},
    };
    static const char *const granted[] = {"1", "2", "3", "--focus=main", NULL};
    int session;
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
        assert_refused(scene, worded(BROKER_GROWTH, refused[i]), 3, EPERM);
    assert_refused(scene, worded(BROKER_GROWTH, granted), 2, EBADF);
    assert_refused(scene, worded(BROKER_GROWTH, granted), 4, EPERM);
    g_assert_cmpint(ask(scene, worded(BROKER_GROWTH, granted), 3, &session), ==, 0);
    close(session);
}

/* An examination is of a process, which has an address. */
static void
test_examinations(Scene *scene, gconstpointer data)
{
    assert_refused(scene, about(BROKER_EXAMINE, scene->other, ""), 0, EINVAL);
    assert_refused(scene, about(BROKER_EXAMINE, 0, "none"), 0, ESRCH);
    assert_refused(scene, about(BROKER_EXAMINE, scene->other, "none"), 2, EBADF);
    BrokerRequest *endless = about(BROKER_EXAMINE, scene->other, "none");
    endless->number = NATIVE_WATCH_MAX_MS + 1;
    assert_refused(scene, endless, 0, EINVAL);
}

/* A socket that the operator has named permits nothing about a process that does not listen there. */
static void
test_examinations_by_socket(Scene *scene, gconstpointer data)
{
    g_autofree char *named = g_strconcat("unix:", scene->made, NULL);
    int listener = listen_at(scene->made);
    g_autofree char *ours = arguments_for(scene, about(BROKER_EXAMINE, getpid(), named), 0);
    g_assert_null(strstr(ours, " --via agent "));
    g_autofree char *others = arguments_for(scene, about(BROKER_EXAMINE, scene->other, named), 0);
    g_assert_nonnull(strstr(others, " --via agent "));
    close(listener);
    g_autofree char *ended = arguments_for(scene, about(BROKER_EXAMINE, getpid(), named), 0);
    g_assert_nonnull(strstr(ended, " --via agent "));
}

/* A report opens what it is handed once more, as root: that must not make it readable. */
static void
test_handed(Scene *scene, gconstpointer data)
{
    static const char *const words[] = {"text", "title", NULL}, *const ids[] = {"1", "2", "3", NULL};
    static const int flags[] = {O_PATH, O_WRONLY};
    for (gsize i = 0; i < G_N_ELEMENTS(flags); i++) {
        g_assert_no_errno(close(scene->handed));
        scene->handed = open(scene->secret, flags[i] | O_CLOEXEC);
        g_assert_cmpint(scene->handed, >=, 0);
        assert_refused(scene, rendering(words), 1, EBADF);
        assert_refused(scene, rendering(words), 2, EBADF);
        assert_refused(scene, worded(BROKER_GROWTH, ids), 3, EBADF);
        assert_refused(scene, about(BROKER_OWN_DUMP, scene->other, "jeprof"), 1, EBADF);
    }
}

/* A FIFO that no process writes to would hold up the report for ever. */
static void
test_fifo(Scene *scene, gconstpointer data)
{
    static const char *const words[] = {"text", "title", NULL}, *const ids[] = {"1", "2", "3", NULL};
    g_autofree char *path = g_build_filename(scene->folder, "fifo", NULL);
    g_assert_no_errno(mkfifo(path, 0600));
    g_assert_no_errno(close(scene->handed));
    scene->handed = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    g_assert_cmpint(scene->handed, >=, 0);
    assert_refused(scene, rendering(words), 1, EBADF);
    assert_refused(scene, worded(BROKER_GROWTH, ids), 3, EBADF);
    g_assert_no_errno(unlink(path));
}

/* What is in a file of /proc depends on who opens it. */
static void
test_file_of_proc(Scene *scene, gconstpointer data)
{
    static const char *const words[] = {"text", "title", NULL};
    g_assert_no_errno(close(scene->handed));
    scene->handed = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(scene->handed, >=, 0);
    assert_refused(scene, rendering(words), 1, EBADF);
    assert_refused(scene, about(BROKER_EXAMINE, scene->other, "none"), 1, EBADF);
}

/* Sessions are independent: an error ends only one of them. */
static void
test_sessions(Scene *scene, gconstpointer data)
{
    int session;
    char nonsense[] = "nonsense", byte;
    g_assert_cmpint(ask(scene, about(BROKER_SCAN, 0, ""), 0, &session), ==, 0);
    const ChannelMessage message = {.bytes = nonsense, .size = sizeof(nonsense)};
    g_assert_true(channel_send(session, &message));
    g_assert_cmpint(recv(session, &byte, 1, 0), <=, 0);
    close(session);
    assert_serves(scene);
}

static void
test_sessions_are_bounded(Scene *scene, gconstpointer data)
{
    int sessions[65], more;
    guint n = 0;
    while (n < G_N_ELEMENTS(sessions) && ask(scene, about(BROKER_SCAN, 0, ""), 0, &sessions[n]) == 0)
        n++;
    g_assert_cmpuint(n, ==, 64);
    assert_refused(scene, about(BROKER_SCAN, 0, ""), 0, EAGAIN);
    while (n > 0)
        close(sessions[--n]);
    const gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    int error;
    while ((error = ask(scene, about(BROKER_SCAN, 0, ""), 0, &more)) == EAGAIN && g_get_monotonic_time() < end)
        g_usleep(10000);
    g_assert_cmpint(error, ==, 0);
    close(more);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(Scene *scene, gconstpointer data);
    } tests[] = {
        {"sizes", test_sizes},
        {"kinds", test_kinds},
        {"exits", test_exits},
        {"processes", test_processes},
        {"files", test_files},
        {"connections", test_connections},
        {"variables", test_variables},
        {"own-dumps", test_own_dumps},
        {"other-ids", test_other_ids},
        {"targets", test_targets},
        {"reports", test_reports},
        {"growth", test_growth},
        {"handed", test_handed},
        {"fifo", test_fifo},
        {"examinations", test_examinations},
        {"examinations-by-socket", test_examinations_by_socket},
        {"files-of-reports", test_files_of_reports},
        {"file-of-proc", test_file_of_proc},
        {"sessions", test_sessions},
        {"sessions-are-bounded", test_sessions_are_bounded},
    };
    /* The reports that are granted below are made by this very program, which prints its arguments. */
    static const char *const made[] = {"report", "push", "growth", "doctor", NULL};
    if (argc > 1 && g_strv_contains(made, argv[1])) {
        g_autofree char *words = g_strjoinv(" ", argv);
        puts(words);
        return write(atoi(g_getenv(RENDER_STATUS_VARIABLE)), "", 1) != 1;
    }
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/broker/", tests[i].name, NULL);
        g_test_add(path, Scene, NULL, set_up, tests[i].run, tear_down);
    }
    return g_test_run();
}
