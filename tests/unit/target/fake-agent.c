/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-agent.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const size_t reply_sizes[] = {
    [WIRE_OP_HELLO] = sizeof(WireHelloReply), [WIRE_OP_CTL] = sizeof(WireCtlReply),
    [WIRE_OP_DUMP] = sizeof(WireOutputReply), [WIRE_OP_STATS] = sizeof(WireOutputReply),
    [WIRE_OP_LEASE] = sizeof(WireLeaseReply), [WIRE_OP_SAMPLE] = sizeof(WireSampleReply),
    [WIRE_OP_LEAVE] = sizeof(WireReply),
};

static gboolean
receive(int fd, FakeRequest *request)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = request->bytes, .iov_len = sizeof(request->bytes)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    request->descriptor = -1;
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) <= 0)
        return FALSE;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(&request->descriptor, CMSG_DATA(header), sizeof(int));
    return TRUE;
}

static gboolean
send_with(int fd, gpointer bytes, gsize size, int descriptor)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.align = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    memcpy(CMSG_DATA(&control.align), &descriptor, sizeof(descriptor));
    const gboolean sent = sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)size;
    close(descriptor);
    return sent;
}

static gboolean
send_reply(FakeAgent *fake, int fd, FakeReply *reply, gsize size)
{
    const int along = fake->along;
    fake->along = -1;
    const gboolean apart = along < 0 || fake->apart;
    gboolean sent = apart ? send(fd, reply, size, MSG_NOSIGNAL) == (ssize_t)size : send_with(fd, reply, size, along);
    if (along >= 0 && apart)
        sent = send_with(fd, NULL, 0, along) && sent;
    if (along >= 0)
        g_async_queue_push(fake->sent, fake);
    return sent;
}

/* FALSE: this connection is over. */
static gboolean
answer_one(FakeAgent *fake, int fd)
{
    FakeRequest request;
    FakeReply reply = {0};
    if (!receive(fd, &request))
        return FALSE;
    reply.header = request.header;
    reply.header.size = (uint32_t)reply_sizes[request.header.op];
    ssize_t size = fake->answer(&request, &reply, fake->data);
    if (request.descriptor >= 0)
        close(request.descriptor);
    /* A client that has lost its patience is gone. */
    return size == FAKE_SILENT || (size > 0 && send_reply(fake, fd, &reply, (gsize)size));
}

static gpointer
serve(gpointer data)
{
    FakeAgent *fake = data;
    int fd;
    while ((fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        while (answer_one(fake, fd))
            ;
        close(fd);
    }
    return NULL;
}

static void
listen_on(FakeAgent *fake)
{
    /* Through /proc/self/fd the address stays short however long the path is. */
    g_autofree char *directory = g_path_get_dirname(fake->path);
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/agent.sock", fd);
    fake->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_cmpint(listen(fake->listener, 4), ==, 0);
    close(fd);
}

FakeAgent *
fake_agent_new(const char *subdirectory, FakeAnswer answer, gpointer data)
{
    FakeAgent *fake = g_new0(FakeAgent, 1);
    fake->directory = g_dir_make_tmp("jescope-XXXXXX", NULL);
    g_assert_nonnull(fake->directory);
    g_autofree char *below = g_build_filename(fake->directory, subdirectory, NULL);
    g_assert_cmpint(g_mkdir_with_parents(below, 0700), ==, 0);
    fake->path = g_build_filename(below, "agent.sock", NULL);
    fake->answer = answer;
    fake->data = data;
    fake->along = -1;
    fake->sent = g_async_queue_new();
    listen_on(fake);
    fake->thread = g_thread_new("fake-agent", serve, fake);
    return fake;
}

/* From the socket up to the directory of its own. */
static void
remove_upwards(const FakeAgent *fake)
{
    g_remove(fake->path);
    g_autofree char *at = g_path_get_dirname(fake->path);
    while (strlen(at) >= strlen(fake->directory)) {
        g_rmdir(at);
        char *parent = g_path_get_dirname(at);
        g_free(at);
        at = parent;
    }
}

void
fake_agent_await(FakeAgent *fake)
{
    g_async_queue_pop(fake->sent);
}

void
fake_agent_free(FakeAgent *fake)
{
    shutdown(fake->listener, SHUT_RDWR);
    g_thread_join(fake->thread);
    close(fake->listener);
    remove_upwards(fake);
    g_async_queue_unref(fake->sent);
    g_free(fake->directory);
    g_free(fake->path);
    g_free(fake);
}

ssize_t
fake_answer_well(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    if (request->header.op != WIRE_OP_HELLO) {
        reply->header.size = sizeof(WireReply);
        reply->reply.status = WIRE_STATUS_UNKNOWN_OP;
        return sizeof(WireReply);
    }
    g_assert_cmpuint(request->hello.version_max, ==, WIRE_VERSION_MAX);
    reply->hello.version = WIRE_VERSION_MAX;
    reply->hello.flags = WIRE_FLAG_SERVES_MALLOC | WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF | WIRE_FLAG_CONFIG_STATS;
    reply->hello.pid = getpid();
    g_strlcpy(reply->hello.name, "victim", sizeof(reply->hello.name));
    g_strlcpy(reply->hello.jemalloc_version, "5.3.0", sizeof(reply->hello.jemalloc_version));
    return sizeof(WireHelloReply);
}
