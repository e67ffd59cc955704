/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/prekill.h"

#include "blackbox/life.h"
#include "target/reach.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CALL_MAX = 16 * 1024, /* bytes; the path of a group has at most 4096 */
    CALL_MS = 5000,       /* timeout for each part of a client's call and of the answer */
    WAITING = 4,          /* connections in the backlog */
    CALLS_AT_ONCE = 8,    /* a call about a group whose processes are slow must not hold up one about another */
    CALLS_MAX = 64,       /* that wait for a thread */
    AGAIN_MS = 200,       /* after a shortage of descriptors or memory: poll() would spin on the waiting client */
};

struct PrekillHook {
    char *path;
    int listener;
    int stop; /* an eventfd */
    PrekillNotify notify;
    gpointer data;
    GThread *thread;      /* NULL: the hook has not begun, or has ended */
    GThreadPool *callers; /* of descriptors + 1; NULL as well */
};

/* ---- messages ---- */

static char *
take_text(json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
    char *copy = g_strdup(text);
    json_decref(document);
    free(text);
    return copy;
}

char *
prekill_parse(const char *text, char **answer)
{
    const char *method = NULL, *group = NULL;
    json_t *call = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    char *found = NULL;
    *answer = NULL;
    if (json_unpack(call, "{s:s}", "method", &method) == 0) {
        if (strcmp(method, "io.systemd.oom.Prekill.Notify") != 0)
            *answer = take_text(json_pack("{s:s, s:{s:s}}", "error", "org.varlink.service.MethodNotFound", "parameters",
                                          "method", method));
        else if (json_unpack(call, "{s:{s:s}}", "parameters", "cgroup", &group) != 0 || group[0] != '/')
            *answer = take_text(json_pack("{s:s, s:{s:s}}", "error", "org.varlink.service.InvalidParameter",
                                          "parameters", "parameter", "cgroup"));
        else
            found = g_strdup(group);
    }
    json_decref(call);
    return found;
}

gboolean
prekill_concerns(const char *path, const char *group)
{
    const gsize length = strlen(path);
    if (strcmp(path, "/") == 0)
        return TRUE;
    return strncmp(group, path, length) == 0 && (group[length] == '\0' || group[length] == '/');
}

/* ---- connections ---- */

/* Waits for EVENTS, at most MS milliseconds (-1: forever). FALSE if they did not occur, or the hook should end. */
static gboolean
wait_for(const PrekillHook *hook, int fd, short events, int ms)
{
    struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = hook->stop, .events = POLLIN}};
    int n;
    do
        n = poll(fds, G_N_ELEMENTS(fds), ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && fds[1].revents == 0;
}

/* Reads a message, which ends with a zero byte; to be freed. NULL on timeout or error. */
static char *
read_message(const PrekillHook *hook, int fd)
{
    g_autofree char *text = g_malloc0(CALL_MAX + 1);
    for (gsize length = 0; length < CALL_MAX;) {
        if (!wait_for(hook, fd, POLLIN, CALL_MS))
            return NULL;
        gssize n = recv(fd, text + length, CALL_MAX - length, MSG_DONTWAIT);
        if (n <= 0)
            return NULL;
        length += (gsize)n;
        if (memchr(text, '\0', length) != NULL)
            return g_steal_pointer(&text);
    }
    return NULL;
}

static void
send_message(const PrekillHook *hook, int fd, const char *text)
{
    for (gsize left = strlen(text) + 1; left > 0;) {
        gssize n = wait_for(hook, fd, POLLOUT, CALL_MS) ? send(fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
        if (n < 0)
            return;
        text += n;
        left -= (gsize)n;
    }
}

/* FALSE: there is none, or the connection is of no more use. */
static gboolean
answer_call(const PrekillHook *hook, int fd)
{
    g_autofree char *text = read_message(hook, fd);
    g_autofree char *answer = NULL;
    g_autofree char *group = text != NULL ? prekill_parse(text, &answer) : NULL;
    if (group != NULL)
        hook->notify(group, hook->data);
    else if (answer == NULL)
        return FALSE;
    send_message(hook, fd, group != NULL ? "{\"parameters\":{}}" : answer);
    return TRUE;
}

static void
answer_calls(gpointer data, gpointer hook)
{
    const int fd = GPOINTER_TO_INT(data) - 1;
    while (answer_call(hook, fd))
        continue;
    close(fd);
}

/* Waits at most MS milliseconds. TRUE: the hook should end. */
static gboolean
should_end_within(const PrekillHook *hook, int ms)
{
    struct pollfd stop = {.fd = hook->stop, .events = POLLIN};
    return poll(&stop, 1, ms) > 0;
}

static gpointer
run(gpointer data)
{
    PrekillHook *hook = data;
    while (wait_for(hook, hook->listener, POLLIN, -1)) {
        int fd = accept4(hook->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && should_end_within(hook, AGAIN_MS))
            break;
        if (fd < 0)
            continue;
        if (g_thread_pool_unprocessed(hook->callers) < CALLS_MAX)
            g_thread_pool_push(hook->callers, GINT_TO_POINTER(fd + 1), NULL);
        else
            close(fd);
    }
    return NULL;
}

/* ---- the socket ---- */

/* Replaces a socket at PATH, but no other file. */
static gboolean
bind_socket(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return FALSE;
    }
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(path);
    /* bind() creates the file with the mode of the descriptor. */
    return fchmod(fd, S_IRUSR | S_IWUSR) == 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           listen(fd, WAITING) == 0;
}

PrekillHook *
prekill_hook_new(const char *path, GError **error)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int stop = fd >= 0 ? eventfd(0, EFD_CLOEXEC) : -1;
    if (stop < 0 || !bind_socket(fd, path)) {
        const int code = errno;
        g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FILE, "cannot listen at %s: %s; its directory must exist",
                    path, g_strerror(code));
        if (fd >= 0)
            close(fd);
        if (stop >= 0)
            close(stop);
        return NULL;
    }
    PrekillHook *hook = g_new(PrekillHook, 1);
    *hook = (PrekillHook){.path = g_strdup(path), .listener = fd, .stop = stop};
    return hook;
}

void
prekill_hook_begin(PrekillHook *hook, PrekillNotify notify, gpointer data)
{
    hook->notify = notify;
    hook->data = data;
    hook->callers = g_thread_pool_new(answer_calls, hook, CALLS_AT_ONCE, FALSE, NULL);
    hook->thread = g_thread_new("prekill", run, hook);
}

void
prekill_hook_end(PrekillHook *hook)
{
    const guint64 one = 1;
    if (hook->thread == NULL || write(hook->stop, &one, sizeof(one)) != sizeof(one))
        return;
    g_thread_join(g_steal_pointer(&hook->thread));
    g_thread_pool_free(g_steal_pointer(&hook->callers), FALSE, TRUE); /* the waits of its threads have ended */
}

void
prekill_hook_free(PrekillHook *hook)
{
    if (hook == NULL)
        return;
    prekill_hook_end(hook);
    reach_unlink(hook->path);
    close(hook->listener);
    close(hook->stop);
    g_free(hook->path);
    g_free(hook);
}
