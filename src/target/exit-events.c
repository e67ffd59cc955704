/* SPDX-License-Identifier: Apache-2.0 */
#include "target/exit-events.h"

#include "confine/account.h"
#include "target/process.h"
#include "target/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ANSWERED = NLMSG_HDRLEN + offsetof(struct cn_msg, ack),
    EVENT = NLMSG_HDRLEN + sizeof(struct cn_msg), /* offset of the struct proc_event in a message */
    WHAT = EVENT + offsetof(struct proc_event, what),
    THREAD = EVENT + offsetof(struct proc_event, event_data.exit.process_pid),
    PROCESS = EVENT + offsetof(struct proc_event, event_data.exit.process_tgid),
    STATUS = EVENT + offsetof(struct proc_event, event_data.exit.exit_code),
    REFUSAL = EVENT + offsetof(struct proc_event, event_data.ack.err),
    MESSAGE_SIZE = EVENT + sizeof(struct proc_event),
    LAST_EVENT_MS = 50,    /* by which the last event of a process may follow its end, on a busy machine */
    QUEUE_BYTES = 1 << 20, /* for EXIT_EVENTS_MOST events, each a few hundred bytes in the kernel */
};

typedef struct {
    guint followers;
    gboolean received;
    int status;
    uid_t account;  /* (uid_t)-1: unknown */
    guint64 number; /* in order of their beginning */
} Followed;

/* Receives at once, on a thread of its own: each thread of a followed process may end with a status, and would fill the
 * queue for all others. */
typedef struct {
    int subscription;
    int end; /* an eventfd */
    GThread *thread;
} Receiver;

static struct {
    GMutex lock;
    GHashTable *followed; /* pid -> Followed; NULL: none */
    guint64 last_number;
    Receiver *receiver; /* NULL: none, or refused */
} events;

/* ---- messages ---- */

static guint32
word_at(const guint8 *message, gsize offset)
{
    guint32 word;
    memcpy(&word, message + offset, sizeof(word));
    return word;
}

/* Receives the next message of the kernel. FALSE if there is none. After an overflow of the queue (ENOBUFS), the queued
 * messages are still valid. */
static gboolean
receive(int subscription, guint8 message[MESSAGE_SIZE])
{
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t length = sizeof(from);
        const ssize_t got =
            recvfrom(subscription, message, MESSAGE_SIZE, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (got < 0 && errno != ENOBUFS && errno != EINTR)
            return FALSE;
        if (got == MESSAGE_SIZE && from.nl_pid == 0)
            return TRUE;
    }
}

static gboolean
request(int subscription, enum proc_cn_mcast_op operation, guint32 number)
{
    enum { SIZE = EVENT + sizeof(guint32) };
    const guint32 word = operation;
    const struct nlmsghdr header = {.nlmsg_len = SIZE, .nlmsg_type = NLMSG_DONE};
    const struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = number, .len = sizeof(word)};
    guint8 wanted[SIZE];
    memcpy(wanted, &header, NLMSG_HDRLEN);
    memcpy(wanted + NLMSG_HDRLEN, &message, sizeof(message));
    memcpy(wanted + EVENT, &word, sizeof(word));
    return send(subscription, wanted, SIZE, 0) == SIZE;
}

/* ---- filters, which see the words of a message as big-endian ---- */

#define LOAD(offset)                        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IF_EQUAL(value, skipped, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(value), skipped, otherwise)
#define SKIP(skipped)                       BPF_STMT(BPF_JMP | BPF_JA | BPF_K, skipped)
#define TAKE                                BPF_STMT(BPF_RET | BPF_K, MESSAGE_SIZE)
#define DROP                                BPF_STMT(BPF_RET | BPF_K, 0)

