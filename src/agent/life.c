/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks. The constructor runs under the loader's lock (in a late dlopen()), lists the loaded objects, starts the thread
 * and never waits for it. The agent thread takes jemalloc's locks through mallctl(), but none of the loader's, which
 * would stay locked in a child forked at that moment. Where the agent is linked, its callers take the turn (turn.h)
 * first, then at most one of those. While a thread may hold the loader's, which glibc does not reset in a child, forks
 * wait for it (listing.h); the other fork handlers take no lock and wait for none.
 *
 * Signals. All are blocked in the agent thread, through pthread_sigmask(), which leaves out the two that the C library
 * uses to carry setuid() and cancellation to all threads. None of the host's handlers ever runs on its stack.
 *
 * Fork. The child handler runs where the C library has reset its own locks (glibc >= 2.34 resets the loader's TLS lock,
 * older ones have none there), so pthread_create() works in it. It must come after jemalloc's own child handler, since
 * pthread_create() allocates. Child handlers run in order of registration and jemalloc registers when it is
 * initialised:
 *  - a jemalloc that serves malloc is initialised by our pthread_create() at the latest, and we register after it;
 *  - another one (prefixed) does not matter to pthread_create(), only to the new thread's first mallctl(). Once it has
 * been found and called, a second registration replaces the first; until then the new thread waits until the thread
 * that has forked sleeps, or has run for far longer than the handlers take.
 *
 * Stop and restart. LEAVE ends the thread; the library stays loaded, since the end of a forking thread's handlers
 * cannot be detected. life_enter() starts again. It is called in one of the host's threads, stopped at a moment chosen
 * by jescope, and does not wait: it reports a thread that has not ended yet. Both sides use `serving`; an ending thread
 * clears it last.
 */
#include "agent/life.h"

#include "agent/claim.h"
#include "agent/debug.h"
#include "agent/descriptor.h"
#include "agent/filter.h"
#include "agent/float-state.h"
#include "agent/listing.h"
#include "agent/locate.h"
#include "agent/sample.h"
#include "agent/server.h"
#include "agent/turn.h"
#include "agent/waker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_SIZE = 256 * 1024, /* address space; jemalloc's deepest call touches about 20 KiB */
    SCRATCH_SIZE = 64 * 1024,
    /* Most forked children exec at once: a socket made before that would be left behind under the same pid. Fork
     * handlers take less processor time, too. */
    CHILD_PAUSE_MS = 20,
};

typedef enum {
    LOOKING,
    ABSENT, /* no jemalloc in use: no thread, now or in a child */
    FOUND,  /* guest.allocator and guest.profiling are valid, in this process and its children */
} Finding;

static struct {
    Environment environment;
    Guest guest;
    size_t stack_size;
    pid_t owner; /* the agent's process; differs after fork() or vfork() */
    bool in_child;
    bool invited;             /* by life_enter() or life_start(), at some time in the process's life */
    bool to_join;             /* a linked agent's thread was started and is not being joined */
    bool stopping;            /* it is being joined */
    pthread_t thread;         /* the one to join */
    atomic_bool serving;      /* the agent's thread exists, or is about to be started */
    _Atomic(Finding) finding; /* consistent in a child forked at any time */
    void (*on_fork)(void);
} agent;

/*
 * The thread whose fork under way will run the later handler: the C library does not run a handler in a fork that began
 * before its registration. If several threads fork at once, only the last one is recorded, and the earlier handler
 * starts the agent in the others' children, which is harmless because of the new thread's wait. (A thread-local
 * variable would use the host's static TLS.)
 */
static _Atomic(pthread_t) later_handler_runs;

static void restart_in_child(void);

