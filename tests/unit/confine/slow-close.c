/* SPDX-License-Identifier: Apache-2.0 */
#include "slow-close.h"

#include <glib.h>

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int
slow_close_open(int *other_end)
{
    static const char much[64 * 1024];
    const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
              fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_no_errno(bind(listener, (struct sockaddr *)&address, sizeof(address)));
    g_assert_no_errno(listen(listener, 1));
    g_assert_no_errno(getsockname(listener, (struct sockaddr *)&address, &size));
    g_assert_no_errno(connect(fd, (struct sockaddr *)&address, size));
    *other_end = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    while (send(fd, much, sizeof(much), MSG_DONTWAIT) > 0)
        continue;
    g_assert_cmpint(errno, ==, EAGAIN);
    g_assert_no_errno(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
    return fd;
}
