/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/channel.h"
#include "confine/passing.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
send_empty_with(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    const struct msghdr message = {.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    g_assert_cmpint(sendmsg(socket, &message, MSG_NOSIGNAL), ==, 0);
}

static void
receive_with_channel(int socket)
{
    char bytes[8];
    ChannelMessage message = {.bytes = bytes, .size = sizeof(bytes)};
    g_assert_false(channel_receive(socket, &message));
    g_assert_cmpuint(message.n_fds, ==, 0);
}

static void
receive_with_parcel(int socket)
{
    char head[8], body[8];
    Parcel parcel = {.head = head, .head_length = sizeof(head), .body = body, .body_length = sizeof(body)};
    g_assert_false(parcel_receive(socket, &parcel));
    g_assert_cmpint(parcel.fd, ==, -1);
}

/* A child that was taken over could use up our descriptors by them. */
static void
check_descriptors_of_an_empty_message(void (*receive)(int socket))
{
    int ends[2], pipes[2];
    char byte;
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    g_assert_no_errno(pipe2(pipes, O_CLOEXEC | O_NONBLOCK));
    send_empty_with(ends[0], pipes[1]);
    close(pipes[1]);
    receive(ends[1]);
    g_assert_cmpint(read(pipes[0], &byte, 1), ==, 0); /* no other end is open */
    close(pipes[0]);
    close(ends[0]);
    close(ends[1]);
}

static void
test_descriptors_of_an_empty_message_are_closed(void)
{
    check_descriptors_of_an_empty_message(receive_with_channel);
    check_descriptors_of_an_empty_message(receive_with_parcel);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/channel/descriptors-of-an-empty-message-are-closed",
                    test_descriptors_of_an_empty_message_are_closed);
    return g_test_run();
}