static gboolean
set_filter(int subscription, struct sock_filter *steps, gsize n)
{
    const struct sock_fprog program = {.len = (unsigned short)n, .filter = steps};
    return setsockopt(subscription, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

typedef struct {
    pid_t pid;
    uid_t account;
    guint64 number;
    guint rank; /* among those of its account */
} Choice;

static gint
by_account(gconstpointer a, gconstpointer b)
{
    const Choice *one = a, *other = b;
    if (one->account != other->account)
        return one->account < other->account ? -1 : 1;
    return one->number < other->number ? -1 : 1;
}

static gint
by_rank(gconstpointer a, gconstpointer b)
{
    const Choice *one = a, *other = b;
    return one->rank != other->rank ? (one->rank < other->rank ? -1 : 1) : by_account(a, b);
}

/* The processes for which there is room, of Choice: as many of each account, the first ones. */
static GArray *
choose_followed(void)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Choice));
    GHashTableIter iter;
    gpointer pid, value;
    g_hash_table_iter_init(&iter, events.followed);
    while (g_hash_table_iter_next(&iter, &pid, &value)) {
        const Followed *followed = value;
        const Choice choice = {GPOINTER_TO_INT(pid), followed->account, followed->number, 0};
        g_array_append_val(all, choice);
    }
    g_array_sort(all, by_account);
    for (guint i = 1; i < all->len; i++) {
        const Choice *before = &g_array_index(all, Choice, i - 1);
        Choice *choice = &g_array_index(all, Choice, i);
        choice->rank = choice->account == before->account ? before->rank + 1 : 0;
    }
    g_array_sort(all, by_rank);
    g_array_set_size(all, MIN(all->len, (guint)EXIT_EVENTS_MOST));
    return all;
}

/*
 * Accepts exits of the followed processes. The status of a thread that ends alone is 0, so it is used only for the
 * first thread. Threads that end with their process have its status, which is the final one if the first thread had
 * ended before.
 */
static void
filter_followed(void)
{
    if (events.receiver == NULL)
        return;
    const struct sock_filter head[] = {
        LOAD(WHAT),   IF_EQUAL(PROC_EVENT_EXIT, 1, 0), DROP, LOAD(STATUS), IF_EQUAL(0, 0, 2), LOAD(THREAD), SKIP(1),
        LOAD(PROCESS)};
    static const struct sock_filter take = TAKE, drop = DROP;
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));
    g_autoptr(GArray) chosen = choose_followed();
    g_array_append_vals(steps, head, G_N_ELEMENTS(head));
    for (guint i = 0; i < chosen->len; i++) {
        const struct sock_filter is_this = IF_EQUAL((guint32)g_array_index(chosen, Choice, i).pid, 0, 1);
        g_array_append_val(steps, is_this);
        g_array_append_val(steps, take);
    }
    g_array_append_val(steps, drop);
    if (!set_filter(events.receiver->subscription, (struct sock_filter *)(gpointer)steps->data, steps->len))
        g_debug("exits of processes are not received: %s", g_strerror(errno));
}

/* ---- the subscription ---- */

/* The kernel answers during the call that sends the request; requests from other namespaces get no answer. */
static gboolean
is_granted(int subscription, guint32 number)
{
    guint8 message[MESSAGE_SIZE];
    while (receive(subscription, message))
        if (word_at(message, WHAT) == PROC_EVENT_NONE && word_at(message, ANSWERED) == number + 1)
            return word_at(message, REFUSAL) == 0;
    return FALSE;
}

int
exit_events_subscribe(void)
{
    struct sock_filter answers[] = {LOAD(WHAT), IF_EQUAL(PROC_EVENT_NONE, 0, 1), TAKE, DROP}, none[] = {DROP};
    const struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const int size = QUEUE_BYTES;
    const guint32 number = g_random_int();
    int subscription = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    if (subscription < 0)
        return -1;
    setsockopt(subscription, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    if (set_filter(subscription, answers, G_N_ELEMENTS(answers)) &&
        bind(subscription, (const struct sockaddr *)&group, sizeof(group)) == 0 &&
        request(subscription, PROC_CN_MCAST_LISTEN, number) && is_granted(subscription, number) &&
        set_filter(subscription, none, G_N_ELEMENTS(none)))
        return subscription;
    close(subscription);
    errno = EPERM;
    return -1;
}

void
exit_events_unsubscribe(int subscription)
{
    if (!request(subscription, PROC_CN_MCAST_IGNORE, 0))
        g_debug("the process connector did not report the end");
    close(subscription);
}

/* ---- receiving ---- */

/* With the lock. */
static void
take_events(void)
{
    guint8 message[MESSAGE_SIZE];
    while (events.receiver != NULL && receive(events.receiver->subscription, message)) {
        Followed *ended = g_hash_table_lookup(events.followed, GINT_TO_POINTER((gint)word_at(message, PROCESS)));
        if (ended == NULL)
            continue;
        ended->status = (int)word_at(message, STATUS);
        ended->received = TRUE;
    }
}

static gpointer
run_receiver(gpointer data)
{
    const Receiver *receiver = data;
    struct pollfd fds[] = {{.fd = receiver->subscription, .events = POLLIN}, {.fd = receiver->end, .events = POLLIN}};
    for (;;) {
        const int n = poll(fds, G_N_ELEMENTS(fds), -1);
        if ((n < 0 && errno != EINTR) || (n > 0 && fds[1].revents != 0))
            return NULL;
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events.lock);
        if (events.receiver == receiver)
            take_events();
    }
}

