/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's life: constructor, thread, fork, exit. docs/decisions/0002-agent-isolation.md tells why.
 *
 * Locks. The agent has none. The constructor runs under the loader's lock (in a late dlopen()), starts the thread and
 * never waits for it. The agent thread takes, one at a time and never nested in one another, the loader's
 * (dl_iterate_phdr) and jemalloc's own through mallctl(). The fork handler runs in the forking thread; it takes none
 * and waits for none.
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
 * been found and called, a second registration takes the place of the first; until then the new thread's initial pause,
 * which is there for another reason, is far longer than the handlers take.
 *
 * Leaving and coming back. LEAVE ends the thread; the library stays, since nobody can tell when a forking thread is
 * done with its handlers. jescope_agent_enter() begins again. It is called in one of the host's threads, stopped at a
 * moment of jescope's choice, and waits for nothing: a thread that has not ended yet is reported instead. `serving` is
 * what both sides go by; clearing it is the last thing an ending thread does here.
 */
#include "agent/debug.h"
#include "agent/descriptor.h"
#include "agent/environment.h"
#include "agent/locate.h"
#include "agent/server.h"
#include "wire/enter.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    STACK_SIZE = 256 * 1024, /* address space; jemalloc's deepest call touches about 20 KiB */
    SCRATCH_SIZE = 64 * 1024,
    /* Most forked children exec at once: a socket made before that would be left behind under the same pid. */
    CHILD_PAUSE_MS = 20,
};

typedef enum {
    LOOKING,
    ABSENT, /* no jemalloc that anybody uses: no thread, now or in a child */
    FOUND,  /* guest.allocator and guest.profiling are good, in this process and its children */
} Finding;

static struct {
    Environment environment;
    Guest guest;
    size_t stack_size;
    pid_t owner; /* the process whose agent this is; another one's after fork() or vfork() */
    bool in_child;
    bool invited;             /* by jescope_agent_enter(), at some time in the process's life */
    atomic_bool serving;      /* there is a thread of ours, or is about to be */
    _Atomic(Finding) finding; /* a child forked at any time sees what it stands for in whole */
} agent;

/*
 * The thread whose fork under way will run the later handler: the C library leaves a handler that is registered while a
 * fork is under way out of it. Where several threads fork at once the last one is known and the others' children are
 * started by the earlier handler, which the pause in the new thread makes harmless. (A thread-local would take of the
 * host's static TLS.)
 */
static _Atomic(pthread_t) later_handler_runs;

static void restart_in_child(void);

static void *
map_scratch(void)
{
    void *scratch = mmap(NULL, SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return scratch == MAP_FAILED ? NULL : scratch;
}

/* The host may change its root, its directory and its umask; /proc, our socket and its mode must stay as they are. */
static void
isolate(void)
{
    bool own_root = unshare(CLONE_FS) == 0;
    bool own_table = descriptors_isolate(agent.environment.debug ? DESCRIPTORS_KEEP_STDERR : DESCRIPTORS_KEEP_NONE);
    agent.guest.shares_descriptors = !own_table;
    debug_say(own_root ? "root directory is our own" : "root directory is shared with the program", NULL, 0);
    debug_say(own_table ? "descriptors are our own" : "descriptors are shared with the program", NULL, 0);
}

static void
note_found(void)
{
    Guest *guest = &agent.guest;
    if (allocator_can_profile(&guest->allocator)) {
        WireSince since = agent.invited ? WIRE_SINCE_UNKNOWN : WIRE_SINCE_START;
        profiling_init(&guest->profiling, &guest->allocator, since);
    }
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

/* Once in a process: what is registered stays, and a child brings it along. */
static void
register_later_handler(void)
{
    static bool registered;
    if (!registered) {
        registered = true;
        pthread_atfork(note_later_handler, forget_later_handler, restart_after_all_others);
    }
}

/* The long way, in our own thread: among the symbols of every file that is loaded. */
static bool
search(void)
{
    void *scratch = map_scratch();
    if (scratch == NULL) {
        return false;
    }
    bool found = locate_allocator(&agent.guest.allocator, scratch, SCRATCH_SIZE);
    munmap(scratch, SCRATCH_SIZE);
    if (!found) {
        debug_say("no jemalloc in use here", NULL, 0);
        agent.finding = ABSENT;
        return false;
    }
    agent.guest.is_settled = true;
    register_later_handler();
    note_found();
    return true;
}

static void
serve_host(void)
{
    prctl(PR_SET_NAME, "jescope");
    isolate();
    agent.guest.is_settled = false;
    if (agent.in_child) {
        poll(NULL, 0, CHILD_PAUSE_MS);
    }
    if (agent.finding == FOUND && agent.in_child) {
        profiling_inherit(&agent.guest.profiling);
    }
    if (agent.finding == LOOKING && !search()) {
        return;
    }
    process_identify(&agent.guest.process);
    server_run(&agent.guest, &agent.environment);
}

static void *
run(void *unused)
{
    serve_host();
    agent.serving = false;
    return NULL;
}

static bool
start_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, agent.stack_size);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    agent.guest.leaves = false;
    agent.serving = true;
    int error = pthread_create(&thread, &attributes, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        agent.serving = false;
        debug_say("cannot start a thread", NULL, error);
    }
    return error == 0;
}

