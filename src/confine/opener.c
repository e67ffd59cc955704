/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/opener.h"

#include "confine/passing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A message over the SOCK_SEQPACKET socket: a header followed by text. */
typedef struct {
    guint64 subject;
    guint32 kind; /* of an answer: errno */
    guint32 n_text;
} Head;

static OpenerHandler *handlers[OPENER_N_KINDS];
static int remote = -1;
static GMutex turn; /* one exchange at a time */

void
opener_handle(OpenerKind kind, OpenerHandler *handler)
{
    handlers[kind] = handler;
}

void
opener_ask_at(int socket)
{
    remote = socket;
}

static gboolean
send_message(int socket, const Head *head, const char *text, int fd)
{
    const Parcel parcel = {
        .head = (gpointer)(guintptr)head,
        .head_length = sizeof(*head),
        .body = (gpointer)(guintptr)text,
        .body_length = head->n_text,
        .fd = fd,
    };
    return parcel_send(socket, &parcel);
}

/* text has room for OPENER_MAX_TEXT bytes and is terminated. */
static gboolean
receive_message(int socket, Head *head, char *text, int *fd)
{
    Parcel parcel = {.head = head, .head_length = sizeof(*head), .body = text, .body_length = OPENER_MAX_TEXT - 1};
    gboolean received = parcel_receive(socket, &parcel);
    *fd = parcel.fd;
    if (received && parcel.body_length != head->n_text) {
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
        return FALSE;
    }
    if (received)
        text[head->n_text] = '\0';
    return received;
}

static int
ask_here(const OpenerQuestion *question, OpenerAnswer *answer)
{
    *answer = (OpenerAnswer){.fd = -1};
    return handlers[question->kind] != NULL ? handlers[question->kind](question, answer) : ENOSYS;
}

int
opener_ask(const OpenerQuestion *question, OpenerAnswer *answer)
{
    gsize length = strlen(question->text);
    if (length >= OPENER_MAX_TEXT)
        return ENAMETOOLONG;
    if (remote < 0)
        return ask_here(question, answer);
    Head head = {.subject = question->subject, .kind = question->kind, .n_text = (guint32)length};
    *answer = (OpenerAnswer){.fd = -1};
    g_mutex_lock(&turn);
    gboolean done = send_message(remote, &head, question->text, question->fd) &&
                    receive_message(remote, &head, answer->text, &answer->fd);
    g_mutex_unlock(&turn);
    return done ? (int)head.kind : EIO;
}

gboolean
opener_answer_one(int socket)
{
    Head head;
    char text[OPENER_MAX_TEXT];
    OpenerAnswer answer = {.fd = -1};
    int fd;
    if (!receive_message(socket, &head, text, &fd))
        return FALSE;
    const OpenerQuestion question = {.kind = head.kind, .subject = head.subject, .text = text, .fd = fd};
    int code = head.kind < OPENER_N_KINDS && strlen(text) == head.n_text ? ask_here(&question, &answer) : EINVAL;
    head = (Head){.kind = (guint32)code, .n_text = (guint32)strlen(answer.text)};
    gboolean sent = send_message(socket, &head, answer.text, answer.fd);
    if (answer.fd >= 0)
        close(answer.fd);
    if (fd >= 0)
        close(fd);
    return sent;
}
