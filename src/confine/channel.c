/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(CHANNEL_MAX_FDS * sizeof(int))];
} Control;

gboolean
channel_send(int socket, const ChannelMessage *message)
{
    Control control = {0};
    struct iovec part = {message->bytes, message->size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (message->n_fds > 0) {
        gsize size = message->n_fds * sizeof(int);
        control.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), message->fds, size);
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(size);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)message->size;
}

void
channel_close_fds(ChannelMessage *message)
{
    for (guint i = 0; i < message->n_fds; i++)
        close(message->fds[i]);
    message->n_fds = 0;
}

static void
take_fds(struct msghdr *header, ChannelMessage *message)
{
    const struct cmsghdr *control = CMSG_FIRSTHDR(header);
    if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
        return;
    message->n_fds = (guint)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(message->fds, CMSG_DATA(control), message->n_fds * sizeof(int));
}

gboolean
channel_receive(int socket, ChannelMessage *message)
{
    Control control = {0};
    struct iovec part = {message->bytes, message->size};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t got;
    message->n_fds = 0;
    do {
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return FALSE;
    take_fds(&header, message); /* an empty message may have descriptors, too */
    if (got == 0) {
        channel_close_fds(message);
        errno = 0;
        return FALSE;
    }
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        channel_close_fds(message);
        errno = EMSGSIZE;
        return FALSE;
    }
    message->size = (gsize)got;
    return TRUE;
}