/* NULL if there is no subscription. */
static Receiver *
receiver_new(void)
{
    const ReachOps *elsewhere = reach_elsewhere();
    const int subscription = elsewhere != NULL ? elsewhere->exit_events() : exit_events_subscribe();
    if (subscription < 0)
        return NULL;
    Receiver *receiver = g_new0(Receiver, 1);
    *receiver = (Receiver){.subscription = subscription, .end = eventfd(0, EFD_CLOEXEC)};
    /* Without a thread, or the means to end it, events are received when they are asked for. */
    receiver->thread = receiver->end >= 0 ? g_thread_try_new("exits", run_receiver, receiver, NULL) : NULL;
    return receiver;
}

/* Without the lock. */
static void
receiver_free(Receiver *receiver)
{
    const guint64 one = 1;
    if (receiver == NULL)
        return;
    if (receiver->thread != NULL && write(receiver->end, &one, sizeof(one)) == sizeof(one))
        g_thread_join(receiver->thread);
    if (receiver->end >= 0)
        close(receiver->end);
    if (reach_elsewhere() == NULL)
        exit_events_unsubscribe(receiver->subscription);
    else
        close(receiver->subscription);
    g_free(receiver);
}

/* ---- followed processes ---- */

static Followed *
followed_new(pid_t pid)
{
    Process process;
    Followed *followed = g_new0(Followed, 1);
    followed->account = process_look(pid, &process) ? account_of(process.uids[0]) : (uid_t)-1;
    followed->number = ++events.last_number;
    return followed;
}

void
exit_events_follow(pid_t pid)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events.lock);
    if (events.followed == NULL) {
        events.followed = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        events.receiver = receiver_new();
    }
    Followed *followed = g_hash_table_lookup(events.followed, GINT_TO_POINTER(pid));
    if (followed == NULL) {
        followed = followed_new(pid);
        g_hash_table_insert(events.followed, GINT_TO_POINTER(pid), followed);
        filter_followed();
    }
    followed->followers++;
}

/* Returns the receiver if it is not needed any more. */
static Receiver *
forget(pid_t pid)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events.lock);
    Followed *followed = g_hash_table_lookup(events.followed, GINT_TO_POINTER(pid));
    if (--followed->followers > 0)
        return NULL;
    g_hash_table_remove(events.followed, GINT_TO_POINTER(pid));
    filter_followed();
    if (g_hash_table_size(events.followed) > 0)
        return NULL;
    g_clear_pointer(&events.followed, g_hash_table_unref);
    return g_steal_pointer(&events.receiver);
}

void
exit_events_forget(pid_t pid)
{
    receiver_free(forget(pid));
}

/* The kernel announces the end of a process before it sends the last event (do_exit() calls exit_notify() first). So a
 * status of 0 may be that of a first thread which had ended before: another event may be about to come. */
gboolean
exit_events_read(pid_t pid, int *status)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&events.lock);
    const Followed *followed = g_hash_table_lookup(events.followed, GINT_TO_POINTER(pid));
    take_events();
    if (followed->received && followed->status == 0) {
        GPollFD subscription = {.fd = events.receiver->subscription, .events = G_IO_IN};
        g_poll(&subscription, 1, LAST_EVENT_MS);
        take_events();
    }
    *status = followed->status;
    return followed->received;
}
