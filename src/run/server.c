/* SPDX-License-Identifier: Apache-2.0 */
#include "run/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    FIRST_DESCRIPTOR = 3, /* number of the first passed descriptor (sd_listen_fds(3)) */
};

struct RunServer {
    char *program; /* path of this program */
    char *config;
    GArray *sockets;  /* of int */
    GPtrArray *files; /* of char *: unix sockets to remove */
    int process;      /* pidfd; -1: not running */
};

static gboolean
add_socket(RunServer *server, const Address *address, GError **error)
{
    int fd = address_listen(address, error);
    if (fd < 0)
        return FALSE;
    g_array_append_val(server->sockets, fd);
    if (address_is_unix(address))
        g_ptr_array_add(server->files, g_strdup(address->socket.local.sun_path));
    return TRUE;
}

RunServer *
run_server_new(const GArray *addresses, const char *config, GError **error)
{
    g_autoptr(RunServer) server = g_new0(RunServer, 1);
    /* Uses the path, whose name `ps` shows, unless the file has been replaced. */
    server->program = g_file_read_link("/proc/self/exe", NULL);
    server->config = g_strdup(config);
    server->sockets = g_array_new(FALSE, FALSE, sizeof(int));
    server->files = g_ptr_array_new_with_free_func(g_free);
    server->process = -1;
    for (guint i = 0; i < addresses->len; i++)
        if (!add_socket(server, &g_array_index(addresses, Address, i), error))
            return NULL;
    return g_steal_pointer(&server);
}

static void
close_sockets(RunServer *server)
{
    for (guint i = 0; i < server->sockets->len; i++)
        close(g_array_index(server->sockets, int, i));
    g_array_set_size(server->sockets, 0);
}

void
run_server_free(RunServer *server)
{
    close_sockets(server);
    for (guint i = 0; i < server->files->len; i++)
        unlink(server->files->pdata[i]);
    if (server->process >= 0)
        close(server->process);
    g_array_unref(server->sockets);
    g_ptr_array_unref(server->files);
    g_free(server->program);
    g_free(server->config);
    g_free(server);
}

/* Moves the sockets to the descriptors where they are expected, after moving them out of each other's way. */
static void
place_sockets(const GArray *sockets)
{
    int beyond = FIRST_DESCRIPTOR + (int)sockets->len;
    for (guint i = 0; i < sockets->len; i++) {
        int *fd = &g_array_index(sockets, int, i);
        *fd = fcntl(*fd, F_DUPFD_CLOEXEC, beyond);
    }
    for (guint i = 0; i < sockets->len; i++)
        dup2(g_array_index(sockets, int, i), FIRST_DESCRIPTOR + (int)i);
}

/* Runs in the child, which gets its own process group, since the terminal's signals are for the program, and SIGTERM
 * when its parent ends. */
static void
become_server(const RunServer *server, pid_t program, pid_t parent)
{
    char count[16], self[16], target[16];
    const char *argv[] = {"jescope", "serve", target, NULL, NULL, NULL};
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    place_sockets(server->sockets);
    g_snprintf(count, sizeof(count), "%u", server->sockets->len);
    g_snprintf(self, sizeof(self), "%d", (int)getpid());
    g_snprintf(target, sizeof(target), "%d", (int)program);
    setenv("LISTEN_FDS", count, TRUE);
    setenv("LISTEN_PID", self, TRUE);
    unsetenv("NOTIFY_SOCKET"); /* the program itself reports readiness */
    if (server->config != NULL) {
        argv[3] = "--config";
        argv[4] = server->config;
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (server->program != NULL)
        execv(server->program, (char **)(gsize)argv);
    execv("/proc/self/exe", (char **)(gsize)argv);
    _exit(EXIT_FAILURE);
}

gboolean
run_server_start(RunServer *server, pid_t program, GError **error)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become_server(server, program, parent);
    server->process = child > 0 ? pidfd_open(child, 0) : -1;
    if (server->process < 0)
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FORK, "cannot serve the program: %s", g_strerror(errno));
    close_sockets(server);
    return server->process >= 0;
}

void
run_server_stop(RunServer *server)
{
    if (server->process < 0)
        return;
    struct pollfd end = {.fd = server->process, .events = POLLIN};
    pidfd_send_signal(server->process, SIGTERM, NULL, 0);
    if (poll(&end, 1, RUN_SERVER_STOP_MS) == 0)
        pidfd_send_signal(server->process, SIGKILL, NULL, 0);
}