/* The host's thread-local storage comes out of every thread's stack; glibc wants whole pages. */
static size_t
stack_size_for(size_t tls_size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (STACK_SIZE + tls_size + page - 1) / page * page;
}

static void
restart_in_child(void)
{
    int saved = errno;
    /* Both handlers may be registered: the first call is enough. */
    if (agent.owner != getpid()) {
        bool goes_on = agent.serving && !agent.guest.leaves && agent.finding != ABSENT;
        agent.owner = getpid();
        agent.in_child = true;
        agent.serving = false;
        server_abandon();
        if (goes_on) {
            start_thread();
        }
    }
    errno = saved;
}

/* The registration from the constructor, out of use where the later one takes part. */
static void
restart_in_early_child(void)
{
    if (later_handler_runs != pthread_self()) {
        restart_in_child();
    }
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

static bool
glance(void)
{
    void *scratch = map_scratch();
    if (scratch == NULL) {
        return false;
    }
    LocateGlance seen = locate_glance(&agent.guest.allocator, scratch, SCRATCH_SIZE);
    munmap(scratch, SCRATCH_SIZE);
    agent.stack_size = stack_size_for(seen.tls_size);
    if (seen.located) {
        note_found();
    }
    return seen.maybe_here;
}

static WireEntered
begin(void)
{
    if (!glance()) {
        return WIRE_ENTER_NO_JEMALLOC;
    }
    agent.owner = getpid();
    if (!start_thread()) {
        return WIRE_ENTER_NO_THREAD;
    }
    register_handler();
    return WIRE_ENTER_STARTED;
}

static WireEntered
begin_again(const char *socket_directory, const char *runtime_directory)
{
    if (!environment_given(&agent.environment, socket_directory, runtime_directory)) {
        return WIRE_ENTER_DIRECTORY;
    }
    /* Of a parent's agent, in a child that was made without handlers. */
    if (agent.owner != getpid()) {
        server_abandon();
    }
    agent.in_child = false;
    agent.invited = true;
    agent.finding = LOOKING;
    return begin();
}

extern __attribute__((visibility("default"))) int jescope_agent_enter(const char *socket_directory,
                                                                      const char *runtime_directory);

/* WireEnter. */
int
jescope_agent_enter(const char *socket_directory, const char *runtime_directory)
{
    int saved = errno;
    WireEntered entered;
    if (agent.serving && agent.owner == getpid()) {
        entered = agent.guest.leaves ? WIRE_ENTER_LEAVING : WIRE_ENTER_PRESENT;
    } else {
        entered = begin_again(socket_directory, runtime_directory);
    }
    errno = saved;
    return (int)entered;
}

__attribute__((constructor)) static void
enter(void)
{
    int saved = errno;
    if (locate_own_name_begins(WIRE_ENTER_NAME_BEGIN)) {
        return;
    }
    environment_read(&agent.environment);
    if (agent.environment.debug) {
        debug_enable();
    }
    if (agent.environment.bad_socket_directory) {
        debug_say("JESCOPE_SOCKET_DIR is no absolute path, or too long a one: keeping out", NULL, 0);
    }
    if (agent.environment.wanted) {
        begin();
    }
    errno = saved;
}

__attribute__((destructor)) static void
leave(void)
{
    int saved = errno;
    /* Not in a vfork() child or a clone without handlers: the socket is its parent's. */
    if (agent.owner == getpid()) {
        server_leave();
    }
    errno = saved;
}
