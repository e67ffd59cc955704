/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No deadlock is possible, since each wait has an end. A fork that waits may hold locks of other handlers, such as
 * jemalloc's. A listing takes none of them in its callbacks; where it waits for the loader's lock, and the thread that
 * has this lock waits for those of the fork, nothing changes for STILL_MS and the fork goes on. A child in which the
 * listing may have had the loader's lock does not list.
 */
#include "agent/listing.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    STEP_MS = 1,
    STILL_MS = 1000, /* after which a wait ends if no object was listed meanwhile */
};

typedef enum {
    NOBODY,
    WAITS, /* for forks that have begun; no other begins */
    LISTS, /* and has the loader's lock, or is about to take it */
} State;

static _Atomic(State) state;
static _Atomic(pthread_t) lister; /* 0: none */
static atomic_int forking;        /* threads in a fork, between its handlers */
static atomic_uint listed;        /* objects so far, in all listings */
static atomic_bool inherited;     /* this process was forked while the loader's lock may have been held */

/* Waits until PASSES succeeds; false if it does not, and no listing makes progress. */
static bool
await(bool (*passes)(void))
{
    const int saved = errno;
    unsigned seen = atomic_load(&listed);
    bool passed = passes();
    for (int still = 0; !passed && still < STILL_MS; still += STEP_MS) {
        poll(NULL, 0, STEP_MS);
        const unsigned now = atomic_load(&listed);
        if (now != seen)
            still = 0;
        seen = now;
        passed = passes();
    }
    errno = saved;
    return passed;
}

/* ---- listing ---- */

static bool
announce(void)
{
    State expected = NOBODY;
    return atomic_compare_exchange_strong(&state, &expected, WAITS);
}

static bool
nobody_forks(void)
{
    return atomic_load(&forking) == 0;
}

typedef struct {
    int (*callback)(struct dl_phdr_info *info, size_t size, void *data);
    void *data;
} Visitor;

static int
visit(struct dl_phdr_info *info, size_t size, void *data)
{
    const Visitor *visitor = data;
    atomic_fetch_add(&listed, 1);
    return visitor->callback(info, size, visitor->data);
}

bool
listing_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    Visitor visitor = {callback, data};
    if (atomic_load(&inherited) || !await(announce))
        return false;
    atomic_store(&lister, pthread_self());
    const bool alone = await(nobody_forks);
    if (alone) {
        atomic_store(&state, LISTS);
        dl_iterate_phdr(visit, &visitor);
    }
    atomic_store(&lister, 0);
    atomic_store(&state, NOBODY);
    return alone;
}

/* ---- forks ---- */

/* A listing that is announced between the two steps sees this fork, or this fork sees it. */
static bool
begin_fork(void)
{
    atomic_fetch_add(&forking, 1);
    if (atomic_load(&state) == NOBODY)
        return true;
    atomic_fetch_sub(&forking, 1);
    return false;
}

/* A signal handler that forks while its own thread lists would wait for itself. */
static void
before_fork(void)
{
    if (atomic_load(&lister) == pthread_self() || !await(begin_fork))
        atomic_fetch_add(&forking, 1);
}

static void
after_fork(void)
{
    atomic_fetch_sub(&forking, 1);
}

static void
in_child(void)
{
    if (atomic_load(&state) == LISTS)
        atomic_store(&inherited, true);
    atomic_store(&lister, 0);
    atomic_store(&state, NOBODY);
    atomic_store(&forking, 0);
}

void
listing_guard_forks(void)
{
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&registered))
        pthread_atfork(before_fork, after_fork, in_child);
}