static void *
map_scratch(void)
{
    void *scratch = mmap(NULL, SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return scratch == MAP_FAILED ? NULL : scratch;
}

/* The host may change its root, its working directory and its umask; /proc, the agent's socket and its mode must stay
 * as they are. */
static void
isolate(void)
{
    bool own_root = unshare(CLONE_FS) == 0;
    bool own_table = descriptors_isolate(agent.environment.debug ? DESCRIPTORS_KEEP_STDERR : DESCRIPTORS_KEEP_NONE);
    agent.guest.shares_descriptors = !own_table;
    debug_log(own_root ? "root directory is our own" : "root directory is shared with the program", NULL, 0);
    debug_log(own_table ? "descriptors are our own" : "descriptors are shared with the program", NULL, 0);
}

/*
 * A thread inherits the real-time policy of the one that starts it, and a dump would then delay the host's. By the
 * thread itself: pthread_create() would fail where this is refused. Other policies are the host's wish.
 */
static void
leave_real_time(void)
{
    const struct sched_param none = {0};
    const int policy = sched_getscheduler(0);
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        sched_setscheduler(0, SCHED_OTHER, &none);
}

static void
note_found(void)
{
    sample_forget();
    agent.guest.is_invited = agent.invited;
    if (agent.guest.allocator.is_examined)
        guest_learn(&agent.guest);
    agent.finding = FOUND;
}

/* Prepare handlers run latest registration first, child handlers earliest first. */
static void
note_later_handler(void)
{
    later_handler_runs = pthread_self();
}

static void
forget_later_handler(void)
{
    pthread_t self = pthread_self();
    atomic_compare_exchange_strong(&later_handler_runs, &self, (pthread_t)0);
}

static void
restart_after_all_others(void)
{
    later_handler_runs = (pthread_t)0;
    restart_in_child();
}

/* Once per process: handlers stay registered, also in children. */
static void
register_later_handler(void)
{
    static bool registered;
    if (!registered) {
        registered = true;
        pthread_atfork(note_later_handler, forget_later_handler, restart_after_all_others);
    }
}

/* The slow way: searches the symbols of every loaded file. */
static bool
locate_closely(LocateThread thread)
{
    void *scratch = map_scratch();
    if (scratch == NULL)
        return false;
    bool found = locate_allocator(&agent.guest.allocator, thread, scratch, SCRATCH_SIZE);
    munmap(scratch, SCRATCH_SIZE);
    return found;
}

static bool
search(void)
{
    if (!locate_closely(LOCATE_FROM_AGENT)) {
        debug_log("this process does not use jemalloc", NULL, 0);
        agent.finding = ABSENT;
        locate_forget();
        return false;
    }
    agent.guest.is_settled = true;
    register_later_handler();
    note_found();
    locate_forget(); /* only now: a child that is forked before searches itself */
    return true;
}

/* The clock of the processor time of the main thread, which is the one that has forked: MAKE_THREAD_CPUCLOCK(pid,
 * CPUCLOCK_SCHED) of linux/posix-timers.h. */
static clockid_t
main_thread_clock(void)
{
    return (clockid_t)(~(unsigned)getpid() << 3 | 6);
}

/* Whether the main thread of a forked child may still run fork handlers: on a busy machine, it may have had no
 * processor since it started this thread. jemalloc's locks stay locked until its handler has run, which does not wake
 * who waits for them. */
static bool
may_run_handlers(void)
{
    struct timespec spent;
    const char state = process_state();
    return (state == 'R' || state == 'D') && clock_gettime(main_thread_clock(), &spent) == 0 && spent.tv_sec == 0 &&
           spent.tv_nsec < CHILD_PAUSE_MS * 1000000;
}

static void
serve_host(void)
{
    prctl(PR_SET_NAME, "jescope");
    filter_begin();
    leave_real_time();
    isolate();
    agent.guest.is_settled = false;
    if (agent.in_child)
        do
            poll(NULL, 0, CHILD_PAUSE_MS);
        while (may_run_handlers());
    if (agent.finding == LOOKING && !search())
        return;
    process_identify(&agent.guest.process);
    server_run(&agent.guest, &agent.environment);
}

static void *
run(void *unused)
{
    float_state_enter(); /* that of the thread that started this one is inherited */
    serve_host();
    if (!agent.guest.is_silent)
        claim_give();
    agent.serving = false;
    return NULL;
}

typedef enum {
    START_AT_FORK, /* in a forked child, by a fork handler */
    START_LATER,
} Start;

/*
 * A program may change its root directory right after a fork, before the agent's thread has its own. Where these two
 * are the only threads, the calling thread takes a copy instead and the agent keeps the original, without waiting and
 * without an effect on the program: fork() has made the original for this process alone. At any other time another
 * process may share it (clone(2), CLONE_FS), such as the helper that changes the root of a sandbox.
 * (unshare(CLONE_THREAD) only shows whether there is one thread.)
 */
static int
create_thread(const pthread_attr_t *attributes, Start start)
{
    int saved = errno;
    bool alone = start == START_AT_FORK && unshare(CLONE_THREAD) == 0;
    int error = pthread_create(&agent.thread, attributes, run, NULL);
    if (alone && error == 0)
        unshare(CLONE_FS);
    errno = saved;
    return error;
}

/* Returns 0 or an errno value. */
static int
start_thread(Start start)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    if (!agent.guest.is_linked)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, agent.stack_size);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    agent.guest.leaves = false;
    agent.serving = true;
    error = create_thread(&attributes, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    agent.to_join = error == 0 && agent.guest.is_linked;
    if (error != 0) {
        agent.serving = false;
        debug_log("cannot start a thread", NULL, error);
    }
    return error;
}

