/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/aside.h"

#include "confine/account.h"
#include "confine/aside-accounts.h"
#include "confine/child.h"
#include "confine/death-signal.h"
#include "confine/forking.h"
#include "confine/last-close.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 25,        /* between two checks of the child */
    WAITED_FOR_LIST = 3, /* 1/WAITED_FOR_LIST of the time of a list: then the others have less */
    BUSY_US = 100000,    /* running time of an item that is not counted */
    RUNNING_US = 30 * G_USEC_PER_SEC,
    END_MS = 1000,     /* time to end for a child that has answered */
    GIVEN_UP_MS = 100, /* and for one that was given up */
};

/* All users below are accounts (confine/account.h), except in the calls of aside.h. */

gboolean
aside_is_delayed_by(uid_t user)
{
    return aside_account_delays(account_of(user));
}

AsideManner
aside_manner(uid_t user)
{
    return aside_account_manner(account_of(user));
}

static gboolean inside; /* whether this process is such a child */

/* Whether the process runs or waits for a processor. */
static gboolean
is_running_itself(pid_t pid)
{
    char path[32], text[512];
    g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[MAX(length, 0)] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Whether the process runs, or a child that it waits for: an unprivileged one that reads a file. */
static gboolean
is_running(pid_t pid)
{
    char path[64], text[512];
    g_snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[MAX(length, 0)] = '\0';
    char *end = text;
    for (const char *at = text; *at != '\0'; at = *end == ' ' ? end + 1 : "")
        if (is_running_itself((pid_t)g_ascii_strtoll(at, &end, 10)))
            return TRUE;
    return is_running_itself(pid);
}

/* An account in a list. Shared with the child. */
typedef struct {
    uid_t user;
    AsideManner manner; /* at the beginning of the list */
    guint next;         /* its next item; the number of items: none is left */
    guint done;         /* items */
    gint64 taken_us;    /* by its items until now */
    gboolean over;      /* its other items are passed over: the parent sets this, also while the child works */
} Share;

/* Shared with the child. */
typedef struct {
    guint begun;     /* items */
    guint at;        /* the last of them; the number of items: the child has begun none, or has ended them all */
    guint share;     /* its account, an index */
    gint64 begun_us; /* monotonic */
} Progress;

/* Shared with the child. */
typedef struct {
    guint following; /* the next item of the same account; the number of items: none */
    guint nth;       /* the index of the item that was the Nth to be begun */
    gboolean done;
} Item;

typedef struct {
    const AsideList *list;
    Progress *progress;
    Share *shares;
    Item *items;
    char *answers;
    guint n_shares;
    gint64 end_us; /* 0: none */
    guint waited_ms;
} Batch;

typedef struct {
    AsideWork work;
    gpointer data;
    uid_t user;   /* if BATCH is NULL */
    Batch *batch; /* of a list, or NULL */
} Job;

/* BATCH may be NULL. */
static gboolean
has_ended(const Batch *batch)
{
    return aside_has_ended() || (batch != NULL && batch->end_us != 0 && g_get_monotonic_time() >= batch->end_us);
}

static gboolean
is_short_of_time(const Batch *batch)
{
    return batch != NULL && batch->end_us != 0 && batch->waited_ms >= batch->list->most_ms / WAITED_FOR_LIST;
}

static uid_t
user_at(const AsideList *list, guint i)
{
    return account_of(list->user(list->data, i));
}

static void
pass_over_given_up(const Batch *batch)
{
    const gboolean ended = has_ended(batch);
    const guint left = aside_children_left();
    for (guint i = 0; i < batch->n_shares; i++) {
        Share *share = &batch->shares[i];
        share->over = share->over || ended || aside_account_is_passed_over(share->user, left);
    }
}

/* Whether the child processes an item, which may end at any time. */
static gboolean
is_at_item(const Batch *batch)
{
    return batch != NULL && *(const volatile guint *)&batch->progress->at < batch->list->n;
}

static uid_t
user_of(const Job *job)
{
    const Batch *batch = job->batch;
    return is_at_item(batch) ? batch->shares[*(const volatile guint *)&batch->progress->share].user : job->user;
}

/* FALSE: it takes too long. The time starts again with each item of a list. */
static gboolean
wait_for_answer(int socket, pid_t child, const Job *job)
{
    struct pollfd answer = {.fd = socket, .events = POLLIN};
    gint64 begin = g_get_monotonic_time();
    guint before = 0;
    while (poll(&answer, 1, LOOK_MS) <= 0) {
        const guint now = job->batch != NULL ? *(const volatile guint *)&job->batch->progress->begun : 0;
        const gboolean running = is_running(child);
        const uid_t user = user_of(job);
        begin = now != before ? g_get_monotonic_time() : begin;
        before = now;
        const gint64 taken = g_get_monotonic_time() - begin;
        if ((!running || taken > BUSY_US) && aside_account_note_waited(user, LOOK_MS, running) && job->batch != NULL)
            pass_over_given_up(job->batch);
        if (job->batch != NULL && !running)
            job->batch->waited_ms += LOOK_MS;
        if (taken > RUNNING_US || (taken > aside_account_patience(user, is_short_of_time(job->batch)) && !running) ||
            has_ended(job->batch))
            return FALSE;
    }
    return TRUE;
}

/* Returns 0, or a pidfd of the child if it does not end in MS. */
static int
end_child(pid_t child, int ms)
{
    int pidfd = pidfd_open(child, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    kill(child, SIGKILL);
    if (pidfd > 0 && poll(&end, 1, ms) == 0)
        return pidfd;
    child_wait(child);
    if (pidfd >= 0)
        close(pidfd);
    return 0;
}

typedef struct {
    AsideEnd end;
    gboolean too_long; /* why it was given up */
    int left;          /* the result of end_child() */
} Outcome;

/* fork() with a socket between the two processes: *SOCKET is the end of the process that it returns in. -1: there is no
 * child. */
static pid_t
fork_with_socket(int *socket)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    const pid_t child = forking_fork();
    if (child == 0) {
        child_keep_only(&ends[1], 1); /* an inherited end of a pipe would hide that it was closed */
        inside = TRUE;
    }
    *socket = ends[child == 0];
    if (child != 0)
        close(ends[1]);
    if (child < 0)
        close(ends[0]);
    return child;
}

static Outcome
run_child(const Job *job, ChannelMessage *answer)
{
    int socket;
    const pid_t self = getpid(), child = fork_with_socket(&socket);
    if (child < 0)
        return (Outcome){.end = ASIDE_NOT_BEGUN};
    if (child == 0) {
        death_signal_bind(self);
        job->work(job->data, answer);
        _exit(channel_send(socket, answer) ? 0 : 1);
    }
    const gboolean ended = wait_for_answer(socket, child, job);
    const gboolean answered = ended && channel_receive(socket, answer);
    close(socket);
    return (Outcome){.end = answered ? ASIDE_DONE : ASIDE_GIVEN_UP,
                     .too_long = !ended,
                     .left = end_child(child, ended ? END_MS : GIVEN_UP_MS)};
}

gboolean
aside_may_begin(uid_t user)
{
    return !aside_account_is_passed_over(account_of(user), aside_children_left());
}

AsideEnd
aside_run(AsideWork work, gpointer data, uid_t user, ChannelMessage *answer)
{
    if (inside) {
        work(data, answer);
        return ASIDE_DONE;
    }
    user = account_of(user);
    const Job job = {.work = work, .data = data, .user = user};
    if (!aside_may_begin(user))
        return ASIDE_NOT_BEGUN;
    const Outcome outcome = run_child(&job, answer);
    if (outcome.too_long)
        aside_account_note_given_up(user, outcome.left);
    else
        aside_account_note_left(user, outcome.left);
    if (outcome.end == ASIDE_DONE)
        aside_account_note_prompt(user);
    return outcome.end;
}

void
aside_close(const int *fds, guint n, uid_t user)
{
    const pid_t child = last_close_start(fds, n);
    if (child > 0)
        aside_account_note_left(account_of(user), end_child(child, END_MS));
}

gboolean
aside_is_inside(void)
{
    return inside;
}

void
aside_enter(void)
{
    inside = TRUE;
}

/* ---- helpers ---- */

struct AsideHelper {
    pid_t owner; /* the process whose child it is */
    pid_t child;
    int socket; /* -1: it was given up */
    uid_t user; /* who may have delayed it last */
};

AsideHelper *
aside_helper_start(void (*serve)(int socket))
{
    int socket;
    const pid_t child = fork_with_socket(&socket);
    if (child < 0)
        return NULL;
    if (child == 0) {
        serve(socket);
        _exit(0);
    }
    AsideHelper *helper = g_new(AsideHelper, 1);
    *helper = (AsideHelper){.owner = getpid(), .child = child, .socket = socket};
    return helper;
}

static gboolean
is_ours(const AsideHelper *helper)
{
    return helper->socket >= 0 && helper->owner == getpid();
}

gboolean
aside_helper_is_there(const AsideHelper *helper)
{
    struct pollfd end = {.fd = helper->socket};
    return is_ours(helper) && poll(&end, 1, 0) == 0;
}

AsideEnd
aside_helper_ask(AsideHelper *helper, const ChannelMessage *request, uid_t user, ChannelMessage *answer)
{
    const Job job = {.user = account_of(user)};
    helper->user = job.user;
    if (!is_ours(helper) || !channel_send(helper->socket, request))
        return ASIDE_NOT_BEGUN;
    if (!wait_for_answer(helper->socket, helper->child, &job)) {
        aside_account_note_given_up(job.user, pidfd_open(helper->child, 0));
        close(helper->socket);
        helper->socket = -1;
        return ASIDE_GIVEN_UP;
    }
    return channel_receive(helper->socket, answer) ? ASIDE_DONE : ASIDE_NOT_BEGUN;
}

gboolean
aside_helper_tell(AsideHelper *helper, const ChannelMessage *request)
{
    return is_ours(helper) && channel_send(helper->socket, request);
}

void
aside_helper_free(AsideHelper *helper)
{
    const gboolean ours = is_ours(helper);
    if (helper->socket >= 0)
        close(helper->socket);
    if (ours) /* what it has open may be as slow to close */
        aside_account_note_left(helper->user, end_child(helper->child, END_MS));
    g_free(helper);
}

/* ---- lists ---- */

static gboolean
comes_before(const Share *one, const Share *other)
{
    if ((one->manner == ASIDE_SLOW) != (other->manner == ASIDE_SLOW))
        return other->manner == ASIDE_SLOW;
    return one->taken_us != other->taken_us ? one->taken_us < other->taken_us : one->manner < other->manner;
}

/* The account whose item comes next. NULL: no item is left. */
static Share *
next_share(const Batch *batch)
{
    Share *next = NULL;
    for (guint i = 0; i < batch->n_shares; i++) {
        Share *share = &batch->shares[i];
        if (!*(const volatile gboolean *)&share->over && share->next < batch->list->n &&
            (next == NULL || comes_before(share, next)))
            next = share;
    }
    return next;
}

/* Also an item in which the child ends is begun and charged only once. */
static void
begin_item(const Batch *batch, Share *share)
{
    Progress *progress = batch->progress;
    const guint i = share->next;
    share->next = batch->items[i].following;
    progress->begun_us = g_get_monotonic_time();
    progress->share = (guint)(share - batch->shares);
    progress->at = batch->items[progress->begun].nth = i;
    progress->begun++;
}

/* An item takes some time by any clock: the next one of another account comes before the next one of this. */
static void
charge_item(const Batch *batch)
{
    const Progress *progress = batch->progress;
    batch->shares[progress->share].taken_us += MAX(g_get_monotonic_time() - progress->begun_us, 1);
}

static void
work_off(gpointer data, ChannelMessage *answer)
{
    const Batch *batch = data;
    const AsideList *list = batch->list;
    for (Share *share; (share = next_share(batch)) != NULL;) {
        begin_item(batch, share);
        const guint i = batch->progress->at;
        list->each(list->data, i, batch->answers + i * list->size);
        batch->items[i].done = TRUE;
        share->done++;
        charge_item(batch);
    }
    batch->progress->at = list->n;
}

/* A child ends at the first item that takes too long or kills it; another one continues with the others. */
static void
run_batch(Batch *batch)
{
    const Job job = {.work = work_off, .data = batch, .batch = batch};
    AsideEnd end = ASIDE_GIVEN_UP;
    gboolean begun = TRUE;
    for (pass_over_given_up(batch); end == ASIDE_GIVEN_UP && begun && next_share(batch) != NULL;
         pass_over_given_up(batch)) {
        char none = 0;
        ChannelMessage answer = {.bytes = &none, .size = sizeof(none)};
        batch->progress->at = batch->list->n;
        const Outcome outcome = run_child(&job, &answer);
        const uid_t user = batch->shares[batch->progress->share].user;
        begun = is_at_item(batch);
        end = outcome.end;
        if (begun)
            charge_item(batch);
        /* At the end, it may have been its turn for an instant. */
        if (outcome.too_long && begun && (outcome.left > 0 || !has_ended(batch)))
            aside_account_note_given_up(user, outcome.left);
        else
            aside_account_note_left(user, outcome.left);
    }
}

static gpointer
share_memory(gsize size)
{
    gpointer memory =
        mmap(NULL, MAX(size, 1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void
unshare_memory(gpointer memory, gsize size)
{
    if (memory != NULL)
        munmap(memory, MAX(size, 1));
}

static _Thread_local gboolean list_ended;

gboolean
aside_list_has_ended(void)
{
    return list_ended;
}

/* Items of one account are done in their order. */
static void
find_shares(Batch *batch)
{
    const AsideList *list = batch->list;
    g_autoptr(GHashTable) last = g_hash_table_new(NULL, NULL); /* account -> its last item, a pointer */
    for (guint i = 0; i < list->n; i++) {
        const uid_t user = user_at(list, i);
        Item *before = g_hash_table_lookup(last, GUINT_TO_POINTER(user));
        batch->items[i].following = list->n;
        if (before != NULL)
            before->following = i;
        else
            batch->shares[batch->n_shares++] = (Share){.user = user, .manner = aside_account_manner(user), .next = i};
        g_hash_table_insert(last, GUINT_TO_POINTER(user), &batch->items[i]);
    }
}

static void
note_manners(const Batch *batch)
{
    for (guint i = 0; i < batch->n_shares; i++)
        if (batch->shares[i].done > 0 && aside_account_manner(batch->shares[i].user) == ASIDE_UNKNOWN)
            aside_account_note_prompt(batch->shares[i].user);
}

/* Those that were begun first, in the order in which they were. */
static void
take_all(const Batch *batch, AsideTake take)
{
    const AsideList *list = batch->list;
    g_autofree gboolean *taken = g_new0(gboolean, list->n);
    for (guint n = 0; n < batch->progress->begun; n++) {
        const guint i = batch->items[n].nth;
        taken[i] = TRUE;
        take(list->data, i, batch->items[i].done ? batch->answers + i * list->size : NULL);
    }
    for (guint i = 0; i < list->n; i++)
        if (!taken[i])
            take(list->data, i, NULL);
}

void
aside_each(const AsideList *list, AsideTake take)
{
    Batch batch = {.list = list,
                   .progress = share_memory(sizeof(Progress)),
                   .shares = share_memory(list->n * sizeof(Share)),
                   .items = share_memory(list->n * sizeof(Item)),
                   .answers = share_memory(list->n * list->size)};
    const gboolean shared =
        batch.progress != NULL && batch.shares != NULL && batch.items != NULL && batch.answers != NULL;
    if (list->most_ms > 0)
        batch.end_us = g_get_monotonic_time() + (gint64)list->most_ms * 1000;
    if (shared)
        find_shares(&batch);
    if (shared && inside)
        work_off(&batch, NULL);
    else if (shared)
        run_batch(&batch);
    list_ended =
        (batch.end_us != 0 && g_get_monotonic_time() >= batch.end_us) || aside_children_left() >= ASIDE_LEFT_MAX;
    if (!inside)
        note_manners(&batch);
    if (shared)
        take_all(&batch, take);
    for (guint i = 0; i < list->n && !shared; i++)
        take(list->data, i, NULL);
    unshare_memory(batch.progress, sizeof(Progress));
    unshare_memory(batch.shares, list->n * sizeof(Share));
    unshare_memory(batch.items, list->n * sizeof(Item));
    unshare_memory(batch.answers, list->n * list->size);
}
