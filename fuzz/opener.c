/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a compromised confined process to its parent. Input: messages of one byte of options, one byte of length,
 * and the bytes. Handlers echo their input, so that both directions are exercised.
 */
#include "confine/opener.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MESSAGE_DESCRIPTOR = 1 << 0,
    MESSAGE_SIZED = 1 << 1, /* its length is corrected, so that the rest is reached */
    MESSAGE_TWO = 1 << 2,   /* one descriptor more than any request has */
    MESSAGE_LONG = 1 << 3,  /* extended to the longest text, or one byte beyond it */
};

/* The beginning of a message as in opener.c. */
typedef struct {
    guint64 subject;
    guint32 kind;
    guint32 n_text;
} Head;

static int ends[2] = {-1, -1};
static int memory = -1;

static int
answer_same(const OpenerQuestion *question, OpenerAnswer *answer)
{
    g_assert_cmpuint(strlen(question->text), <, OPENER_MAX_TEXT);
    memcpy(answer->text, question->text, strlen(question->text) + 1);
    if (question->fd >= 0)
        answer->fd = dup(question->fd);
    return (int)(question->subject % 2 == 0 ? 0 : ENOENT);
}

static void
set_up(void)
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), ==, 0);
    memory = memfd_create("fuzz", MFD_CLOEXEC);
    g_assert_cmpint(memory, >=, 0);
    /* The last kind has no handler, as in a process that does not serve it. */
    for (OpenerKind kind = OPENER_FILE; kind < OPENER_CACHE_WRITE; kind++)
        opener_handle(kind, answer_same);
}

static void
say(const guint8 *bytes, gsize size, gsize descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    const int numbers[] = {memory, memory};
    struct iovec part = {(gpointer)(guintptr)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptors > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(descriptors * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), numbers, descriptors * sizeof(int));
    }
    g_assert_cmpint(sendmsg(ends[0], &message, MSG_NOSIGNAL), ==, (gssize)size);
}

/* Checks that the answer is complete, and closes its descriptor. */
static void
hear(void)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    static guint8 bytes[sizeof(Head) + OPENER_MAX_TEXT];
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    Head head;
    gssize got = recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC);
    g_assert_cmpint(got, >=, (gssize)sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    g_assert_cmpuint(sizeof(head) + head.n_text, ==, (gsize)got);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL) {
        int fd;
        g_assert_cmpuint(header->cmsg_len, ==, CMSG_LEN(sizeof(fd)));
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        close(fd);
    }
}

static void
exchange(guint8 options, const guint8 *bytes, gsize size)
{
    static guint8 message[sizeof(Head) + OPENER_MAX_TEXT + 1];
    memcpy(message, bytes, size);
    if ((options & MESSAGE_LONG) != 0 && size > sizeof(Head)) {
        gsize whole = sizeof(message) - 1 - (bytes[size - 1] & 1);
        memset(message + size, 'x', whole - size);
        size = whole;
    }
    if ((options & MESSAGE_SIZED) != 0 && size >= sizeof(Head)) {
        guint32 n_text = (guint32)(size - sizeof(Head));
        memcpy(message + offsetof(Head, n_text), &n_text, sizeof(n_text));
    }
    gsize descriptors = (options & MESSAGE_DESCRIPTOR) != 0 ? 1 : 0;
    say(message, size, (options & MESSAGE_TWO) != 0 ? 2 : descriptors);
    if (opener_answer_one(ends[1]))
        hear();
}

/* Checks that no received descriptor stays open. */
static void
check_descriptors(void)
{
    static int lowest = -1;
    int free_number = dup(memory);
    if (lowest < 0)
        lowest = free_number;
    g_assert_cmpint(free_number, ==, lowest);
    close(free_number);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (ends[0] < 0)
        set_up();
    check_descriptors();
    for (size_t at = 0; at + 2 <= size;) {
        size_t n = MIN((size_t)data[at + 1], size - at - 2);
        if (n > 0)
            exchange(data[at], data + at + 2, n);
        at += 2 + n;
    }
    check_descriptors();
    return 0;
}
