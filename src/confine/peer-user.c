/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/peer-user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATIENCE_S = 1, /* seconds; the kernel answers at once */
    ANSWER_MAX = 4096,
};

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} End;

typedef struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
} Question;

/* The user id of users without a number in this user namespace. */
static uid_t
read_overflow_uid(void)
{
    g_autofree char *text = NULL;
    guint64 value = 65534;
    if (g_file_get_contents("/proc/sys/kernel/overflowuid", &text, NULL, NULL))
        g_ascii_string_to_unsigned(g_strchomp(text), 10, 0, G_MAXUINT32, &value, NULL);
    return (uid_t)value;
}

/* Whether every user has a number here. */
static gboolean
is_first_user_namespace(void)
{
    g_autofree char *text = NULL;
    guint64 inner = 1, outer = 1, count = 0;
    if (!g_file_get_contents("/proc/self/uid_map", &text, NULL, NULL))
        return FALSE;
    char *at = text;
    inner = g_ascii_strtoull(at, &at, 10);
    outer = g_ascii_strtoull(at, &at, 10);
    count = g_ascii_strtoull(at, &at, 10);
    return inner == 0 && outer == 0 && count == G_MAXUINT32;
}

static gboolean
is_ambiguous(uid_t uid)
{
    return uid == read_overflow_uid() && !is_first_user_namespace();
}

static gboolean
get_ends(int fd, End *ours, End *theirs)
{
    socklen_t ours_size = sizeof(*ours), theirs_size = sizeof(*theirs);
    return getsockname(fd, &ours->any, &ours_size) == 0 && getpeername(fd, &theirs->any, &theirs_size) == 0 &&
           ours->any.sa_family == theirs->any.sa_family;
}

static const void *
v4_behind(const End *end)
{
    return &end->v6.sin6_addr.s6_addr[12];
}

/* Requests the socket with the local address THEIRS. An IPv4 client of an IPv6 socket has an IPv4 socket. */
static void
describe(const End *ours, const End *theirs, struct inet_diag_req_v2 *request)
{
    gboolean v4 = ours->any.sa_family == AF_INET;
    gboolean mapped = !v4 && IN6_IS_ADDR_V4MAPPED(&theirs->v6.sin6_addr);
    *request = (struct inet_diag_req_v2){.sdiag_protocol = IPPROTO_TCP, .idiag_states = G_MAXUINT32};
    request->sdiag_family = v4 || mapped ? AF_INET : AF_INET6;
    /* The port has the same offset in both families. */
    request->id.idiag_sport = theirs->v4.sin_port;
    request->id.idiag_dport = ours->v4.sin_port;
    request->id.idiag_cookie[0] = request->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (v4 || mapped) {
        memcpy(request->id.idiag_src, v4 ? &theirs->v4.sin_addr : v4_behind(theirs), sizeof(struct in_addr));
        memcpy(request->id.idiag_dst, v4 ? &ours->v4.sin_addr : v4_behind(ours), sizeof(struct in_addr));
    } else {
        memcpy(request->id.idiag_src, &theirs->v6.sin6_addr, sizeof(struct in6_addr));
        memcpy(request->id.idiag_dst, &ours->v6.sin6_addr, sizeof(struct in6_addr));
    }
}

/* A thread's netlink socket, which stays open: opening one takes as long as a question. */
typedef struct {
    int fd;
    pid_t pid; /* of the process that opened it: a child has one of its own */
    guint32 sequence;
} Netlink;

static void
close_netlink(gpointer data)
{
    Netlink *netlink = data;
    if (netlink->pid == getpid()) /* in a child, the number may be another descriptor's by now */
        close(netlink->fd);
    g_free(netlink);
}

static GPrivate sockets = G_PRIVATE_INIT(close_netlink);

static Netlink *
open_netlink(void)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    Netlink *netlink = g_private_get(&sockets);
    if (netlink != NULL && netlink->pid == getpid())
        return netlink;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    netlink = g_new(Netlink, 1);
    *netlink = (Netlink){fd, getpid(), 0};
    g_private_replace(&sockets, netlink);
    return netlink;
}

typedef union {
    struct nlmsghdr header;
    char bytes[ANSWER_MAX];
} Reply;

/* Sends QUESTION to the kernel and receives REPLY. Returns its size in bytes, or -1 if there is no reply to QUESTION.
 */
static ssize_t
exchange(const Netlink *netlink, const Question *question, Reply *reply)
{
    struct sockaddr_nl from;
    socklen_t from_size = sizeof(from);
    const ssize_t sent = send(netlink->fd, question, sizeof(*question), 0);
    const ssize_t size = sent == sizeof(*question)
                             ? recvfrom(netlink->fd, reply, sizeof(*reply), 0, (struct sockaddr *)&from, &from_size)
                             : -1;
    return size >= (ssize_t)sizeof(reply->header) && from.nl_pid == 0 &&
                   reply->header.nlmsg_seq == question->header.nlmsg_seq
               ? size
               : -1;
}