/* The host's thread-local storage is taken from every thread's stack; glibc requires full pages. */
static size_t
stack_size_for(size_t tls_size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (STACK_SIZE + tls_size + page - 1) / page * page;
}

/* Whether what runs in the host's threads makes no system call, since a filter of the host may kill it for any: from a
 * detach on, and once such a filter was seen. */
static bool
makes_no_calls(void)
{
    return filter_was_added() || (!agent.guest.is_linked && (!agent.serving || agent.guest.leaves));
}

/* Forgets what belongs to the parent's agent, without a system call. */
static void
forget_parent(void)
{
    agent.in_child = true;
    agent.serving = agent.to_join = agent.stopping = false;
    turn_reset();
    if (agent.finding == FOUND)
        profiling_inherit(&agent.guest.profiling);
    server_forget();
    if (agent.on_fork != NULL)
        agent.on_fork();
}

static void
restart_in_child(void)
{
    int saved = errno;
    /* Both handlers may be registered: the first call is enough. */
    if (makes_no_calls()) {
        forget_parent();
    } else if (agent.owner != getpid()) {
        bool keeps_serving =
            agent.serving && !agent.guest.leaves && agent.finding != ABSENT && !agent.environment.childless;
        agent.owner = getpid();
        server_abandon();
        forget_parent();
        if (keeps_serving)
            start_thread(START_AT_FORK);
    }
    errno = saved;
}

/* The handler registered in the constructor; does nothing in a fork that runs the later one as well. */
static void
restart_in_early_child(void)
{
    if (later_handler_runs != pthread_self())
        restart_in_child();
}

static void
register_handler(void)
{
    static bool registered;
    if (!registered) {
        registered = true;
        pthread_atfork(NULL, NULL, agent.finding == FOUND ? restart_in_child : restart_in_early_child);
    }
}

static LocateGlance
glance(void)
{
    void *scratch = map_scratch();
    if (scratch == NULL)
        return (LocateGlance){0};
    LocateGlance seen = locate_glance(&agent.guest.allocator, scratch, SCRATCH_SIZE);
    munmap(scratch, SCRATCH_SIZE);
    agent.stack_size = stack_size_for(seen.tls_size);
    if (seen.located) {
        note_found();
        locate_forget();
    }
    return seen;
}

static void
take_environment(const Environment *environment)
{
    agent.environment = *environment;
    if (environment->debug)
        debug_enable();
    if (environment->bad_sampler)
        debug_log("JESCOPE_SAMPLER has a word that is unknown, or an invalid number, and is ignored", NULL, 0);
    if (environment->bad_socket_directory)
        debug_log("JESCOPE_SOCKET_DIR is not an absolute path or is too long; the agent is disabled", NULL, 0);
}

static WireEntered
begin(void)
{
    listing_guard_forks();
    const LocateGlance seen = glance();
    if (!seen.maybe_here) {
        locate_forget();
        return seen.unlisted ? WIRE_ENTER_NO_LIST : WIRE_ENTER_NO_JEMALLOC;
    }
    if (!claim_take()) {
        locate_forget();
        debug_log("another copy of the agent serves the process; this one is disabled", NULL, 0);
        return WIRE_ENTER_PRESENT;
    }
    agent.owner = getpid();
    if (start_thread(START_LATER) != 0) {
        locate_forget();
        claim_give();
        return WIRE_ENTER_NO_THREAD;
    }
    register_handler();
    return WIRE_ENTER_STARTED;
}

