/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/worker.h"

#include "confine/passing.h"
#include "confine/peer.h"
#include "confine/rights.h"

#include <gio/gio.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 50, /* between two checks of the processor time of the worker */
    SLOW_KEPT = 32,
    FORGOTTEN_S = 60,
};

static const guint64 max_memory = G_GUINT64_CONSTANT(4) << 30; /* address space, including the caller's */

/* A file that ended a worker or took too long. */
typedef struct {
    dev_t device;
    ino_t inode;
    uid_t owner;
    gint64 forgotten; /* monotonic time in microseconds */
} Slow;

typedef struct {
    Peer peer;
    uid_t of; /* owner and device of the files it has read */
    dev_t on;
    Slow slow[SLOW_KEPT]; /* a ring */
    guint n_slow;
} Worker;

/* The start of a message; the address of the function is valid in the child, which is a fork of the caller. */
typedef struct {
    WorkerAnswers *answers;
} Head;

static void
work(int socket)
{
    /* Not allocated: this is the fork of a process with threads, one of which may have held a lock of its allocator;
     * only malloc() of the C library handles that. */
    static _Alignas(max_align_t) char question[WORKER_MAX_MESSAGE], answer[WORKER_MAX_MESSAGE];
    for (;;) {
        Head head;
        Parcel parcel = {.head = &head, .head_length = sizeof(head), .body = question};
        parcel.body_length = WORKER_MAX_MESSAGE;
        if (!parcel_receive(socket, &parcel) || parcel.fd < 0)
            return;
        gsize length = head.answers(parcel.fd, question, answer);
        close(parcel.fd);
        Parcel reply = {
            .head = &length, .head_length = sizeof(length), .body = answer, .body_length = length, .fd = -1};
        if (length > WORKER_MAX_MESSAGE || !parcel_send(socket, &reply))
            return;
    }
}

static void
worker_free(gpointer data)
{
    Worker *worker = data;
    peer_end(&worker->peer);
    g_free(worker);
}

static GPrivate of_thread = G_PRIVATE_INIT(worker_free);

static gboolean
start(Worker *worker, GError **error)
{
    return peer_start(&worker->peer, work, &(PeerLimits){.memory = max_memory}, error);
}

/* This thread's worker, or NULL. */
static Worker *
obtain(void)
{
    Worker *worker = g_private_get(&of_thread);
    if (worker == NULL) {
        worker = g_new0(Worker, 1);
        g_private_set(&of_thread, worker);
    }
    return worker;
}

/* The author of a file may have taken over the worker that read it, which could then falsify its answers about the next
 * one: files of another owner, or of another file system (a container's), are read by a new worker. */
static gboolean
make_ready(Worker *worker, const struct stat *file, GError **error)
{
    if (worker->peer.owner != getpid() || worker->of != file->st_uid || worker->on != file->st_dev)
        peer_end(&worker->peer);
    worker->of = file->st_uid;
    worker->on = file->st_dev;
    return worker->peer.pid > 0 || start(worker, error);
}

static gint64
processor_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec taken;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &taken) != 0)
        return 0;
    return (gint64)taken.tv_sec * 1000 + taken.tv_nsec / 1000000;
}

/* FALSE: it takes too long. */
static gboolean
wait_for_answer(const Worker *worker)
{
    struct pollfd wait = {.fd = worker->peer.socket, .events = POLLIN};
    const gint64 cpu = processor_ms(worker->peer.pid) + WORKER_MAX_CPU_MS;
    const gint64 end = g_get_monotonic_time() + (gint64)WORKER_MAX_MS * 1000;
    while (poll(&wait, 1, LOOK_MS) <= 0)
        if (processor_ms(worker->peer.pid) > cpu || g_get_monotonic_time() > end)
            return FALSE;
    return TRUE;
}

static gssize
take_answer(const Worker *worker, gpointer answer, gsize room, GError **error)
{
    gsize length = 0;
    Parcel parcel = {.head = &length, .head_length = sizeof(length), .body = answer, .body_length = room};
    if (!wait_for_answer(worker)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "the program file takes too long to read");
        return -1;
    }
    gboolean received = parcel_receive(worker->peer.socket, &parcel);
    if (received && parcel.fd >= 0)
        close(parcel.fd);
    if (!received || length != parcel.body_length) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT,
                    "the child process that read the program file has crashed; the file is damaged, or too large");
        return -1;
    }
    return (gssize)length;
}

void
worker_end(void)
{
    g_private_replace(&of_thread, NULL);
}

/* Whether the file, or too many files of its owner, have been too slow. */
static gboolean
is_slow(const Worker *worker, const struct stat *file)
{
    guint of_owner = 0;
    const gint64 now = g_get_monotonic_time();
    for (guint i = 0; i < MIN(worker->n_slow, SLOW_KEPT); i++) {
        const Slow *slow = &worker->slow[i];
        if (slow->forgotten <= now)
            continue;
        if (slow->device == file->st_dev && slow->inode == file->st_ino)
            return TRUE;
        of_owner += slow->owner == file->st_uid && !rights_are_trusted(file->st_uid);
    }
    return of_owner >= WORKER_MAX_SLOW;
}

static void
remember_slow(Worker *worker, const struct stat *file)
{
    worker->slow[worker->n_slow++ % SLOW_KEPT] = (Slow){
        .device = file->st_dev,
        .inode = file->st_ino,
        .owner = file->st_uid,
        .forgotten = g_get_monotonic_time() + FORGOTTEN_S * G_USEC_PER_SEC,
    };
}

gssize
worker_ask(const WorkerQuestion *question, gpointer answer, gsize room, GError **error)
{
    struct stat file;
    Worker *worker = obtain();
    if (fstat(question->fd, &file) != 0 || is_slow(worker, &file)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_BUSY, "the program file took too long to read before");
        return -1;
    }
    if (!make_ready(worker, &file, error))
        return -1;
    Head head = {.answers = question->answers};
    const Parcel parcel = {.head = &head,
                           .head_length = sizeof(head),
                           .body = (gpointer)(guintptr)question->data,
                           .body_length = question->length,
                           .fd = question->fd};
    if (!parcel_send(worker->peer.socket, &parcel)) { /* something else has ended it since its last answer */
        peer_end(&worker->peer);
        if (!start(worker, error))
            return -1;
        parcel_send(worker->peer.socket, &parcel);
    }
    gssize length = take_answer(worker, answer, room, error);
    if (length < 0) {
        peer_end(&worker->peer);
        remember_slow(worker, &file);
    }
    return length;
}
