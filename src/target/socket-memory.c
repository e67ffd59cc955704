/* SPDX-License-Identifier: Apache-2.0 */
#include "target/socket-memory.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 64 << 10,
};

/* The figure of a socket for sent data (enum of linux/sock_diag.h): TCP counts packets that may be retransmitted as
 * queued, and their copies in transit as allocated; the other protocols count all as allocated. */
static const struct {
    int family, protocol;
    int sent;
} kinds[] = {
    {AF_UNIX, 0, SK_MEMINFO_WMEM_ALLOC},
    {AF_INET, IPPROTO_TCP, SK_MEMINFO_WMEM_QUEUED},
    {AF_INET6, IPPROTO_TCP, SK_MEMINFO_WMEM_QUEUED},
    {AF_INET, IPPROTO_UDP, SK_MEMINFO_WMEM_ALLOC},
    {AF_INET6, IPPROTO_UDP, SK_MEMINFO_WMEM_ALLOC},
};

typedef struct {
    const GArray *inodes;
    int family, sent;
    guint64 bytes;
    gboolean done, failed;
} Dump;

static gboolean
is_wanted(const GArray *inodes, guint32 inode)
{
    guint low = 0, high = inodes->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(inodes, guint32, middle) < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return low < inodes->len && g_array_index(inodes, guint32, low) == inode;
}

/* Adds the figures of a socket: memory received, sent, and reserved. */
static void
add_figures(Dump *dump, struct rtattr *attribute)
{
    guint32 figures[SK_MEMINFO_VARS] = {0};
    memcpy(figures, RTA_DATA(attribute), MIN(sizeof(figures), RTA_PAYLOAD(attribute)));
    dump->bytes += (guint64)figures[SK_MEMINFO_RMEM_ALLOC] + figures[dump->sent] + figures[SK_MEMINFO_FWD_ALLOC] +
                   figures[SK_MEMINFO_OPTMEM] + figures[SK_MEMINFO_BACKLOG];
}

static void
take_socket(Dump *dump, struct nlmsghdr *message)
{
    gsize size = dump->family == AF_UNIX ? sizeof(struct unix_diag_msg) : sizeof(struct inet_diag_msg);
    int type = dump->family == AF_UNIX ? UNIX_DIAG_MEMINFO : INET_DIAG_SKMEMINFO;
    if (message->nlmsg_len < NLMSG_LENGTH(size))
        return;
    const struct unix_diag_msg *local = NLMSG_DATA(message);
    const struct inet_diag_msg *internet = NLMSG_DATA(message);
    if (!is_wanted(dump->inodes, dump->family == AF_UNIX ? local->udiag_ino : internet->idiag_inode))
        return;
    int left = (int)(message->nlmsg_len - NLMSG_LENGTH(size));
    struct rtattr *attribute = (struct rtattr *)(gpointer)((char *)NLMSG_DATA(message) + NLMSG_ALIGN(size));
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == type)
            add_figures(dump, attribute);
}

static void
take_messages(Dump *dump, struct nlmsghdr *message, guint length)
{
    for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length))
        if (message->nlmsg_type == NLMSG_DONE)
            dump->done = TRUE;
        else if (message->nlmsg_type == NLMSG_ERROR)
            dump->failed = TRUE;
        else if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY)
            take_socket(dump, message);
}

static gboolean
send_request(int fd, int family, int protocol)
{
    struct {
        struct nlmsghdr header;
        union {
            struct unix_diag_req local;
            struct inet_diag_req_v2 internet;
        };
    } request = {.header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    if (family == AF_UNIX) {
        request.local = (struct unix_diag_req){
            .sdiag_family = AF_UNIX, .udiag_states = G_MAXUINT32, .udiag_show = UDIAG_SHOW_MEMINFO};
        request.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.local));
    } else {
        request.internet = (struct inet_diag_req_v2){.sdiag_family = (guint8)family,
                                                     .sdiag_protocol = (guint8)protocol,
                                                     .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                                                     .idiag_states = G_MAXUINT32};
        request.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.internet));
    }
    return send(fd, &request, request.header.nlmsg_len, 0) == (ssize_t)request.header.nlmsg_len;
}

/* FALSE after the deadline. */
static gboolean
wait_for_answer(int fd, gint64 until_us)
{
    gint64 left_ms = (until_us - g_get_monotonic_time()) / 1000;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return left_ms > 0 && poll(&poll_fd, 1, (int)MIN(left_ms, G_MAXINT)) > 0;
}

static gboolean
read_dump(int fd, Dump *dump, gint64 until_us)
{
    g_autofree char *buffer = g_malloc(BUFFER_BYTES);
    while (!dump->done && !dump->failed && wait_for_answer(fd, until_us)) {
        ssize_t got = recv(fd, buffer, BUFFER_BYTES, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return FALSE;
        take_messages(dump, (struct nlmsghdr *)(gpointer)buffer, (guint)got);
    }
    return dump->done && !dump->failed;
}

static gboolean
shares_our_network(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/ns/net", (int)pid);
    g_autofree char *theirs = g_file_read_link(path, NULL);
    g_autofree char *ours = g_file_read_link("/proc/self/ns/net", NULL);
    return ours != NULL && g_strcmp0(ours, theirs) == 0;
}

guint64
socket_memory_read(pid_t pid, const GArray *inodes, gint64 until_us)
{
    guint64 bytes = 0;
    if (inodes->len == 0)
        return 0;
    if (!shares_our_network(pid))
        return G_MAXUINT64;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Dump dump = {.inodes = inodes, .family = kinds[i].family, .sent = kinds[i].sent};
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        gboolean read =
            fd >= 0 && send_request(fd, kinds[i].family, kinds[i].protocol) && read_dump(fd, &dump, until_us);
        if (fd >= 0)
            close(fd);
        /* A kernel without a protocol's module: its sockets are not counted. If Unix sockets are missing, the sum is
         * unknown. */
        if (!read && kinds[i].family == AF_UNIX)
            return G_MAXUINT64;
        bytes += read ? dump.bytes : 0;
    }
    return bytes;
}