void
life_begin(const Environment *environment)
{
    int saved = errno;
    take_environment(environment);
    if (environment->wanted)
        begin();
    errno = saved;
}

static WireEntered
begin_again(const char *socket_directory, const char *runtime_directory)
{
    if (!environment_given(&agent.environment, socket_directory, runtime_directory))
        return WIRE_ENTER_DIRECTORY;
    /* It is the parent's agent, in a child that was created without handlers. */
    if (agent.owner != getpid())
        server_abandon();
    agent.in_child = false;
    agent.invited = true;
    agent.finding = LOOKING;
    return begin();
}

WireEntered
life_enter(const char *socket_directory, const char *runtime_directory)
{
    int saved = errno;
    WireEntered entered;
    if (agent.serving && agent.owner == getpid())
        entered = agent.guest.leaves ? WIRE_ENTER_LEAVING : WIRE_ENTER_PRESENT;
    else
        entered = begin_again(socket_directory, runtime_directory);
    errno = saved;
    return entered;
}

Guest *
life_guest(void)
{
    agent.guest.is_linked = true;
    if (agent.finding != FOUND) {
        agent.invited = true;
        glance();
        bool found = agent.finding == FOUND || locate_closely(LOCATE_FROM_HOST);
        locate_forget();
        if (!found)
            return NULL;
        process_identify(&agent.guest.process);
        note_found();
        agent.owner = getpid();
    }
    register_handler(); /* after jemalloc has registered its child handler, which must run first */
    return &agent.guest;
}

/* Waits for a thread that has left at a client's request. */
static void
join_ended_thread(void)
{
    if (agent.to_join && !agent.serving && !agent.stopping) {
        pthread_join(agent.thread, NULL); /* it is about to exit */
        agent.to_join = false;
    }
}

static LifeResult
start_linked(int *error)
{
    bool wants_socket = !agent.environment.is_silent;
    agent.guest.is_silent = !wants_socket || !claim_take();
    agent.in_child = false;
    agent.stack_size = stack_size_for(locate_tls_size());
    int why = start_thread(START_LATER);
    if (why != 0) {
        if (!agent.guest.is_silent)
            claim_give();
        *error = why;
        return LIFE_NO_THREAD;
    }
    return wants_socket && agent.guest.is_silent ? LIFE_STARTED_SILENT : LIFE_STARTED;
}

LifeResult
life_start(const Environment *environment, int *error)
{
    join_ended_thread();
    if (agent.to_join)
        return agent.stopping || agent.guest.leaves ? LIFE_STILL_ENDING : LIFE_ALREADY;
    if (life_guest() == NULL)
        return LIFE_NO_JEMALLOC;
    take_environment(environment);
    return start_linked(error);
}

LifeStop
life_stop(void)
{
    turn_take();
    bool ours = agent.to_join && !agent.stopping;
    LifeStop result = ours ? LIFE_STOPPED : agent.stopping ? LIFE_STOPPING : LIFE_NOT_STARTED;
    if (ours) {
        agent.stopping = true;
        agent.guest.leaves = true;
        waker_wake();
    }
    turn_give();
    if (ours) {
        pthread_join(agent.thread, NULL);
        turn_take();
        agent.to_join = false;
        agent.stopping = false;
        turn_give();
    }
    return result;
}

bool
life_is_started(void)
{
    return agent.serving && !agent.guest.leaves;
}

bool
life_is_served_by_other(void)
{
    return life_is_started() && agent.guest.is_silent && !agent.environment.is_silent;
}

void
life_on_fork(void (*handler)(void))
{
    agent.on_fork = handler;
    listing_guard_forks();
}

__attribute__((destructor)) static void
leave(void)
{
    int saved = errno;
    /* Not in a vfork() child or a clone without handlers: the socket is its parent's. */
    if (!makes_no_calls() && agent.owner == getpid())
        server_leave();
    errno = saved;
}
