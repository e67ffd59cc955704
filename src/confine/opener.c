/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/opener.h"

#include "confine/passing.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A message over the SOCK_SEQPACKET socket: a header followed by text. */
typedef struct {
    guint64 subject;
    guint32 kind; /* of an answer: errno */
    guint32 n_text;
} Head;

static OpenerHandler *handlers[OPENER_N_KINDS];
static int remote = -1;
static int remote_file = -1; /* for contents */
static GMutex turn;          /* one exchange at a time */

void
opener_handle(OpenerKind kind, OpenerHandler *handler)
{
    handlers[kind] = handler;
}

void
opener_ask_at(int socket, int file)
{
    remote = socket;
    remote_file = file;
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

/* Replaces what FILE contains. */
static gboolean
fill(int file, const GByteArray *content)
{
    return file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, content->data, content->len, 0) == (gssize)content->len;
}

static int
ask_here_with_content(const OpenerQuestion *question, OpenerAnswer *answer)
{
    OpenerQuestion whole = *question;
    whole.fd = memfd_create("jescope-content", MFD_CLOEXEC);
    *answer = (OpenerAnswer){.fd = -1};
    int failure = fill(whole.fd, question->content) ? ask_here(&whole, answer) : EIO;
    if (whole.fd >= 0)
        close(whole.fd);
    return failure;
}

static int
ask_there(const OpenerQuestion *question, OpenerAnswer *answer)
{
    const gboolean filled = question->content != NULL;
    Head head = {.subject = question->subject, .kind = question->kind, .n_text = (guint32)strlen(question->text)};
    *answer = (OpenerAnswer){.fd = -1};
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&turn);
    const gboolean done = (!filled || fill(remote_file, question->content)) &&
                          send_message(remote, &head, question->text, filled ? remote_file : -1) &&
                          receive_message(remote, &head, answer->text, &answer->fd);
    return done ? (int)head.kind : EIO;
}

int
opener_ask(const OpenerQuestion *question, OpenerAnswer *answer)
{
    if (strlen(question->text) >= OPENER_MAX_TEXT)
        return ENAMETOOLONG;
    if (remote >= 0)
        return ask_there(question, answer);
    return question->content != NULL ? ask_here_with_content(question, answer) : ask_here(question, answer);
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
