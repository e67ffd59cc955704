/* SPDX-License-Identifier: Apache-2.0 */
#include "client/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRANGER = 23456, SYSTEM = 998 };

typedef struct {
    pid_t process; /* 0: this one */
    int port, fd;  /* of our connection to it */
    guint16 own_port;
} Server;

/* Listens as USER, and accepts connections if ACCEPTS. */
static void
begin(Server *server, int family, uid_t user, gboolean accepts)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
    int ready[2];
    char byte = 0;
    g_assert_cmpint(pipe(ready), ==, 0);
    *server = (Server){.process = fork()};
    if (server->process == 0) {
        if (user != geteuid() && setuid(user) != 0)
            _exit(1);
        const int listener = socket(family, SOCK_STREAM, 0);
        if (bind(listener, address, size) != 0 || listen(listener, 4) != 0 ||
            getsockname(listener, address, &size) != 0 || write(ready[1], &v4.sin_port, 2) != 2 ||
            write(ready[1], &v6.sin6_port, 2) != 2)
            _exit(1);
        while (accepts && accept(listener, NULL, NULL) >= 0)
            if (write(ready[1], &byte, 1) != 1)
                _exit(1);
        pause();
        _exit(0);
    }
    guint16 ports[2];
    g_assert_cmpint(read(ready[0], ports, 2), ==, 2);
    g_assert_cmpint(read(ready[0], ports + 1, 2), ==, 2);
    v4.sin_port = ports[0];
    v6.sin6_port = ports[1];
    server->port = ntohs(family == AF_INET ? ports[0] : ports[1]);
    server->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(connect(server->fd, address, size), ==, 0);
    g_assert_cmpint(getsockname(server->fd, address, &size), ==, 0);
    server->own_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
    if (accepts)
        g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    close(ready[0]);
    close(ready[1]);
}

static void
end(Server *server)
{
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
    close(server->fd);
}

static gboolean
may_have(const Server *server, int family, Loopback *loopback)
{
    const char *address = family == AF_INET ? "127.0.0.1" : "::1";
    return loopback_may_have(loopback, address, server->port, address, server->own_port);
}

/* Whether or not he has accepted the connection: the kernel reports the user of one that waits as root. */
static void
test_stranger(void)
{
    static const int families[] = {AF_INET, AF_INET6};
    if (geteuid() != 0) {
        g_test_skip("needs root, to become another user");
        return;
    }
    for (guint i = 0; i < 4; i++) {
        Server server;
        Loopback loopback = {.named = LOOPBACK_ANY_SYSTEM_USER}, named = {.named = STRANGER};
        begin(&server, families[i / 2], STRANGER, i % 2 == 0);
        g_assert_false(may_have(&server, families[i / 2], &loopback));
        g_assert_true(loopback.is_refused);
        g_assert_cmpuint(loopback.stranger, ==, STRANGER);
        g_autofree char *text = loopback_refusal(&loopback, "http://127.0.0.1:4040", "use https");
        g_assert_cmpstr(text, ==,
                        "nothing was sent to http://127.0.0.1:4040: the listener belongs to user 23456, who may not be "
                        "trusted with it; use https");
        g_assert_true(may_have(&server, families[i / 2], &named));
        end(&server);
    }
}

static void
test_trusted(void)
{
    Server server;
    Loopback loopback = {.named = LOOPBACK_ANY_SYSTEM_USER};
    begin(&server, AF_INET, geteuid(), TRUE);
    g_assert_true(may_have(&server, AF_INET, &loopback));
    end(&server);
    if (geteuid() != 0)
        return;
    Loopback named = {.named = STRANGER};
    begin(&server, AF_INET, SYSTEM, TRUE);
    g_assert_true(may_have(&server, AF_INET, &loopback));
    g_assert_false(may_have(&server, AF_INET, &named));
    end(&server);
}

/* Nothing is known about its users. */
static void
test_elsewhere(void)
{
    Loopback loopback = {.named = LOOPBACK_ANY_SYSTEM_USER};
    g_assert_true(loopback_may_have(&loopback, "192.0.2.1", 4040, "192.0.2.2", 40000));
    g_assert_true(loopback_may_have(&loopback, "2001:db8::1", 4040, "2001:db8::2", 40000));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/loopback/stranger", test_stranger);
    g_test_add_func("/loopback/trusted", test_trusted);
    g_test_add_func("/loopback/elsewhere", test_elsewhere);
    return g_test_run();
}