static gboolean
ask(const struct inet_diag_req_v2 *request, struct inet_diag_msg *answer)
{
    Netlink *netlink = open_netlink();
    Reply reply;
    if (netlink == NULL)
        return FALSE;
    const Question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST,
                   .nlmsg_seq = ++netlink->sequence},
        .request = *request,
    };
    const ssize_t size = exchange(netlink, &question, &reply);
    if (size < 0)
        g_private_replace(&sockets, NULL); /* a late answer would be taken for the next one */
    if (size < (ssize_t)NLMSG_LENGTH(sizeof(*answer)) || reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        reply.header.nlmsg_len < NLMSG_LENGTH(sizeof(*answer)))
        return FALSE;
    memcpy(answer, NLMSG_DATA(&reply.header), sizeof(*answer));
    return TRUE;
}

/* Whether the socket is connected and open in a process. */
static gboolean
has_owner(const struct inet_diag_msg *socket)
{
    static const guint8 connected[] = {TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2};
    return socket->idiag_inode != 0 && memchr(connected, socket->idiag_state, sizeof(connected)) != NULL;
}

static gboolean
is_same_socket(const struct inet_diag_msg *socket, const struct inet_diag_req_v2 *request)
{
    return socket->idiag_family == request->sdiag_family && socket->id.idiag_sport == request->id.idiag_sport &&
           socket->id.idiag_dport == request->id.idiag_dport &&
           memcmp(socket->id.idiag_src, request->id.idiag_src, sizeof(request->id.idiag_src)) == 0 &&
           memcmp(socket->id.idiag_dst, request->id.idiag_dst, sizeof(request->id.idiag_dst)) == 0;
}

static gboolean
is_connected(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

static gboolean
find_connected(const End *ours, const End *theirs, uid_t *uid)
{
    struct inet_diag_req_v2 request;
    struct inet_diag_msg answer;
    describe(ours, theirs, &request);
    if (!ask(&request, &answer) || !is_same_socket(&answer, &request) || !has_owner(&answer) ||
        is_ambiguous(answer.idiag_uid))
        return FALSE;
    *uid = answer.idiag_uid;
    return TRUE;
}

gboolean
peer_user_find(int fd, uid_t *uid)
{
    End ours, theirs;
    uid_t found;
    if (!get_ends(fd, &ours, &theirs) || !find_connected(&ours, &theirs, &found) || !is_connected(fd))
        return FALSE;
    *uid = found;
    return TRUE;
}

/* ---- ends as text ---- */

static gboolean
parse_end(const char *address, guint16 port, End *end)
{
    *end = (End){0};
    if (inet_pton(AF_INET, address, &end->v4.sin_addr) == 1)
        end->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, address, &end->v6.sin6_addr) == 1)
        end->any.sa_family = AF_INET6;
    else
        return FALSE;
    end->v4.sin_port = htons(port);
    return TRUE;
}

static gboolean
parse_ends(const PeerEnds *ends, End *ours, End *theirs)
{
    return parse_end(ends->ours, ends->our_port, ours) && parse_end(ends->theirs, ends->their_port, theirs) &&
           ours->any.sa_family == theirs->any.sa_family;
}

gboolean
peer_ends_are_loopback(const PeerEnds *ends)
{
    End theirs;
    if (!parse_end(ends->theirs, ends->their_port, &theirs))
        return FALSE;
    if (theirs.any.sa_family == AF_INET)
        return (ntohl(theirs.v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&theirs.v6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&theirs.v6.sin6_addr) && *(const guint8 *)v4_behind(&theirs) == IN_LOOPBACKNET);
}

gboolean
peer_user_find_listener(const PeerEnds *ends, uid_t *uid)
{
    End ours, theirs;
    struct inet_diag_req_v2 request;
    struct inet_diag_msg answer;
    if (!parse_ends(ends, &ours, &theirs))
        return FALSE;
    describe(&ours, &theirs, &request);
    request.id.idiag_dport = 0;
    memset(request.id.idiag_dst, 0, sizeof(request.id.idiag_dst));
    if (!ask(&request, &answer) || answer.idiag_state != TCP_LISTEN || answer.idiag_inode == 0 ||
        answer.id.idiag_sport != request.id.idiag_sport || is_ambiguous(answer.idiag_uid))
        return FALSE;
    *uid = answer.idiag_uid;
    return TRUE;
}

gboolean
peer_user_find_between(const PeerEnds *ends, uid_t *uid)
{
    End ours, theirs;
    return parse_ends(ends, &ours, &theirs) && find_connected(&ours, &theirs, uid);
}
