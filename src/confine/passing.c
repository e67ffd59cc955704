/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/passing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} Control;

gboolean
parcel_send(int socket, const Parcel *parcel)
{
    Control control = {0};
    struct iovec parts[] = {{parcel->head, parcel->head_length}, {parcel->body, parcel->body_length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = G_N_ELEMENTS(parts)};
    if (parcel->fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(parcel->fd)),
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS,
        };
        memcpy(CMSG_DATA(&control.header), &parcel->fd, sizeof(parcel->fd));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)(parcel->head_length + parcel->body_length);
}

gboolean
parcel_receive(int socket, Parcel *parcel)
{
    Control control = {0};
    struct iovec parts[] = {{parcel->head, parcel->head_length}, {parcel->body, parcel->body_length}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = G_N_ELEMENTS(parts),
                             .msg_control = control.bytes,
                             /* CMSG_SPACE() has room for a second descriptor, which would leak. */
                             .msg_controllen = CMSG_LEN(sizeof(parcel->fd))};
    ssize_t got;
    do {
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    parcel->fd = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (got >= 0 && header != NULL && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(parcel->fd)))
        memcpy(&parcel->fd, CMSG_DATA(header), sizeof(parcel->fd));
    if (got < (ssize_t)parcel->head_length || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        if (parcel->fd >= 0)
            close(parcel->fd);
        parcel->fd = -1;
        return FALSE;
    }
    parcel->body_length = (gsize)got - parcel->head_length;
    return TRUE;
}
